"""Log-probabilities of many answers to one prompt, from one packed row.

Contract: the row is [prompt | c1 | ... | cG]; a mask lets every answer see the prompt and itself only, so
that the numbers are those of G separate rows at the cost of P + sum(T) tokens. With gradients where they
are enabled. The reference is the same call inside `adapter_off`.
Left out: losses and ratios (training.grpo).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch.utils.checkpoint import checkpoint

from srlite.descriptor.features import Features
from srlite.descriptor.forward import next_logprobs, run_prompt
from srlite.descriptor.inputs import Prompt
from srlite.descriptor.load import Descriptor
from srlite.errors import ModelError

HEAD_NUMBERS = 1 << 25
"""Logits held at once, rows times vocabulary: 128 MiB of float32."""


def packed_logprobs(
    descriptor: Descriptor, prompt: Prompt, features: Features, completions: Sequence[tuple[int, ...]]
) -> list[torch.Tensor]:
    """Log-probability of each token of each completion: float32 tensors of shape (T_i,), temperature 1.

    Raises ModelError when a completion is empty or holds a token that is never sampled.
    """
    if not completions:
        return []
    _check(descriptor, completions)
    device, lengths = descriptor.device, [len(c) for c in completions]
    inputs = [c[:-1] for c in completions]  # nothing is predicted from a last token
    steps = torch.cat([torch.arange(len(c)) for c in inputs]).to(device)  # (S - P,)
    owners = torch.tensor([i for i, c in enumerate(inputs) for _ in c], dtype=torch.long, device=device)
    start = len(prompt.input_ids)
    hidden = run_prompt(
        descriptor,
        prompt,
        features,
        ids=torch.tensor([t for c in inputs for t in c], dtype=torch.long, device=device),
        positions=torch.cat([prompt.positions, (prompt.next_position + steps).expand(3, -1)], 1),
        text_positions=torch.cat([torch.arange(start, device=device), start + steps]),
        mask=_block_mask(start, owners),
        cache=None,
    )
    targets = torch.tensor([t for c in completions for t in c], device=device)  # (sum T,)
    return list(_score(descriptor, hidden[_predictors(start, lengths, device)], targets).split(lengths))


def _check(descriptor: Descriptor, completions: Sequence[tuple[int, ...]]) -> None:
    never = {t for c in completions for t in c}.intersection(descriptor.family.forbidden)
    if never or not all(completions):
        what = f"holds the tokens {sorted(never)}, which are never sampled" if never else "is empty"
        raise ModelError(
            f"a completion to be scored {what}",
            remedy="It was not sampled by this model: sample it again.",
        )


def _block_mask(start: int, owners: torch.Tensor) -> torch.Tensor:
    """Bool (S, S): causal, and among completion tokens only within the same completion. owners: (S - P,)."""
    block = torch.cat([owners.new_full((start,), -1), owners])  # -1: the prompt, seen by all
    causal = torch.ones(len(block), len(block), dtype=torch.bool, device=owners.device).tril()
    return causal & ((block[None] == -1) | (block[:, None] == block[None]))


def _predictors(start: int, lengths: list[int], device: torch.device) -> torch.Tensor:
    """Rows (sum T,) from which the tokens are predicted: the prompt's last, then a completion's own."""
    rows, first = [], start
    for length in lengths:
        rows += [start - 1, *range(first, first + length - 1)]
        first += length - 1
    return torch.tensor(rows, device=device)


def _score(descriptor: Descriptor, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Log-probabilities (N,) of targets (N,) after hidden (N, hidden), the head in chunks."""
    rows = max(1, HEAD_NUMBERS // len(descriptor.penalty))
    chunks = list(zip(hidden.split(rows), targets.split(rows), strict=True))
    if len(chunks) == 1 or not torch.is_grad_enabled():
        return torch.cat([_gather(descriptor, h, t) for h, t in chunks])
    # computed again in the backward pass, so that the logits of one chunk only are held
    again = partial(checkpoint, _gather, use_reentrant=False, preserve_rng_state=False)
    return torch.cat([again(descriptor, h, t) for h, t in chunks])


def _gather(descriptor: Descriptor, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return next_logprobs(descriptor, hidden).gather(1, targets[:, None])[:, 0]
