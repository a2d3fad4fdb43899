"""Log-probabilities of many answers to one prompt.

Contract: the prompt is read once, then all answers run as one row over what was kept of it, each seeing the prompt and itself
only: the numbers are those of G separate rows at the cost of P + sum(T) tokens. With gradients where they are enabled. The
reference is the same inside `adapter_off`.

Where the row is too long for the memory, the answers go in portions, each with its own backward pass, inside
`gradient_through`: what they send back to the prompt is added up and goes through it once, at the end. Loss and gradient are
those of the whole row, and no token is run twice.
Left out: losses and ratios (training.grpo).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import torch
from torch.utils.checkpoint import checkpoint

from srlite.descriptor.attention import Kept, Scoring
from srlite.descriptor.forward import Read, next_logprobs, run_answers
from srlite.descriptor.load import Descriptor
from srlite.device.memory import HEAD_NUMBERS
from srlite.errors import ModelError

Completion = tuple[int, ...]


def answer_logprobs(descriptor: Descriptor, read: Read, completions: Sequence[Completion]) -> list[torch.Tensor]:
    """Log-probability of each token of each completion: float32 tensors of shape (T_i,), temperature 1.

    Raises ModelError when a completion is empty or holds a token that is never sampled.
    """
    if not completions:
        return []
    _check(descriptor, completions)
    device, lengths = descriptor.device, [len(c) for c in completions]
    targets = torch.tensor([t for c in completions for t in c], device=device)  # (sum T,)
    hidden = torch.cat([read.last, _after_prompt(descriptor, read, completions)])
    # the prompt's last token predicts the first of every answer; an answer's own tokens predict the others
    rows, own = [], 1
    for length in lengths:
        rows += [0, *range(own, own + length - 1)]
        own += length - 1
    return list(_score(descriptor, hidden[torch.tensor(rows, device=device)], targets).split(lengths))


def _after_prompt(descriptor: Descriptor, read: Read, completions: Sequence[Completion]) -> torch.Tensor:
    """Hidden states (S, hidden) of all tokens but each completion's last, from which nothing is predicted."""
    inputs = [c[:-1] for c in completions]
    if not any(inputs):
        return read.last[:0]
    device = descriptor.device
    steps = torch.cat([torch.arange(len(c)) for c in inputs]).to(device)  # (S,)
    owners = torch.tensor([i for i, c in enumerate(inputs) for _ in c], device=device)
    ids = torch.tensor([t for c in inputs for t in c], device=device)
    return run_answers(descriptor, ids, read.next_position + steps, Scoring(read.kept, owners))


@contextmanager
def gradient_through(read: Read) -> Iterator[Read]:
    """The prompt cut off from its graph; on leaving, the gradient that backward passes left on it goes on through it."""
    outer = (*read.kept.keys, *read.kept.values, read.last)
    cut = [t.detach().requires_grad_(t.requires_grad) for t in outer]
    layers = len(read.kept.keys)
    yield Read(Kept(tuple(cut[:layers]), tuple(cut[layers:-1])), cut[-1], read.next_position)
    reached = [(t, leaf.grad) for t, leaf in zip(outer, cut, strict=True) if leaf.grad is not None]
    if reached:
        torch.autograd.backward([t for t, _ in reached], [grad for _, grad in reached])


def _check(descriptor: Descriptor, completions: Sequence[Completion]) -> None:
    never = {t for c in completions for t in c}.intersection(descriptor.family.forbidden)
    if never or not all(completions):
        what = f"holds the tokens {sorted(never)}, which are never sampled" if never else "is empty"
        raise ModelError(
            f"a completion to be scored {what}",
            remedy="It was not sampled by this model: sample it again.",
        )


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
