"""The validation part: it alone chooses the checkpoint that becomes the adapter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from srlite.describing import describe_all, judged
from srlite.records.mismatch import matched_pairs, mismatched_pairs
from srlite.records.sides import Split
from srlite.training.schedule import seed_of
from srlite.types import Pair
from srlite.workbench import Workbench


def validation_pairs(bench: Workbench, split: Split) -> tuple[Pair, ...]:
    """The validation part's matched pairs and a third as many unrelated ones (none when none are trained on)."""
    matched = matched_pairs(split.validation)
    if not matched or not bench.settings.schedule.mismatched_share:
        return matched
    everything = (*split.train, *split.validation, *split.test)
    seed = seed_of(bench.settings.seed, "validation")
    count = max(1, len(matched) // 3)
    return (*matched, *mismatched_pairs(split.validation, bench.catalogue, count=count, known=everything, seed=seed))


def validate(bench: Workbench, pairs: Sequence[Pair], *, tick: Callable[[int, int], None]) -> float | None:
    """Mean of two shares: matched pairs decided as the clinician did, unrelated pairs abstained from. None without pairs."""
    described, _ = describe_all(bench, pairs, tick=tick)
    decided = judged(bench, described)
    right = {True: [], False: []}
    for d in decided:
        right[d.pair.matched].append(d.decision == (d.pair.outcome or "unable_to_assess"))
    shares = [sum(hits) / len(hits) for hits in right.values() if hits]
    return sum(shares) / len(shares) if shares else None
