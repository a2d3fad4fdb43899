"""Two arms on the same pairs: is the later one better than chance would make it?

    p            exact McNemar test, two-sided (McNemar 1947): of the pairs that only one arm has right, as many on either side?
    difference   of accuracy and of abstention, with an interval that resamples children, both arms of a child together

Pure functions of the cases. Only pairs that both arms were asked about are compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from srlite.evaluation.bootstrap import child_of, ratio
from srlite.evaluation.document import ArmName, Case, Comparison, Estimate
from srlite.evaluation.figures import above_half, assessed, right

COMPARED = (("base", "adapted"), ("generic", "base"), ("ablated", "adapted"))
"""What training changed; what the item's own prompt changed; what the other reward terms changed."""


def comparisons(cases: Sequence[Case], arms: Sequence[ArmName], *, seed: int) -> tuple[Comparison, ...]:
    """Those of COMPARED whose arms are both there."""
    return tuple(compare(cases, before, after, seed=seed) for before, after in COMPARED if {before, after} <= set(arms))


def compare(cases: Sequence[Case], before: ArmName, after: ArmName, *, seed: int) -> Comparison:
    both = [c for c in cases if before in c.arms and after in c.arms]
    matched = assessed(both, before, matched=True)
    found = Counter((right(c, before), right(c, after)) for c in matched)
    p = mcnemar(found[True, False], found[False, True]) if matched else None
    then, now = (above_half(matched, arm) for arm in (before, after))
    difference = lambda kind, of: _difference(assessed(both, before, matched=kind), before, after, seed, of)
    return Comparison(
        before=before,
        after=after,
        n=len(matched),
        both_right=found[True, True],
        only_before=found[True, False],
        only_after=found[False, True],
        neither=found[False, False],
        p=p,
        p_reason=None if matched else "no valid examples",
        difference=difference(True, "valid examples"),
        abstention_difference=difference(False, "unrelated pairs"),
        items_gained=tuple(sorted(now - then)),
        items_lost=tuple(sorted(then - now)),
    )


def mcnemar(only_one: int, only_other: int) -> float:
    """The exact two-sided p of a paired 2x2 table from its two unlike cells; 1 where both are 0: the arms are right alike."""
    if not only_one + only_other:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(only_one, only_one + only_other, 0.5).pvalue)


def _difference(cases: Sequence[Case], before: ArmName, after: ArmName, seed: int, of: str) -> Estimate:
    """Share of right decisions after minus before."""
    change: Callable[[Case], int] = lambda c: right(c, after) - right(c, before)
    return ratio([change(c) for c in cases], [True] * len(cases), [child_of(c) for c in cases], seed=seed, of=of)
