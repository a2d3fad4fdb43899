"""The validation part: it alone chooses the checkpoint that becomes the adapter."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from srlite.describing import describe_all, judged
from srlite.records.mismatch import matched_pairs, mismatched_pairs, most_mismatched
from srlite.records.sides import Split
from srlite.training.schedule import seed_of
from srlite.types import Pair
from srlite.workbench import Workbench


def validation_pairs(bench: Workbench, split: Split) -> tuple[Pair, ...]:
    """The validation part's matched pairs and as many unrelated ones, or all there are (none when none are trained on).

    Both kinds count the same in the score, so equal numbers of them make its error smallest.
    """
    matched = matched_pairs(split.validation)
    if not matched or not bench.settings.schedule.mismatched_share:
        return matched
    everything = (*split.train, *split.validation, *split.test)
    seed = seed_of(bench.settings.seed, "validation")
    count = max(1, min(len(matched), most_mismatched(split.validation, bench.catalogue, known=everything)))
    return (*matched, *mismatched_pairs(split.validation, bench.catalogue, count=count, known=everything, seed=seed))


@dataclass(frozen=True, slots=True)
class Score:
    """Mean of two shares: matched pairs decided as the clinician did, unrelated pairs abstained from; its standard error."""

    value: float
    error: float


def validate(bench: Workbench, pairs: Sequence[Pair], *, tick: Callable[[int, int], None]) -> Score | None:
    """None without pairs."""
    described, _ = describe_all(bench, pairs, tick=tick)
    decided = judged(bench, described)
    right = {True: [], False: []}
    for d in decided:
        right[d.pair.matched].append(d.decision == (d.pair.outcome or "unable_to_assess"))
    parts = [hits for hits in right.values() if hits]
    return score_of(parts) if parts else None


def score_of(parts: Sequence[Sequence[bool]]) -> Score:
    """parts: for each kind of pair, what was right. A part without an error still has a variance (one right and one wrong are
    added for it, as Agresti and Coull 1998 do with two of each)."""
    shares = [sum(hits) / len(hits) for hits in parts]
    smoothed = [((sum(hits) + 1) / (len(hits) + 2), len(hits) + 2) for hits in parts]
    variance = sum(p * (1 - p) / n for p, n in smoothed) / len(parts) ** 2
    return Score(sum(shares) / len(shares), math.sqrt(variance))
