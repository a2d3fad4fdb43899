"""Look at a judge's GGUF file before anything heavy is loaded, and say in plain words what is wrong with it.

Contract: `check_header` reads the header only (metadata and the list of tensors) and raises ModelError for a
file that is missing, no GGUF (a Git LFS pointer, safetensors), cut short, without a vocabulary or its chat
markers, a vision projector, of an architecture that the family's template does not fit, or trained on other
question texts. Whether llama.cpp can run the weights is not tried here.
"""

from __future__ import annotations

import importlib.metadata
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from srlite.errors import ModelError
from srlite.judge.questions import questions_hash
from srlite.judge.scaffold import Family, family_named, family_of, known_families
from srlite.models.shapes import TextShape

QUESTIONS_KEY = "srlite.questions_sha256"
"""Metadata of a judge that was trained on our questions: `questions_hash()` of that day."""
REMAKE = "python -m srlite.demo.make"

_FETCH_AGAIN = "Get the file again (`srlite models pull`) or choose another judge."
_SCALARS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_STRING, _ARRAY = 8, 9
_LONGEST_BYTES = 1 << 26  # a text beyond this is damage, not a header


@dataclass(frozen=True, slots=True)
class Header:
    """metadata: key -> value; arrays are tuples. needed_bytes: file length that holds all of its tensors."""

    metadata: Mapping[str, object]
    needed_bytes: int

    @property
    def architecture(self) -> str:
        return str(self.metadata.get("general.architecture", ""))


def check_header(path: Path, name: str | None) -> Family:
    """The family of a file that can be used as a judge: the one named, or, for None, the one of its architecture. Raises
    ModelError."""
    header = _read(path)
    family = family_named(name) if name else family_of(header.architecture)
    if family is None or header.architecture not in family.architectures:
        raise _other_architecture(path, header, family)
    _check_vocabulary(path, header, family)
    size = path.stat().st_size
    if size < header.needed_bytes:
        raise _error(path, f"the file is cut short: {size} bytes of {header.needed_bytes}", _FETCH_AGAIN)
    trained_on = header.metadata.get(QUESTIONS_KEY)
    if trained_on is not None and trained_on != questions_hash():
        raise _error(path, "this judge was trained on other question texts than the present ones", f"Run `{REMAKE}`.")
    return family


