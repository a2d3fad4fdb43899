"""Every test pair as it is shown: what was seen, what was written, what was made of it, and what the clinician found.

Contract: the order puts the main arm's errors first. Nothing here is worded for the reader before the description but the clip,
the item and its criterion; decision, kind of error and outcome are kept apart for a place below it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from srlite.evaluation.document import Case, Evaluation, ItemText, Said
from srlite.report.numbers import decimal
from srlite.report.shots import Sheet, Strips
from srlite.report.words import DECISION_WORDS, arm_words, main_arm
from srlite.types import Decision

KIND_WORDS = {
    "false_pass": "pass, where the clinician found fail",
    "false_fail": "fail, where the clinician found pass",
    "asserted": "a decision, though the item is unrelated to the clip",
    "unable": "unable to assess, though the clinician found pass or fail",
    "unscored": "no decision: the judge's answer was unclear",
    "unreadable": "the clip could not be read",
    "right": "as it should be",
}
"""In the order in which cases are shown."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A sheet in the page: the moments of its frames, and the JPEG as a data address."""

    seconds: tuple[float, ...]
    address: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the judge made of one description. `verdicts`: question -> answer and probability of yes."""

    words: str
    decision: Decision | None
    verdicts: Mapping[str, tuple[str, float | None]]
    second: str | None = None
    """The decision of the second judge, where one was asked."""


@dataclass(frozen=True, slots=True)
class Answers:
    """A table: a column for each description, a row for each question. Cells are text: "yes 0.93"."""

    heads: tuple[str, ...]
    decisions: tuple[str, ...]
    second: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Told:
    """What one arm said of a pair, and which kind of error its decision is. `true`: of the drawn clip, where that is known."""

    arm: str
    words: str
    description: str
    kind: str
    true: bool | None


@dataclass(frozen=True, slots=True)
class Shown:
    """A case in the page. `told`: the main arm first."""

    id: str
    case: Case
    item: ItemText | None
    outcome: str
    pictures: tuple[Picture, ...]
    told: tuple[Told, ...]
    answers: Answers

    @property
    def kind(self) -> str:
        return self.told[0].kind if self.told else "unreadable"


def kind_of(case: Case, said: Said) -> str:
    """Which kind of error it is, if any."""
    if said.decision is None:
        return "unscored"
    if case.outcome is None:
        return "right" if said.decision == "unable_to_assess" else "asserted"
    if said.decision == "unable_to_assess":
        return "unable"
    return "right" if said.decision == case.outcome else f"false_{said.decision}"


def pictures(sheets: Sequence[Sheet]) -> tuple[Picture, ...]:
    address = lambda jpeg: f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"
    return tuple(Picture(s.seconds, address(s.jpeg), s.width, s.height) for s in sheets)


def answers(given: Sequence[Judgement], questions: Mapping[str, str]) -> Answers:
    """questions: id -> text, in the order of the rows. One that was put to none has no row."""
    asked = [name for name in questions if any(name in g.verdicts for g in given)]
    return Answers(
        heads=tuple(g.words for g in given),
        decisions=tuple(DECISION_WORDS[g.decision] for g in given),
        second=tuple(g.second or "not asked" for g in given) if any(g.second for g in given) else (),
        rows=tuple((questions[name], tuple(_cell(g.verdicts.get(name)) for g in given)) for name in asked),
    )


def _cell(verdict: tuple[str, float | None] | None) -> str:
    if verdict is None:
        return "not asked"
    answer, probability = verdict
    return answer if probability is None else f"{answer} {decimal(probability)}"


def shown_cases(evaluation: Evaluation, strips: Strips) -> list[Shown]:
    """All cases, errors first, then by item and clip."""
    items = {text.code: text for text in evaluation.card.items}
    order = [main_arm(evaluation), *reversed([a for a in evaluation.arms if a != main_arm(evaluation)])]
    kinds = list(KIND_WORDS)
    found = [_shown(number, case, items, order, evaluation, strips) for number, case in enumerate(evaluation.cases, start=1)]
    return sorted(found, key=lambda s: (kinds.index(s.kind), s.case.item, s.case.clip))


def _shown(
    number: int, case: Case, items: Mapping[str, ItemText], order: Sequence[str], evaluation: Evaluation, strips: Strips
) -> Shown:
    told = [name for name in order if name in case.arms]
    return Shown(
        id=f"case-{number}",
        case=case,
        item=items.get(case.item),
        outcome=case.outcome or "unrelated",
        pictures=pictures(strips.by_clip.get(case.clip_sha256 or "", ())),
        told=tuple(_told(name, case, case.arms[name]) for name in told),
        answers=answers([_judgement(name, case.arms[name]) for name in told], evaluation.card.questions),
    )


def _told(name: str, case: Case, said: Said) -> Told:
    return Told(name, arm_words(name), said.description, kind_of(case, said), said.true)


def _judgement(name: str, said: Said) -> Judgement:
    verdicts = {q: (v.answer, v.probability) for q, v in said.verdicts.items()}
    return Judgement(arm_words(name), said.decision, verdicts, said.second and DECISION_WORDS[said.second.decision])


def script_data(evaluation: Evaluation, sha256: str, shown: Sequence[Shown]) -> dict[str, object]:
    """What the page's script sorts, filters and saves: every text as it is in the evaluation, to the letter."""
    return {
        "run": evaluation.run,
        "evaluation": sha256,
        "arm": main_arm(evaluation),
        "cases": [
            {
                "id": s.id,
                "clip": s.case.clip,
                "clip_sha256": s.case.clip_sha256,
                "item": s.case.item,
                "outcome": s.outcome,
                "kind": s.kind,
                "arms": {t.arm: {"kind": t.kind, "decision": s.case.arms[t.arm].decision} for t in s.told},
                "description": s.told and s.case.arms[s.told[0].arm].description or "",
            }
            for s in shown
        ],
    }
