"""Shares with 95 % intervals. scipy computes them; an undefined share is None with the reason, never 0.

    share        Wilson's interval (Wilson 1927, no continuity correction): shares of all pairs, as accuracy and abstention
    exact_share  Clopper and Pearson's (1934): sensitivity, specificity and predictive values, whose cells are often so small
                 that an interval must err on the safe side; 1 of 1 gives [0.025, 1]
    mean_of_two  the mean of two independent shares (balanced accuracy), from their own intervals

All of them take pairs as independent, which clips of one child are not: see bootstrap.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from srlite.evaluation.document import Estimate

CONFIDENCE = 0.95


def share(hits: int, n: int, *, of: str) -> Estimate:
    """`hits` of `n` with Wilson's interval. `of`: what there are n of, in the plural, for the reason when there are none."""
    return _estimate(hits, n, of, "wilson")


def exact_share(hits: int, n: int, *, of: str) -> Estimate:
    """The same with Clopper and Pearson's interval."""
    return _estimate(hits, n, of, "exact")


def proportion(hits: Sequence[bool], *, of: str = "cases") -> Estimate:
    """The share of True with Wilson's interval."""
    return share(sum(hits), len(hits), of=of)


def mean_of_two(one: Estimate, other: Estimate) -> Estimate:
    """The mean of two shares of different pairs; undefined where one of them is.

    Its interval comes from theirs by the square-and-add rule (Newcombe 1998, method 10; Zou and Donner 2008, MOVER).
    """
    n, parts = one.n + other.n, (one, other)
    if missing := [part.reason for part in parts if part.value is None]:
        return Estimate(value=None, n=n, reason=missing[0])
    mean = (one.value + other.value) / 2
    below = math.hypot(*(part.value - part.low for part in parts)) / 2
    above = math.hypot(*(part.high - part.value for part in parts)) / 2
    return Estimate(value=mean, low=max(0.0, mean - below), high=min(1.0, mean + above), n=n)


def _estimate(hits: int, n: int, of: str, method: Literal["wilson", "exact"]) -> Estimate:
    if not n:
        return Estimate(value=None, n=0, reason=f"no {of}")
    low, high = _interval(hits, n, method)
    return Estimate(value=hits / n, low=low, high=high, n=n)


@lru_cache(65536)  # groups are small: the same few counts come again in every item, sex and arm
def _interval(hits: int, n: int, method: Literal["wilson", "exact"]) -> tuple[float, float]:
    from scipy.stats import binomtest

    found = binomtest(hits, n).proportion_ci(confidence_level=CONFIDENCE, method=method)
    return float(found.low), float(found.high)
