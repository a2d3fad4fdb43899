"""Attention of tokens that share a prompt, and the keys and values that it needs.

Contract: the language model of a loaded descriptor attends through `attend`, registered with transformers under NAME by its
public interface. Every forward brings the `memory` that says what its row may see:

    Reading     a prompt is read: each token sees those before it; keys and values are kept
    Scoring     answers to one prompt in a row: each token sees the prompt, and those before it in its own answer
    Decoding    one new token of each sample: it sees its prompt and its own earlier tokens; they are kept for the next

So a prompt's keys and values are there once, however many answers share them; nothing is padded, no mask is larger than the
answers' part of the row, and the row of several prompts costs no more than each alone.
Left out: dropout, sliding windows (families.py refuses them), attention of the vision tower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

NAME = "srlite_shared_prompt"


class Memory(Protocol):
    def attend(self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float) -> torch.Tensor:
        """query: (heads, S, D). key, value: (key heads, S, D) of the row's own tokens. Returns (heads, S, D)."""


def register() -> None:
    """Make `attend` known to transformers. No mask function goes with it: masks are the memory's."""
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, attend)


def attend(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    scaling: float,
    memory: Memory,
    **_: object,
) -> tuple[torch.Tensor, None]:
    """What a layer of transformers calls: query (1, heads, S, D), key and value (1, key heads, S, D), rotated already.

    Returns (1, S, heads, D). Without a `memory` it is a TypeError: nothing here guesses what may be seen.
    """
    if attention_mask is not None:
        raise TypeError("the memory says what may be seen; an attention mask beside it would be ignored")
    out = memory.attend(module.layer_idx, query[0], key[0], value[0], scaling)
    return out.transpose(0, 1)[None], None


@dataclass(frozen=True)
class Kept:
    """Keys and values of a prompt's P tokens, for each layer (key heads, P, D)."""

    keys: tuple[torch.Tensor, ...]
    values: tuple[torch.Tensor, ...]

    def __len__(self) -> int:
        return self.keys[0].shape[1]


class Reading:
    """The row is a prompt."""

    def __init__(self) -> None:
        self._layers: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def attend(self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float) -> torch.Tensor:
        # with gradient checkpointing a layer runs again in the backward pass: the first tensors are those of the graph
        self._layers.setdefault(layer, (key, value))
        return _attention(query, key, value, mask=None, scale=scale)

    def kept(self) -> Kept:
        layers = [self._layers[i] for i in range(len(self._layers))]
        return Kept(tuple(k for k, _ in layers), tuple(v for _, v in layers))


class Scoring:
    """The row is the tokens of answers to one prompt. owners: (S,), which answer a token belongs to, ascending."""

    def __init__(self, prompt: Kept, owners: torch.Tensor):
        self._prompt = prompt
        own = (owners[:, None] == owners[None]).tril()  # (S, S)
        self._mask = torch.cat([own.new_ones(len(owners), len(prompt)), own], 1)  # (S, P + S)

    def attend(self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float) -> torch.Tensor:
        keys = torch.cat([self._prompt.keys[layer], key], 1)
        values = torch.cat([self._prompt.values[layer], value], 1)
        return _attention(query, keys, values, mask=self._mask, scale=scale)


class Strand:
    """A prompt and what its samples have said so far: buffers with room for all of it, so that nothing is copied a step.
    `room`: the most tokens that they will say together."""

    def __init__(self, prompt: Kept, room: int):
        self.keys = [_with_room(k, room) for k in prompt.keys]
        self.values = [_with_room(v, room) for v in prompt.values]
        self.owners = torch.full((len(prompt),), -1)  # (K,): -1 is the prompt, seen by all
        self.mask = torch.empty(0, 0)

    def admit(self, samples: torch.Tensor) -> None:
        """The next tokens are of `samples` (A,)."""
        self.owners = torch.cat([self.owners, samples])
        seen = (self.owners[None] == -1) | (self.owners[None] == samples[:, None])
        self.mask = seen.to(self.keys[0].device)  # (A, K)

    def attend(self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float) -> torch.Tensor:
        stop = len(self.owners)
        self.keys[layer][:, stop - key.shape[1] : stop] = key
        self.values[layer][:, stop - key.shape[1] : stop] = value
        return _attention(query, self.keys[layer][:, :stop], self.values[layer][:, :stop], mask=self.mask, scale=scale)


class Decoding:
    """The row is one new token of each sample alive, samples of one prompt behind one another."""

    def __init__(self, strands: Sequence[Strand], samples: Sequence[int]):
        """samples: how many of each strand's prompt; they are numbered through."""
        self._strands = strands
        self._strand_of = torch.tensor([i for i, count in enumerate(samples) for _ in range(count)])
        self._rows: list[tuple[Strand, slice]] = []

    def admit(self, alive: torch.Tensor) -> None:
        """Before each forward: numbers (A,) of the samples whose tokens it brings, ascending."""
        counts = torch.bincount(self._strand_of[alive], minlength=len(self._strands)).tolist()
        self._rows, start = [], 0
        for strand, count in zip(self._strands, counts, strict=True):
            if count:
                strand.admit(alive[start : start + count])
                self._rows.append((strand, slice(start, start + count)))
            start += count

    def attend(self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float) -> torch.Tensor:
        parts = [strand.attend(layer, query[:, at], key[:, at], value[:, at], scale) for strand, at in self._rows]
        return torch.cat(parts, 1)


def _with_room(kept: torch.Tensor, room: int) -> torch.Tensor:
    """(key heads, P + room, D), of which the first P are filled."""
    heads, length, size = kept.shape
    buffer = kept.new_empty(heads, length + room, size)
    buffer[:, :length] = kept
    return buffer


def _attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *, mask: torch.Tensor | None, scale: float
) -> torch.Tensor:
    """query (heads, S, D), key and value (key heads, K, D); heads of one key head stand behind one another.

    mask: bool (S, K), True where a row may see a column; None is causal, with S = K. Returns (heads, S, D).
    """
    groups = query.shape[0] // key.shape[0]
    shared = lambda t: t[:, None].expand(-1, groups, -1, -1)  # (key heads, groups, K, D), nothing copied
    out = scaled_dot_product_attention(
        query.unflatten(0, (-1, groups)), shared(key), shared(value), attn_mask=mask, is_causal=mask is None, scale=scale
    )
    return out.flatten(0, 1)
