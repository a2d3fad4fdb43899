"""More descriptions of a clip, drawn at temperature 1: do they come to the same decision as the likeliest one?"""

from __future__ import annotations

from collections.abc import Sequence

from srlite.describing import Described, Prepared
from srlite.descriptor.generate import Ask, sample_groups
from srlite.device.halving import halving, portions
from srlite.training.schedule import seed_of
from srlite.types import Rollout
from srlite.workbench import Workbench


def drawn(bench: Workbench, greedy: Described, prepared: Prepared, count: int) -> list[Described]:
    """`count` descriptions of what `greedy` describes. They follow from the run's seed, the clip's bytes and the item."""
    prompt, features, _, sha256 = prepared
    seeds = [seed_of(bench.settings.seed, "assess", sha256, greedy.pair.item, i) for i in range(count)]

    def take(size: int) -> list[Rollout]:
        return [r for part in portions(seeds, size) for r in _row(bench, Ask(prompt, features, tuple(part)))]

    rollouts, _ = halving(take, count, told=lambda size: None)  # the same samples, a few at a time
    return [Described(greedy.pair, r.text, len(r.tokens), greedy.clip) for r in rollouts]


def _row(bench: Workbench, ask: Ask) -> Sequence[Rollout]:
    most = bench.settings.sampling.max_new_tokens
    (group,) = sample_groups(bench.descriptor, [ask], max_new_tokens=most, temperature=1.0, top_p=1.0)
    return group
