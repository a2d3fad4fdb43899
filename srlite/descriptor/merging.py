"""Put an adapter into the weights of its base, file by file and tensor by tensor: W + alpha / rank * B @ A.

Contract: the sum is made in float32 and rounded once, to the base's own number format. A merged file has the head of the
base's file, so names, shapes, formats and places are the base's; what the adapter does not touch is copied byte by byte.
No more than one tensor is in memory.
Left out: merging into 4 bit (weights.require_whole_weights refuses it), and whether the merged model says the same
(probing.py).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from srlite.descriptor.adapter import ALPHA, RANK, TARGETS
from srlite.descriptor.weights import Shard, Stored, by_name
from srlite.errors import DeviceError, ModelError

SCALE = ALPHA / RANK
_BEFORE, _A, _B = "base_model.model.", ".lora_A.weight", ".lora_B.weight"


@dataclass(frozen=True, eq=False)
class Pair:
    """What the adapter adds to one projection."""

    a: torch.Tensor  # (rank, in)
    b: torch.Tensor  # (out, rank)

    def added(self) -> torch.Tensor:
        """(out, in) float32."""
        return SCALE * (self.b.float() @ self.a.float())


def adapter_pairs(tensors: Mapping[str, torch.Tensor], stored: Mapping[str, Stored], where: str) -> dict[str, Pair]:
    """An adapter's tensors as PEFT names them -> name of the base's weight: its pair.

    Raises ModelError when a half is missing, not finite, or does not fit the weight (whose shape a 4-bit base does not tell).
    """
    wanted = {name for name in stored if re.fullmatch(TARGETS, name.removesuffix(".weight"))}
    weights = wanted | {_weight(name) for name in tensors}
    halves = {w: [tensors.get(f"{_BEFORE}{w.removesuffix('.weight')}{end}") for end in (_A, _B)] for w in weights}
    pairs = {w: Pair(a, b) for w, (a, b) in sorted(halves.items()) if a is not None and b is not None}
    wrong = weights - {w for w, pair in pairs.items() if w in wanted and _fits(pair, stored[w])}
    if wrong or not pairs:
        raise ModelError(
            f"{len(wrong)} of {len(weights)} parts of the adapter do not fit the base, for example {min(wrong, default='all')}",
            where=where,
            remedy="Use the adapter with the model that it was trained on, or train again.",
        )
    return pairs


def _weight(name: str) -> str:
    return f"{name.removeprefix(_BEFORE).removesuffix(_A).removesuffix(_B)}.weight"


def _fits(pair: Pair, weight: Stored) -> bool:
    if not (bool(pair.a.isfinite().all()) and bool(pair.b.isfinite().all())):
        return False
    shape = (pair.b.shape[0], pair.a.shape[1])
    return pair.a.shape[0] == pair.b.shape[1] == RANK and (weight.kind == "U8" or weight.shape == shape)


def merged(weight: torch.Tensor, pair: Pair) -> torch.Tensor:
    """The merged weight, in the number format of `weight`."""
    return (weight.float() + pair.added()).to(weight.dtype)


def write_merged(
    shards: tuple[Shard, ...], pairs: Mapping[str, Pair], folder: Path, *, tick: Callable[[int, int], None]
) -> None:
    """Write each shard with the pairs merged in under its own name into `folder`, mode 0600. Raises DeviceError."""
    total, done = sum(len(shard.tensors) for shard in shards), 0
    for shard in shards:
        path = folder / shard.path.name
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(shard.head)
                for tensor in shard.tensors:
                    file.write(_content(tensor, pairs.get(tensor.name)))
                    done += 1
                    tick(done, total)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            remedy = "Free some space and start again."
            raise DeviceError(f"cannot write: {error.strerror or error}", where=str(path), remedy=remedy) from error


def _content(tensor: Stored, pair: Pair | None) -> bytes | bytearray | memoryview:
    if pair is None:
        return tensor.content()
    return memoryview(merged(tensor.read(), pair).contiguous().flatten().view(torch.uint8).numpy())


@dataclass(frozen=True, slots=True)
class Difference:
    """How the tensors of a merged model stand to those of its base. rounding: the largest distance between a merged weight and
    the sum in float32, as a share of what the adapter adds to that weight matrix at most."""

    same: int
    merged: int
    rounding: float


def compare_merged(base: tuple[Shard, ...], made: tuple[Shard, ...], pairs: Mapping[str, Pair]) -> Difference:
    """Read both again. Raises ModelError when a tensor is not the one that it should be."""
    found, rounding = by_name(made), 0.0
    for name, tensor in by_name(base).items():
        other, pair = found.get(name), pairs.get(name)
        if other is None or other.content() != bytes(_content(tensor, pair)):
            raise ModelError(f"the merged file does not hold what was written: {name}", where=str(made[0].path.parent))
        if pair is not None and float(added := pair.added().abs().max()):
            away = (other.read().float() - tensor.read().float() - pair.added()).abs().max()
            rounding = max(rounding, float(away) / float(added))
    return Difference(len(by_name(base)) - len(pairs), len(pairs), rounding)
