"""The tensors of a model folder, read one at a time from its safetensors files: no model is built and little memory used.

Contract: a tensor's name is the one that the loaded model gives it, whatever older name the file has. Files are read, not
mapped. What is stored in fewer than 16 bits is refused: there are no weights to read there, only their rounded codes.
Left out: what the tensors mean (merging.py, gguf_model.py, gguf_tower.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from srlite.descriptor.files import weight_files
from srlite.errors import ModelError

DTYPES = {"BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32}
"""What a weight may be stored as, in the words of safetensors."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One tensor of a file. `begin` and `end`: its bytes, counted from the beginning of the file."""

    name: str
    path: Path
    kind: str
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def dtype(self) -> torch.dtype:
        return DTYPES[self.kind]

    def content(self) -> bytearray:
        with self.path.open("rb") as file:
            file.seek(self.begin)
            return bytearray(file.read(self.end - self.begin))

    def read(self) -> torch.Tensor:
        return torch.frombuffer(self.content(), dtype=self.dtype).reshape(self.shape)


@dataclass(frozen=True, slots=True)
class Shard:
    """One file: its head as it stands, and its tensors in the order of their bytes."""

    path: Path
    head: bytes
    tensors: tuple[Stored, ...]


def read_shards(folder: Path) -> tuple[Shard, ...]:
    """The folder's weight files. Raises ModelError when one is missing or damaged."""
    return tuple(_shard(path) for path in weight_files(folder))


def by_name(shards: tuple[Shard, ...]) -> dict[str, Stored]:
    return {tensor.name: tensor for shard in shards for tensor in shard.tensors}


def require_whole_weights(folder: Path, shards: tuple[Shard, ...]) -> None:
    """Raises ModelError for a folder whose weights are stored in 4 or 8 bit."""
    narrow = sorted(t.name for shard in shards for t in shard.tensors if t.kind not in DTYPES)
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if not narrow and "quantization_config" not in settings:
        return
    found = f"{narrow[0]} and {len(narrow) - 1} other tensors" if narrow else "its config.json says so"
    raise ModelError(
        f"the base is stored in fewer than 16 bits ({found}): an adapter merged into rounded weights would be rounded away",
        where=str(folder),
        remedy="Export the adapter alone (--to peft), or train on the full-precision folder of the same model.",
    )


def _shard(path: Path) -> Shard:
    # weight_files has looked at the head and the length before
    with path.open("rb") as file:
        length = file.read(8)
        head = file.read(int.from_bytes(length, "little"))
    return Shard(path, length + head, tuple(_stored(path, 8 + len(head), json.loads(head))))


def _stored(path: Path, start: int, head: dict) -> Iterator[Stored]:
    found = [(name, t) for name, t in head.items() if name != "__metadata__"]
    for name, t in sorted(found, key=lambda entry: entry[1]["data_offsets"]):
        begin, end = t["data_offsets"]
        yield Stored(_present_name(name), path, t["dtype"], tuple(t["shape"]), start + begin, start + end)


def _present_name(name: str) -> str:
    """Files of Qwen2.5-VL keep the names of older releases: `visual.` and `model.layers.`."""
    if name.startswith("visual."):
        return f"model.{name}"
    known = ("model.visual.", "model.language_model.")
    if name.startswith("model.") and not name.startswith(known):
        return f"model.language_model.{name.removeprefix('model.')}"
    return name
