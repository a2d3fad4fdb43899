"""The adapter as a GGUF file that llama.cpp puts on a language model: `llama-server --model ... --lora adapter.gguf`.

Contract: the adapter's own float32 numbers under llama.cpp's names, `blk.0.attn_q.weight.lora_a` and `.lora_b`, with alpha;
llama.cpp takes the rank from the shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import gguf
import numpy as np
import torch

from srlite.descriptor.adapter import ALPHA
from srlite.descriptor.gguf_parts import Part, language_name, name_map, write_parts
from srlite.descriptor.merging import Pair
from srlite.errors import ModelError


def write_lora(pairs: Mapping[str, Pair], arch: str, layers: int, path: Path) -> None:
    """Write the adapter, read it again and compare. Raises ModelError or DeviceError."""
    parts = _parts(pairs, arch, layers)
    writer = gguf.GGUFWriter(None, arch)
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, float(ALPHA))
    write_parts(writer, parts, path, tick=lambda done, total: None)
    reader = gguf.GGUFReader(path)
    found, alpha = {t.name: t.data for t in reader.tensors}, reader.get_field(gguf.Keys.Adapter.LORA_ALPHA)
    same = found.keys() == {p.name for p in parts} and all(np.array_equal(found[p.name], p.values()) for p in parts)
    if not same or alpha is None or alpha.contents() != ALPHA:
        raise ModelError("the file does not hold the adapter that was written", where=str(path))


def _parts(pairs: Mapping[str, Pair], arch: str, layers: int) -> list[Part]:
    names = name_map(arch, layers)
    return [
        _part(f"{language_name(names, name)}.lora_{half}", getattr(pair, half))
        for name, pair in pairs.items()
        for half in ("a", "b")
    ]


def _part(name: str, tensor: torch.Tensor) -> Part:
    return Part(name, tuple(tensor.shape), np.float32, lambda: tensor.float().contiguous().numpy())
