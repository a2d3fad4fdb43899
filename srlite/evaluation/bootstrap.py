"""Intervals that resample children: clips of one child are alike, and an interval that takes them as independent is too narrow.

A figure here is a ratio of sums over pairs. Children are drawn with replacement, as many as there are, all their pairs with
them (the cluster bootstrap: Davison and Hinkley 1997, section 3.8); the interval is that between the 2.5th and the 97.5th
percentile of the ratio. A resample in which the ratio is undefined (none of its children has such a pair) is left out; where
more than MOST_UNDEFINED of them are, there is no interval, since those that are left would make it falsely narrow.

Axes: I pairs, K children, R resamples.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from srlite.evaluation.document import Case, Estimate
from srlite.records.spellings import child_key

RESAMPLES = 2000
MOST_UNDEFINED = 0.05
_PERCENTILES = (2.5, 97.5)


def child_of(case: Case) -> str:
    """What is resampled: the child; where none is named, the clip, as in a split."""
    return f"child {child_key(case.child)}" if case.child else f"clip {case.clip}"


def ratio(hits: Sequence[float], counted: Sequence[bool], children: Sequence[str], *, seed: int, of: str) -> Estimate:
    """sum(hits) / sum(counted) over pairs, with its interval by child.

    hits, counted, children: (I,), of the same pairs; hits are 0 where not counted, and may be negative (differences).
    of: what is counted, in the plural. The same seed gives the same interval, for any order of the pairs.
    """
    n = int(sum(counted))
    if not n:
        return Estimate(value=None, n=0, reason=f"no {of}")
    value = float(sum(hits)) / n
    sums, reason = _resampled(_sums(hits, counted, children), seed), None
    ratios = sums[0][sums[1] > 0] / sums[1][sums[1] > 0]  # (R,) or fewer
    undefined = 1 - len(ratios) / RESAMPLES
    if len(set(children)) < 2:
        reason = "of one child only: there is nothing to resample"
    elif undefined > MOST_UNDEFINED:
        reason = f"{undefined:.0%} of the resamples of children have no {of}"
    elif np.ptp(ratios) == 0:
        reason = "no two children differ: resampling them cannot tell how far it may be off"
    if reason:
        return Estimate(value=value, n=n, reason=reason)
    low, high = np.percentile(ratios, _PERCENTILES)
    return Estimate(value=value, low=float(low), high=float(high), n=n)


def _sums(hits: Sequence[float], counted: Sequence[bool], children: Sequence[str]) -> np.ndarray:
    """(2, K): hits and counted pairs of each child, children in the order of their names."""
    names, at = np.unique(np.asarray(children), return_inverse=True)
    return np.stack([np.bincount(at, weights=np.asarray(row, float), minlength=len(names)) for row in (hits, counted)])


def _resampled(sums: np.ndarray, seed: int) -> np.ndarray:
    """(2, R): the sums over each resample of the children."""
    k = sums.shape[1]
    times = np.random.default_rng(seed).multinomial(k, np.full(k, 1 / k), size=RESAMPLES)  # (R, K) how often each is drawn
    return sums @ times.T
