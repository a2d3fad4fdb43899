"""`srlite judge check`: does a judge agree with people, and how much do its answers hang on things that should not matter?

Nothing comes out of the verdict cache or goes into it. Half the descriptions may be set aside to choose thresholds on; all
others are judged five times: as they stand; in the other order; shuffled, by a fresh process; with yes and no named in the
other order; with every question in other words.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import tomli_w
from pydantic import TypeAdapter

from srlite.config import Settings
from srlite.describing import ALL_QUESTIONS, PORTION
from srlite.device.halving import portions
from srlite.errors import InputError, ModelError
from srlite.evaluation.document import Estimate
from srlite.evaluation.intervals import proportion
from srlite.evaluation.second import kappa
from srlite.files import write_private
from srlite.judge.client import Judge, JudgeSettings, Request
from srlite.judge.decision import decide
from srlite.judge.questions import REWORDED, SWAPPED
from srlite.judge.thresholds import LEAST, chosen
from srlite.models.store import find_judge
from srlite.records.dataset import catalogue_of
from srlite.records.labels import Label, read_labels
from srlite.types import Decision, Verdicts
from srlite.workbench import judge_alone

LEAST_KAPPA, LEAST_STEADY, MOST_UNSCORED = 0.6, 0.99, 0.05
"""What a judge must reach to be called fit to train with: "substantial" agreement (Landis and Koch 1977) on every question that
was answered, identical decisions whatever the order, few unscored verdicts. And it must know the canaries."""
DECIDING = ("evidence", "met")
"""The questions that a decision is made of: without LEAST people's yes and LEAST no to each, nothing can be said."""


@dataclass(frozen=True, slots=True)
class QuestionCheck:
    """A judge's answers to one question beside a person's. Positive: yes. Unscored ones are in no figure but their own.

    swapped, reworded: share of answers that change with the order of yes and no, and with other words.
    """

    answered: int
    unscored: int
    tp: int
    fn: int
    fp: int
    tn: int
    agreement: Estimate
    sensitivity: Estimate
    specificity: Estimate
    kappa: float | None
    """Cohen's; None where the people, or the judge, gave one answer only: then there is nothing to agree beyond chance."""
    swapped: float
    reworded: float


@dataclass(frozen=True, slots=True)
class JudgeCheck:
    """`steady`: share of decisions that are the same in another order and from a fresh process. `decisions`: agreement with
    the decision that the people's answers make, where they answered what it needs."""

    judge: str
    sha256: str
    demonstration: bool
    labels: int
    questions: Mapping[str, QuestionCheck]
    decisions: Estimate
    steady: Estimate
    canaries: str | None
    """What the judge says wrongly of the canaries; None when it knows them."""
    tokens_per_s: float
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """Those chosen on the labels that were set aside; the figures are those of the other labels, with them."""
    chosen_on: int = 0
    """Labels that were set aside."""

    @property
    def unfit(self) -> tuple[str, ...]:
        """Why it is not fit to train with, in words; empty when it is."""
        said = [self.canaries] if self.canaries else []
        if (self.steady.value or 0.0) < LEAST_STEADY:
            said.append(f"{self.steady.value:.1%} of its decisions are the same in another order, not {LEAST_STEADY:.0%}")
        for name in DECIDING:
            if (fewest := self._fewest(name)) < LEAST:
                said.append(f"too few labels to say: of `{name}` {fewest} of the rarer answer, {LEAST} at least are wanted")
        for name, q in self.questions.items():
            if q.kappa is not None and q.kappa < LEAST_KAPPA:
                said.append(f"its agreement with people on `{name}` is kappa {q.kappa:.2f}, below {LEAST_KAPPA}")
            if q.unscored > MOST_UNSCORED * q.answered:
                said.append(f"it leaves {q.unscored} of {q.answered} answers to `{name}` unscored")
        return tuple(said)

    def _fewest(self, question: str) -> int:
        """Of people's answers to it that are yes, or no, whichever are fewer."""
        q = self.questions.get(question)
        return min(q.tp + q.fn, q.fp + q.tn) if q else 0


def check_judge(
    labels_csv: Path, *, judge: str, catalogue: Path | None, settings: Settings, choose: bool = False
) -> JudgeCheck:
    """choose: thresholds, on half of the labels. Raises InputError for the labels, ModelError and DeviceError for the judge."""
    labels, model = read_labels(labels_csv, catalogue_of(catalogue)), find_judge(judge)
    plain = judge_alone(settings, model)
    aside, labels = _halves(labels, labels_csv) if choose else ([], labels)
    thresholds = _thresholds(plain, aside) if aside else {}
    bands = {q: replace(b, threshold=thresholds.get(q, b.threshold)) for q, b in plain.bands.items()}
    plain = replace(plain, bands=bands)
    order = list(range(len(labels)))
    shuffled = random.Random(settings.seed).sample(order, len(order))
    with Judge(plain, cache=None) as asked:
        began = time.monotonic()
        found = _asked(asked, labels, order)
        tokens_per_s, sha256 = asked.tokens_evaluated / (time.monotonic() - began), asked.sha256
        backward = _asked(asked, labels, order[::-1])
        canaries = _canaries(asked)
    again = _fresh(plain, labels, shuffled)
    swapped, reworded = (_fresh(replace(plain, texts=texts), labels, order) for texts in (SWAPPED, REWORDED))
    questions = {q: _question(q, labels, found, swapped, reworded) for q in ALL_QUESTIONS if _answering(labels, q)}
    steady = proportion([decide(a) == decide(b) for other in (backward, again) for a, b in zip(found, other, strict=True)])
    known = [(wanted, decide(v)) for label, v in zip(labels, found, strict=True) if (wanted := _decision(label))]
    return JudgeCheck(
        judge=model.id,
        sha256=sha256,
        demonstration=model.demonstration,
        labels=len(labels),
        questions=questions,
        decisions=proportion([wanted == got for wanted, got in known]),
        steady=steady,
        canaries=canaries,
        tokens_per_s=tokens_per_s,
        thresholds=thresholds,
        chosen_on=len(aside),
    )


