"""A second opinion: another judge on the same descriptions, and whether training pleased only the judge that it trained with.

Pure functions of cases that hold the second judge's opinions (cases.py asks for them).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from srlite.evaluation.document import ArmName, Case, Named, SecondArm, SecondJudge
from srlite.evaluation.figures import assessed, right
from srlite.evaluation.intervals import proportion

_BEFORE, _AFTER = "base", "adapted"
SAME = "the second judge is the very file that trained this run: its agreement is no second opinion"


def second_judge_of(cases: Sequence[Case], arms: Sequence[ArmName], judge: Named, *, first_sha256: str) -> SecondJudge:
    """From cases in which every description has a second opinion. first_sha256: of the judge that the run was trained with."""
    found = {arm: _arm(cases, arm) for arm in arms}
    same = (SAME,) if judge.sha256 == first_sha256 else ()
    return SecondJudge(judge=judge, arms=found, warnings=(*same, *_warnings(cases, found)))


def kappa(one: Sequence[str], other: Sequence[str]) -> tuple[float | None, str | None]:
    """Cohen's kappa (1960) of two raters, and where it is undefined the reason: 0/0 when both gave one and the same answer
    throughout."""
    if not one:
        return None, "nothing was rated"
    if len({*one, *other}) < 2:
        return None, f"both said {one[0]} throughout: there is nothing to agree on beyond chance"
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score(one, other)), None


def _arm(cases: Sequence[Case], arm: ArmName) -> SecondArm:
    said = [c.arms[arm] for c in cases if arm in c.arms]
    first, second = [s.decision or "unscored" for s in said], [s.second.decision or "unscored" for s in said]
    value, reason = kappa(first, second)
    matched = assessed(cases, arm, matched=True)
    return SecondArm(
        agreement=proportion([a == b for a, b in zip(first, second, strict=True)], of="descriptions"),
        kappa=value,
        kappa_reason=reason,
        accuracy=proportion([c.arms[arm].second.decision == c.outcome for c in matched], of="valid examples"),
    )


def _warnings(cases: Sequence[Case], arms: Mapping[ArmName, SecondArm]) -> tuple[str, ...]:
    """Where training made the decisions better in the eyes of the training judge only."""
    if not {_BEFORE, _AFTER} <= set(arms):
        return ()
    first = [proportion([right(c, arm) for c in assessed(cases, arm, matched=True)]).value for arm in (_BEFORE, _AFTER)]
    second = [arms[arm].accuracy.value for arm in (_BEFORE, _AFTER)]
    if None in (*first, *second) or first[1] <= first[0] or second[1] > second[0]:
        return ()
    return (
        f"from {_BEFORE} to {_AFTER} the accuracy rises from {first[0]:.3f} to {first[1]:.3f} by the judge that trained it, "
        f"but not by the second judge ({second[0]:.3f} to {second[1]:.3f}): the descriptions may please the one judge "
        "without being better (reward hacking). Read some of them beside their clips.",
    )
