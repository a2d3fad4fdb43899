"""The update phase of a slice: GRPO steps on groups that carry a signal.

Each group is one packed row [prompt | d1 ... dG], forward and backward; gradients of up to `batch_pairs` groups add up to one
optimiser step, divided by `batch_pairs` whatever is skipped. Log-probabilities of the policy that sampled are those recorded
while sampling (the same function); those of the reference are taken once for each group, with the adapter off.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch

from srlite.describing import prepare
from srlite.descriptor.load import Descriptor, adapter_off, checkpointing, trainable
from srlite.descriptor.logprobs import packed_logprobs
from srlite.descriptor.prompts import training_prompt
from srlite.training.grpo import advantages, group_loss, totals
from srlite.training.schedule import seed_of
from srlite.types import Group, Reward
from srlite.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Update:
    """What a slice's update did. Means are over the groups (kl, clipped) or steps (gradient_norm) that took part."""

    steps: int
    skipped_steps: int
    """Steps with a gradient that was not finite."""
    zero_signal: int
    """Groups whose advantages are all 0: no forward pass, no KL pull."""
    kl: float | None
    clipped: float | None
    gradient_norm: float | None


@dataclass(frozen=True)
class _Signal:
    """A group that carries a signal. old, reference: G tensors (T_i,)."""

    group: Group
    advantages: list[float]
    scored: list[bool]
    old: list[torch.Tensor]
    reference: list[torch.Tensor]


def optimiser_for(descriptor: Descriptor, learning_rate: float) -> torch.optim.AdamW:
    return torch.optim.AdamW([p for _, p in trainable(descriptor)], lr=learning_rate, weight_decay=0.0)


def update_slice(
    bench: Workbench,
    optimiser: torch.optim.Optimizer,
    groups: Sequence[Group],
    rewards: Sequence[Sequence[Reward]],
    *,
    seed: int,
    tick: Callable[[int, int], None],
) -> Update:
    """Learn from a slice. `seed` orders the batches; `tick(done, total)` is called after each group.

    Raises ModelError when the model's numbers are not finite.
    """
    schedule, grpo = bench.settings.schedule, bench.settings.grpo
    batches = [b for epoch in range(schedule.epochs) for b in _batches(len(groups), schedule.batch_pairs, seed_of(seed, epoch))]
    given = {i: advantages(totals(r), grpo.delta) for i, r in enumerate(rewards)}
    carrying = [i for i, a in given.items() if any(a)]
    total, done = len(carrying) * (1 + schedule.epochs), 0
    signals: dict[int, _Signal] = {}
    for i in carrying:
        signals[i] = _signal(bench, groups[i], given[i], rewards[i])
        done += 1
        tick(done, total)
    kl, clipped, norms, skipped = [], [], [], 0
    for batch in batches:
        taking_part = [signals[i] for i in batch if i in signals]
        for signal in taking_part:
            found = _backward(bench, signal, schedule.batch_pairs)
            kl.append(found[0])
            clipped.append(found[1])
            done += 1
            tick(done, total)
        if taking_part:
            norm = _step(bench, optimiser)
            norms += [norm] if norm is not None else []
            skipped += norm is None
    return Update(len(norms), skipped, len(groups) - len(carrying), _mean(kl), _mean(clipped), _mean(norms))


def _batches(count: int, size: int, seed: int) -> list[list[int]]:
    order = list(range(count))
    random.Random(seed).shuffle(order)
    return [order[i : i + size] for i in range(0, count, size)]


def _packed(bench: Workbench, group: Group) -> list[torch.Tensor]:
    text = training_prompt(bench.catalogue[group.pair.item], group.pair.age_months, group.prompt)
    prompt, features, _, _ = prepare(bench, group.pair.clip, text)
    return packed_logprobs(bench.descriptor, prompt, features, [r.tokens for r in group.rollouts])


def _signal(bench: Workbench, group: Group, given: list[float], rewards: Sequence[Reward]) -> _Signal:
    with torch.no_grad(), adapter_off(bench.descriptor):
        reference = _packed(bench, group)
    old = [torch.tensor(r.logprobs, device=bench.descriptor.device) for r in group.rollouts]
    return _Signal(group, given, [r.total is not None for r in rewards], old, reference)


def _backward(bench: Workbench, signal: _Signal, batch_pairs: int) -> tuple[float, float]:
    grpo = bench.settings.grpo
    with checkpointing(bench.descriptor) if bench.on_card else nullcontext():
        found = group_loss(
            _packed(bench, signal.group),
            signal.old,
            signal.reference,
            signal.advantages,
            signal.scored,
            clip=grpo.clip,
            beta=grpo.beta,
            ratio=grpo.ratio,
        )
        (found.loss / batch_pairs).backward()
    return found.kl, found.clipped


def _step(bench: Workbench, optimiser: torch.optim.Optimizer) -> float | None:
    """One optimiser step; the gradient norm before clipping, or None where it was not finite and the step was left out."""
    parameters = [p for _, p in trainable(bench.descriptor)]
    norm = torch.nn.utils.clip_grad_norm_(parameters, bench.settings.grpo.max_gradient_norm).item()
    if math.isfinite(norm):
        optimiser.step()
    optimiser.zero_grad(set_to_none=True)
    return norm if math.isfinite(norm) else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