def _halves(labels: Sequence[Label], labels_csv: Path) -> tuple[list[Label], list[Label]]:
    """Those to choose on and those to measure with: a description's half hangs on its text alone."""
    halves: tuple[list[Label], list[Label]] = ([], [])
    for label in labels:
        halves[hashlib.sha256(f"{label.item.code}/{label.description}".encode()).digest()[0] % 2].append(label)
    if min(map(len, halves)) < 2 * LEAST:
        raise InputError(
            f"{len(labels)} labels are too few to choose thresholds on one half and to measure on the other",
            where=str(labels_csv),
            remedy=f"Label some {5 * LEAST} descriptions at least, with both answers to each question.",
        )
    return halves


def _thresholds(settings: JudgeSettings, labels: Sequence[Label]) -> dict[str, float]:
    """Question -> a threshold that suits the judge better than the present one."""
    found, better = _fresh(settings, labels, range(len(labels))), {}
    for question in ALL_QUESTIONS:
        pairs = [(found[i][question].probability, labels[i].answers[question]) for i in _answering(labels, question)]
        scored = [(p, wanted) for p, wanted in pairs if p is not None]
        if (threshold := chosen(scored, settings.bands[question].threshold)) is not None:
            better[question] = threshold
    return better


def write_thresholds(check: JudgeCheck, labels_csv: Path, path: Path) -> None:
    """As settings that --settings reads, and that a run keeps in its config.toml. Raises DeviceError."""
    head = (
        f"# Thresholds of the judge {check.judge} (sha256 {check.sha256}),\n"
        f"# chosen by `srlite judge check` on {check.chosen_on} descriptions of {labels_csv.name}.\n"
    )
    write_private(path, head + tomli_w.dumps({"judge": {"thresholds": dict(check.thresholds)}}))


def _asked(judge: Judge, labels: Sequence[Label], order: Sequence[int]) -> list[Verdicts]:
    """All verdicts, in the labels' own order, asked for in `order`."""
    found: dict[int, Verdicts] = {}
    for portion in portions(order, PORTION):
        requests = [Request(labels[i].item, labels[i].description, ALL_QUESTIONS) for i in portion]
        found |= zip(portion, judge.ask(requests), strict=True)
    return [found[i] for i in range(len(labels))]


def _fresh(settings: JudgeSettings, labels: Sequence[Label], order: Sequence[int]) -> list[Verdicts]:
    """The same from a process of its own."""
    with Judge(settings, cache=None) as judge:
        return _asked(judge, labels, order)


def _answering(labels: Sequence[Label], question: str) -> list[int]:
    return [i for i, label in enumerate(labels) if question in label.answers]


def _question(
    question: str,
    labels: Sequence[Label],
    found: Sequence[Verdicts],
    swapped: Sequence[Verdicts],
    reworded: Sequence[Verdicts],
) -> QuestionCheck:
    rows = _answering(labels, question)
    answers = [(labels[i].answers[question], found[i][question].answer) for i in rows]
    scored = [(person, judge == "yes") for person, judge in answers if judge != "unscored"]
    count = lambda person, judge: scored.count((person, judge))
    changed = lambda other: sum(found[i][question].answer != other[i][question].answer for i in rows) / len(rows)
    return QuestionCheck(
        answered=len(rows),
        unscored=len(rows) - len(scored),
        tp=count(True, True),
        fn=count(True, False),
        fp=count(False, True),
        tn=count(False, False),
        agreement=proportion([person == judge for person, judge in scored]),
        sensitivity=proportion([judge for person, judge in scored if person]),
        specificity=proportion([not judge for person, judge in scored if not person]),
        kappa=_kappa(scored),
        swapped=changed(swapped),
        reworded=changed(reworded),
    )


def _kappa(scored: Sequence[tuple[bool, bool]]) -> float | None:
    persons, judges = [str(p) for p, _ in scored], [str(j) for _, j in scored]
    if len(set(persons)) < 2 or len(set(judges)) < 2:
        return None
    return kappa(persons, judges)[0]


def _decision(label: Label) -> Decision | None:
    """The decision that the person's answers make; None where one that it needs was not given."""
    a = label.answers
    if a.get("evidence") is False or a.get("echo") is True:
        return "unable_to_assess"
    if a.get("evidence") is None or "met" not in a:
        return None
    return "pass" if a["met"] else "fail"


def _canaries(judge: Judge) -> str | None:
    try:
        judge.check()
    except ModelError as error:
        return error.message
    return None


def judge_check_json(check: JudgeCheck) -> dict[str, object]:
    """The document of schema srlite.judge_check/1."""
    document = TypeAdapter(JudgeCheck).dump_python(check, mode="json")
    model = {"id": document.pop("judge"), "sha256": document.pop("sha256")}
    return {"schema": "srlite.judge_check/1", "judge": model, **document, "fit": not check.unfit, "unfit": list(check.unfit)}