def read_shape(path: Path) -> TextShape:
    """The sizes that the header of a judge's file tells. Raises ModelError."""
    header = _read(path)
    metadata, architecture = header.metadata, header.architecture
    size = lambda name: int(metadata[f"{architecture}.{name}"])
    try:
        hidden, heads = size("embedding_length"), size("attention.head_count")
        return TextShape(
            hidden=hidden,
            layers=size("block_count"),
            heads=heads,
            kv_heads=size("attention.head_count_kv"),
            intermediate=size("feed_forward_length"),
            vocabulary=len(metadata["tokenizer.ggml.tokens"]),
            tied=False,  # the header does not tell; a second matrix would be among the file's bytes anyway
            head_dim=size("attention.key_length") if f"{architecture}.attention.key_length" in metadata else hidden // heads,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _error(path, f"the header does not tell the model's sizes ({error})", _FETCH_AGAIN) from error


def _error(path: Path, message: str, remedy: str) -> ModelError:
    return ModelError(message, where=str(path), remedy=remedy)


def _read(path: Path) -> Header:
    try:
        with path.open("rb") as file:
            _check_magic(path, file.read(64))
            file.seek(4)
            return _parse(file)
    except OSError as error:
        raise _error(path, f"the judge's file cannot be read: {error.strerror}", _FETCH_AGAIN) from error
    except (struct.error, EOFError, UnicodeDecodeError, MemoryError) as error:
        raise _error(path, "the file is cut short or damaged in its header", _FETCH_AGAIN) from error


def _check_magic(path: Path, head: bytes) -> None:
    if head[:4] == b"GGUF":
        return
    if head.startswith(b"version https://git-lfs"):
        raise _error(
            path,
            "this is a Git LFS pointer (a short text), not the model itself",
            "Fetch it with `git lfs pull`.",
        )
    if head[8:9] == b"{":
        raise _error(path, "this is a safetensors file, whatever its name says; the judge needs GGUF", _FETCH_AGAIN)
    raise _error(path, "this is not a GGUF file", _FETCH_AGAIN)


def _parse(file: BinaryIO) -> Header:
    """The layout of the GGUF specification, versions 2 and 3, little-endian."""
    version, tensors, pairs = struct.unpack("<IQQ", _take(file, 20))
    if version not in (2, 3):
        raise EOFError(f"GGUF version {version}")
    metadata: dict[str, object] = {}
    for _ in range(pairs):
        key = _text(file)
        metadata[key] = _value(file, _number(file, "<I"))
    ends = [_tensor_end(file) for _ in range(tensors)]
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment < 1:
        raise EOFError("alignment")
    data_begins = -(-file.tell() // alignment) * alignment
    return Header(metadata, data_begins + max(ends, default=0))


def _take(file: BinaryIO, count: int) -> bytes:
    if count > _LONGEST_BYTES:
        raise EOFError
    data = file.read(count)
    if len(data) < count:
        raise EOFError
    return data


def _number(file: BinaryIO, layout: str) -> int:
    return struct.unpack(layout, _take(file, struct.calcsize(layout)))[0]


def _text(file: BinaryIO) -> str:
    return _take(file, _number(file, "<Q")).decode("utf-8", "surrogateescape")


def _value(file: BinaryIO, kind: int) -> object:
    if kind == _STRING:
        return _text(file)
    if kind == _ARRAY:
        element, count = _number(file, "<I"), _number(file, "<Q")
        return tuple(_value(file, element) for _ in range(count))
    if kind not in _SCALARS:
        raise EOFError(f"value type {kind}")
    return _number(file, _SCALARS[kind])


def _tensor_end(file: BinaryIO) -> int:
    """Where a tensor ends, counted from the beginning of the data."""
    _text(file)
    elements = 1
    for _ in range(_number(file, "<I")):
        elements *= _number(file, "<Q")
    kind, offset = _number(file, "<I"), _number(file, "<Q")
    return offset + _bytes_of(kind, elements)


def _bytes_of(kind: int, elements: int) -> int:
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

    try:
        block_elements, block_bytes = GGML_QUANT_SIZES[GGMLQuantizationType(kind)]
    except (ValueError, KeyError):
        return 0  # a weight format newer than the gguf package: llama.cpp has the last word
    return elements // block_elements * block_bytes


def _other_architecture(path: Path, header: Header, family: Family | None) -> ModelError:
    found, installed = header.architecture, importlib.metadata.version("llama-cpp-python")
    if found in ("clip", "mmproj"):
        return _error(
            path,
            "this is a vision projector (mmproj), not a language model",
            "Choose the language model's file.",
        )
    said = f"the file's architecture is {found!r} (llama-cpp-python {installed} is installed)"
    if family is None:
        return _error(
            path,
            f"{said}, and there is no judge template for it",
            f"Choose a judge of one of these families: {known_families()}.",
        )
    return _error(
        path,
        f"{said}; the judge's family {family.name!r} covers {', '.join(family.architectures)}",
        "Choose a judge of that family, or name the right family for this file in models.toml.",
    )


def _check_vocabulary(path: Path, header: Header, family: Family) -> None:
    tokens = header.metadata.get("tokenizer.ggml.tokens")
    if not isinstance(tokens, tuple) or not tokens:
        raise _error(path, "the file has no vocabulary", "Choose a complete GGUF file, not a part of one.")
    missing = [token for token in family.needed_tokens if token not in tokens]
    if missing:
        raise _error(
            path,
            f"the vocabulary lacks the chat markers {', '.join(missing)}",
            f"Choose a judge of the family {family.name}.",
        )
