"""The update phase of a slice: GRPO steps on groups that carry a signal.

Each group is one row of all its descriptions over one reading of its prompt, forward and backward; gradients of up to
`batch_pairs` groups add up to one optimiser step, divided by `batch_pairs` whatever is skipped. Log-probabilities of the policy
that sampled are those recorded while sampling (the same function); those of the reference are taken once for each group, with
the adapter off.

Where a row does not fit into memory, a group goes in portions of its descriptions, whose gradients meet at the prompt: the
same loss and gradient (up to rounding), and no token twice. What fits is kept with the run's state.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import torch

from srlite.describing import prepare
from srlite.descriptor.forward import NotFinite, Read, read_prompt
from srlite.descriptor.load import Descriptor, adapter_off, checkpointing, trainable
from srlite.descriptor.logprobs import answer_logprobs, gradient_through
from srlite.descriptor.prompts import training_prompt
from srlite.device.halving import halving, portions
from srlite.training.grpo import advantages, group_loss, totals
from srlite.training.schedule import seed_of
from srlite.types import Group, Reward
from srlite.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Update:
    """What a slice's update did. Means are over the groups (kl, clipped) or steps (gradient_norm) that took part."""

    steps: int
    skipped_steps: int
    """Steps whose loss or gradient was not finite."""
    zero_signal: int
    """Groups whose advantages are all 0: no forward pass, no KL pull."""
    kl: float | None
    clipped: float | None
    gradient_norm: float | None
    portion: int
    """Descriptions in one row: the group, or what fitted into memory."""
    tokens: int
    """Of the descriptions learnt from, each time that they were."""


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
    portion: int,
    tick: Callable[[int, int], None],
    note: Callable[[str], None],
) -> Update:
    """Learn from a slice. `seed` orders the batches; `tick(done, total)` is called after each group.

    Raises ModelError when the model's numbers are not finite, DeviceError when a single description does not fit.
    """
    schedule, grpo = bench.settings.schedule, bench.settings.grpo
    batches = [b for epoch in range(schedule.epochs) for b in _batches(len(groups), schedule.batch_pairs, seed_of(seed, epoch))]
    given = {i: advantages(totals(r), grpo.delta) for i, r in enumerate(rewards)}
    carrying = [i for i, a in given.items() if any(a)]
    total, done = len(carrying) * (1 + schedule.epochs), 0
    signals: dict[int, _Signal] = {}
    less = lambda size: note(f"out of memory: from here on {size} descriptions of a pair are learnt from at once")
    for i in carrying:
        take = partial(_signal, bench, groups[i], given[i], rewards[i])
        signals[i], portion = halving(take, portion, told=less)
        done += 1
        tick(done, total)
    kl, clipped, norms, skipped, tokens = [], [], [], 0, 0
    for batch in batches:
        taking_part = [signals[i] for i in batch if i in signals]
        if not taking_part:
            continue
        try:
            found, portion = halving(partial(_gradients, bench, optimiser, taking_part), portion, told=less)
        except NotFinite:
            found = []
        kl += [f.kl / f.tokens for f in found]
        clipped += [f.clipped / f.tokens for f in found]
        tokens += sum(f.tokens for f in found)
        norm = _step(bench, optimiser) if found else None
        norms += [norm] if norm is not None else []
        skipped += norm is None
        done += len(taking_part)
        tick(done, total)
    zero_signal = len(groups) - len(carrying)
    return Update(len(norms), skipped, zero_signal, _mean(kl), _mean(clipped), _mean(norms), portion, tokens)


def _batches(count: int, size: int, seed: int) -> list[list[int]]:
    order = list(range(count))
    random.Random(seed).shuffle(order)
    return list(portions(order, size))


def _read(bench: Workbench, group: Group) -> Read:
    text = training_prompt(bench.catalogue[group.pair.item], group.pair.age_months, group.prompt)
    prompt, features, _, _ = prepare(bench, group.pair.clip, text)
    return read_prompt(bench.descriptor, prompt, features)


def _rows(bench: Workbench, read: Read, group: Group, portion: int) -> Iterator[tuple[slice, list[torch.Tensor]]]:
    """Which descriptions, and the log-probabilities of their tokens: portion by portion, each row when it is asked for."""
    for part in portions(range(len(group.rollouts)), portion):
        of = slice(part.start, part.stop)
        yield of, answer_logprobs(bench.descriptor, read, [r.tokens for r in group.rollouts[of]])


def _signal(bench: Workbench, group: Group, given: list[float], rewards: Sequence[Reward], portion: int) -> _Signal:
    with torch.no_grad(), adapter_off(bench.descriptor):
        reference = [row for _, rows in _rows(bench, _read(bench, group), group, portion) for row in rows]
    old = [torch.tensor(r.logprobs, device=bench.descriptor.device) for r in group.rollouts]
    return _Signal(group, given, [r.total is not None for r in rewards], old, reference)


@dataclass(frozen=True, slots=True)
class _Watched:
    """Sums over the tokens of a group."""

    kl: float
    clipped: float
    tokens: int


def _gradients(bench: Workbench, optimiser: torch.optim.Optimizer, batch: Sequence[_Signal], portion: int) -> list[_Watched]:
    """The gradient of a whole batch, from nothing: begun again, it does not count anything twice."""
    optimiser.zero_grad(set_to_none=True)
    return [_backward(bench, signal, portion) for signal in batch]


def _backward(bench: Workbench, signal: _Signal, portion: int) -> _Watched:
    grpo, pairs, parts = bench.settings.grpo, bench.settings.schedule.batch_pairs, []
    saving = checkpointing(bench.descriptor) if bench.on_card else nullcontext()
    with saving, gradient_through(_read(bench, signal.group)) as read:
        for of, rows in _rows(bench, read, signal.group, portion):
            found = group_loss(
                rows,
                signal.old[of],
                signal.reference[of],
                signal.advantages[of],
                signal.scored[of],
                group=len(signal.scored),
                clip=grpo.clip,
                beta=grpo.beta,
                ratio=grpo.ratio,
            )
            if found.loss is not None:
                (found.loss / pairs).backward()
            parts.append(found)
    return _Watched(sum(p.kl for p in parts), sum(p.clipped for p in parts), sum(p.tokens for p in parts))


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
