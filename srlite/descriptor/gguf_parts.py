"""Write a GGUF file tensor by tensor, and the names that llama.cpp has for the descriptor's families.

Contract: a file is a list of parts, each read when its turn comes, so that one tensor is in memory. Matrices stored in 16 bits
become float16, which holds every bfloat16 number between 6e-5 and 65,504 exactly and lets llama.cpp round what it multiplies
with to 11 bits instead of 8; matrices in float32 stay so; vectors are float32, as llama.cpp wants them.
Left out: 4 and 8 bit (llama.cpp's llama-quantize makes them from these files).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import gguf
import numpy as np
import torch

from srlite.descriptor.weights import Stored
from srlite.errors import DeviceError, ModelError

ARCHITECTURES = {"qwen2_5_vl": "qwen2vl", "qwen3_vl": "qwen3vl"}
CONVERTER = "convert_hf_to_gguf.py of llama.cpp can be tried on a folder made with --to merged."


@dataclass(frozen=True, slots=True)
class Part:
    """A tensor of the file to be. `values` is called once, when it is written."""

    name: str
    shape: tuple[int, ...]
    dtype: type[np.float16] | type[np.float32]
    values: Callable[[], np.ndarray]

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape)) * np.dtype(self.dtype).itemsize


def architecture(family: str) -> str:
    """llama.cpp's name for the family's language model. Raises ModelError when the gguf package does not know it."""
    name = ARCHITECTURES[family]
    if name not in gguf.MODEL_ARCH_NAMES.values():
        raise ModelError(
            f"the installed gguf package ({version('gguf')}) does not know the architecture {name!r}",
            remedy=f"pip install -U gguf, or use --to merged. {CONVERTER}",
        )
    return name


def name_map(arch: str, layers: int) -> gguf.TensorNameMap:
    (which,) = (a for a, name in gguf.MODEL_ARCH_NAMES.items() if name == arch)
    return gguf.get_tensor_name_map(which, layers)


def language_name(names: gguf.TensorNameMap, name: str) -> str:
    """`model.language_model.layers.0.self_attn.q_proj.weight` -> `blk.0.attn_q.weight`. Raises ModelError."""
    return mapped(names, name.replace("model.language_model.", "model.", 1))


def mapped(names: gguf.TensorNameMap, name: str) -> str:
    """Raises ModelError for a tensor that llama.cpp has no place for."""
    found = names.get_name(name, try_suffixes=(".weight", ".bias"))
    if found is None:
        raise ModelError(
            f"llama.cpp has no place for the tensor {name} (gguf {version('gguf')})", remedy=f"Use --to merged. {CONVERTER}"
        )
    return found


def part(name: str, stored: Stored, *, exact: bool = False) -> Part:
    """The whole tensor; `exact` keeps a matrix in float32."""
    return cut(name, stored, stored.shape, lambda tensor: tensor, exact=exact)


def cut(
    name: str, stored: Stored, shape: Sequence[int], take: Callable[[torch.Tensor], torch.Tensor], *, exact: bool = False
) -> Part:
    """What `take` makes of the tensor, of that shape."""
    wide = exact or len(shape) == 1 or stored.kind == "F32"
    dtype = np.float32 if wide else np.float16
    return Part(name, tuple(shape), dtype, lambda: _values(stored, take, dtype))


def _values(stored: Stored, take: Callable[[torch.Tensor], torch.Tensor], dtype: type) -> np.ndarray:
    values = take(stored.read()).float().contiguous().numpy()
    if dtype is np.float16 and float(np.abs(values).max(initial=0.0)) > float(np.finfo(np.float16).max):
        raise ModelError(
            f"{stored.name} holds numbers too large for float16",
            where=str(stored.path),
            remedy=f"Use --to merged. {CONVERTER} It can write bfloat16: --outtype bf16.",
        )
    return values.astype(dtype)


def write_parts(writer: gguf.GGUFWriter, parts: Sequence[Part], path: Path, *, tick: Callable[[int, int], None]) -> None:
    """Write what `writer` has been told, and the parts, to `path`, mode 0600. Raises DeviceError."""
    for p in parts:
        writer.add_tensor_info(p.name, p.shape, np.dtype(p.dtype), p.nbytes)
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        writer.write_header_to_file(path)
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for done, p in enumerate(parts, 1):
            writer.write_tensor_data(p.values())
            tick(done, len(parts))
        writer.close()
        with path.open("rb") as file:
            os.fsync(file.fileno())
    except OSError as error:
        remedy = "Free some space and start again."
        raise DeviceError(f"cannot write: {error.strerror or error}", where=str(path), remedy=remedy) from error
