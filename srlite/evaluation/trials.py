"""Pairs described and decided again with other pictures in the place of their clip, counted. Pure: no model, no files.

What a decision should turn into that was right with the clip itself (`should`):

    blank         unable to assess: a grey clip shows nothing
    other_child   the outcome of the clip that is shown, where it is of the same item and has the other outcome
    reversed      from pass to fail or unable, where the item is `directed` (run backward it is another behaviour)
    halved, cut   from pass to fail or unable, where the item has `duration_s` and what is left of the clip is shorter
    shuffled      nothing follows

An unscored decision is not right, and has not turned as it should; whether it changed is not told. Intervals are Wilson's at
95 %: they take pairs as independent, also those of one child.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from srlite.evaluation.audit_words import words
from srlite.evaluation.comparison import mcnemar
from srlite.evaluation.document import ArmName, Audit, AuditedArm, Benefit, Case, Change, Estimate, Looked, Turned
from srlite.evaluation.figures import right
from srlite.evaluation.intervals import proportion
from srlite.records.spellings import child_key
from srlite.types import Decision, Item

BEFORE, AFTER = "base", "adapted"
"""The arms between which training lies."""
_NOT_PASS: tuple[Decision, ...] = ("fail", "unable_to_assess")
NO_SUCH_PAIR = {
    "blank": "no pair was right with its own clip",
    "other_child": "no pair that was right could be shown a clip of its item with the other outcome",
    "reversed": "no pass of an item marked `directed` was right with its own clip",
    "halved": "no pass was right of which half the clip is shorter than its item asks for",
    "cut": "no pass of an item with duration_s was right with its own clip",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """What an arm said of other pictures; `decision` is None where unscored."""

    description: str
    decision: Decision | None


@dataclass(frozen=True, slots=True)
class Trial:
    """A pair with other pictures in the place of its clip. `should`: decisions that one of them should be; empty: nothing
    follows. `other`: whose clip was shown instead, of the change other_child."""

    case: Case
    change: Change
    should: tuple[Decision, ...]
    replies: Mapping[ArmName, Reply] = field(default_factory=dict)
    other: Case | None = None


def should_be(case: Case, item: Item, change: Change, *, left_s: float, other: Case | None) -> tuple[Decision, ...]:
    """left_s: how long the clip is that is shown."""
    too_short = item.duration_s is not None and left_s < item.duration_s
    if change == "blank":
        return ("unable_to_assess",)
    if change == "other_child":
        same_item = other is not None and other.item == case.item
        return (other.outcome,) if same_item and other.outcome != case.outcome else ()
    no_pass = (change == "reversed" and item.directed) or (change in ("halved", "cut") and too_short)
    return _NOT_PASS if no_pass and case.outcome == "pass" else ()


def nearness(case: Case, other: Case) -> tuple[bool, bool, bool]:
    """Smaller is better as a clip to show instead: of another child, of the same item, of the other outcome."""
    return not is_other_child(case, other), other.item != case.item, other.outcome == case.outcome


def is_other_child(case: Case, other: Case) -> bool:
    """For certain: both are known, and differ."""
    return None not in (case.child, other.child) and child_key(case.child) != child_key(other.child)


def counted(cases: Sequence[Case], trials: Sequence[Trial], arms: Sequence[ArmName]) -> Audit:
    """cases: the matched pairs that were read, with what each arm said of their own clips; trials: all of them again."""
    found = {arm: _arm(cases, trials, arm) for arm in arms}
    acquired = lost = p = None
    if {BEFORE, AFTER} <= set(arms):
        acquired, lost = _trained(trials)
        p = mcnemar(acquired, lost) if acquired + lost else None
    kin = [(is_other_child(t.case, t.other), t.case.item == t.other.item) for t in trials if t.other]
    said = words(found, acquired=acquired, lost=lost, p=p, kin=kin)
    return Audit(arms=found, acquired=acquired, lost=lost, p=p, words=said)


def _arm(cases: Sequence[Case], trials: Sequence[Trial], arm: ArmName) -> AuditedArm:
    by_change = {change: [t for t in trials if t.change == change] for change in get_args(Change)}
    return AuditedArm(
        accuracy=share([right(c, arm) for c in cases], "there is no matched pair"),
        looked=tuple(_looked(change, some, arm) for change, some in by_change.items() if some),
        turned=tuple(_turned(change, by_change[change], arm) for change in NO_SUCH_PAIR),
        benefit=_benefit(by_change["blank"], arm),
    )


def _looked(change: Change, trials: Sequence[Trial], arm: ArmName) -> Looked:
    pairs = [(t.case.arms[arm], t.replies[arm]) for t in trials]
    decisions = [(own.decision, reply.decision) for own, reply in pairs]
    return Looked(
        change=change,
        n=len(trials),
        description_changed=share([own.description != reply.description for own, reply in pairs]),
        decision_changed=share([a != b for a, b in decisions if None not in (a, b)], "no pair is scored both times"),
        accuracy=share([_right_then(t, arm) for t in trials]),
    )


def _turned(change: Change, trials: Sequence[Trial], arm: ArmName) -> Turned:
    bound = [t for t in trials if t.should and right(t.case, arm)]
    return Turned(
        change=change,
        items=tuple(sorted({t.case.item for t in bound})),
        n=len(bound),
        as_it_should=share([t.replies[arm].decision in t.should for t in bound], NO_SUCH_PAIR[change]),
    )


def _benefit(blanks: Sequence[Trial], arm: ArmName) -> Benefit:
    both = [(right(t.case, arm), _right_then(t, arm)) for t in blanks]
    return Benefit(helped=both.count((True, False)), hurt=both.count((False, True)), n=len(both))


def _trained(trials: Sequence[Trial]) -> tuple[int, int]:
    """Pairs that the video helps only after training, only before it."""
    helps = [tuple(right(t.case, a) and not _right_then(t, a) for a in (BEFORE, AFTER)) for t in trials if t.change == "blank"]
    return helps.count((False, True)), helps.count((True, False))


def _right_then(trial: Trial, arm: ArmName) -> bool:
    return trial.replies[arm].decision == trial.case.outcome


def share(hits: Sequence[bool], without: str = "there is no such pair") -> Estimate:
    """How many of them are true, with Wilson's interval. without: the reason where there are none."""
    return proportion(hits) if hits else Estimate(value=None, n=0, reason=without)
