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
from srlite.report.shots import Shot, Strips
from srlite.report.words import DECISION_WORDS, arm_words, main_arm

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
    """A frame in the page: its moment, and the JPEG as a data address."""

    seconds: float
    address: str


@dataclass(frozen=True, slots=True)
class Answered:
    """One question of the judge with its answer: yes, no or unscored, and the probability of yes."""

    question: str
    answer: str
    probability: str


@dataclass(frozen=True, slots=True)
class Told:
    """What one arm said of a pair, and what the judge made of it."""

    arm: str
    words: str
    description: str
    decision: str
    kind: str
    answers: tuple[Answered, ...]
    tokens: int | None = None
    true: bool | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """A case in the page. `told`: the main arm first."""

    id: str
    case: Case
    item: ItemText | None
    outcome: str
    pictures: tuple[Picture, ...]
    told: tuple[Told, ...]

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


def pictures(shots: Sequence[Shot]) -> tuple[Picture, ...]:
    return tuple(Picture(s.seconds, f"data:image/jpeg;base64,{base64.b64encode(s.jpeg).decode()}") for s in shots)


def answers(verdicts: Mapping, questions: Mapping[str, str]) -> tuple[Answered, ...]:
    """In the order of the questions. Verdicts are records or mappings with `answer` and `probability`."""
    found = []
    for name in [q for q in questions if q in verdicts]:
        verdict = verdicts[name]
        given = verdict if isinstance(verdict, Mapping) else verdict.model_dump()
        found.append(Answered(questions[name], given["answer"], decimal(given["probability"])))
    return tuple(found)


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
    told = [_told(name, case, case.arms[name], evaluation.card.questions) for name in order if name in case.arms]
    return Shown(
        id=f"case-{number}",
        case=case,
        item=items.get(case.item),
        outcome=case.outcome or "unrelated",
        pictures=pictures(strips.by_clip.get(case.clip_sha256 or "", ())),
        told=tuple(told),
    )


def _told(name: str, case: Case, said: Said, questions: Mapping[str, str]) -> Told:
    return Told(
        arm=name,
        words=arm_words(name),
        description=said.description,
        decision=DECISION_WORDS[said.decision],
        kind=kind_of(case, said),
        answers=answers(said.verdicts, questions),
        tokens=said.tokens,
        true=said.true,
    )


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
