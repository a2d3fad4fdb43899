"""Tables of what was looked at more closely: the audit of whether the descriptor looks at the clip, and the second judge."""

from __future__ import annotations

from collections.abc import Iterator

from srlite.evaluation.document import Audit, SecondJudge
from srlite.report.numbers import decimal, in_table, p_value, undefined
from srlite.report.tables import Table
from srlite.report.words import arm_words

CHANGE_WORDS = {
    "blank": "a blank clip",
    "other_child": "another child's clip",
    "reversed": "frames reversed",
    "shuffled": "frames shuffled",
    "halved": "the first half only",
    "cut": "half of the item's seconds",
}


def audit_tables(audit: Audit) -> Iterator[Table]:
    yield _looked(audit)
    if any(arm.turned for arm in audit.arms.values()):
        yield _turned(audit)
    yield _benefit(audit)


def _looked(audit: Audit) -> Table:
    rows = []
    for name, arm in audit.arms.items():
        rows.append((arm_words(name), "its own clip", f"{arm.accuracy.n:,}", "", "", in_table(arm.accuracy)))
        for found in arm.looked:
            shares = (found.description_changed, found.decision_changed, found.accuracy)
            rows.append((arm_words(name), CHANGE_WORDS[found.change], f"{found.n:,}", *map(in_table, shares)))
    head = ("", "Shown in its place", "Pairs", "Description changed", "Decision changed", "Accuracy then")
    return Table("Each test pair again with another clip in its place", head, tuple(rows), left=2)


def _turned(audit: Audit) -> Table:
    rows = tuple(
        (arm_words(name), CHANGE_WORDS[t.change], ", ".join(t.items), f"{t.n:,}", in_table(t.as_it_should))
        for name, arm in audit.arms.items()
        for t in arm.turned
    )
    head = ("", "Shown in its place", "Items", "Pairs", "Decision turned as it should")
    note = (
        "Of pairs that were right with their own clip. A blank clip should be unable to assess; another child's clip of the "
        "item should get that child's outcome; a pass on direction should not stay one when reversed, nor a pass on duration "
        "when too little of the clip is left."
    )
    return Table("Does the change turn the decision as it should?", head, rows, left=3, note=note)


def _benefit(audit: Audit) -> Table:
    rows = tuple(
        (arm_words(name), f"{arm.benefit.n:,}", f"{arm.benefit.helped:,}", f"{arm.benefit.hurt:,}")
        for name, arm in audit.arms.items()
    )
    note = "Helped: right with the clip, wrong with a blank one. Hurt: the other way round."
    if audit.acquired is not None and audit.lost is not None:
        paired = f"by training the clip began to help in {audit.acquired} pairs and ceased to in {audit.lost}"
        note = f"{note} {paired[:1].upper()}{paired[1:]} ({p_value(audit.p)})."
    return Table("Where the clip helped", ("", "Pairs", "Helped", "Hurt"), rows, note=note)


def second_judge_table(second: SecondJudge) -> Table:
    rows = tuple(
        (
            arm_words(name),
            in_table(arm.agreement),
            decimal(arm.kappa) if arm.kappa is not None else undefined(arm.kappa_reason),
            in_table(arm.accuracy),
        )
        for name, arm in second.arms.items()
    )
    head = ("", "Same decision", "Cohen's kappa", "Accuracy by the second judge")
    note = f"Second judge: {second.judge.id}. It read the same descriptions."
    return Table("The same descriptions, decided by another judge", head, rows, note=note)
