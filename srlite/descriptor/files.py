"""The weight files of a model folder, and their hashes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from srlite.errors import ModelError
from srlite.files import file_sha256

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
_LONGEST_HEAD = 100_000_000  # what the safetensors library admits


def weight_files(folder: Path) -> tuple[Path, ...]:
    """The safetensors files of a model folder, sorted by name.

    Raises ModelError when the folder, its config.json or a weight file is missing, or only pickles are there.
    """
    if not (folder / "config.json").is_file():
        raise ModelError("not a model folder: there is no config.json", where=str(folder), remedy=_FETCH)
    index = folder / INDEX
    names = _indexed(index) if index.is_file() else [SINGLE]
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise ModelError(f"weights are missing: {', '.join(missing)}", where=str(folder), remedy=_FETCH)
    for name in names:
        _check_size(folder / name)
    return tuple(folder / name for name in names)


_FETCH = "Fetch the model again (srlite models pull). Only safetensors files are read."


def _indexed(index: Path) -> list[str]:
    try:
        names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    except (ValueError, KeyError, AttributeError) as error:
        message = f"the index of the weights cannot be read: {error}"
        raise ModelError(message, where=str(index), remedy=_FETCH) from error
    # a name with a folder in it could point outside the model
    if any(Path(name).name != name for name in names):
        raise ModelError("the index names weights outside the folder", where=str(index), remedy=_FETCH)
    return sorted(names)


def _check_size(path: Path) -> None:
    """A safetensors file says in its head how long it is: 8 bytes, the head's length; the head, JSON; the tensors."""
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            head = json.loads(stream.read(min(length, _LONGEST_HEAD)))
        said = 8 + length + max(t["data_offsets"][1] for name, t in head.items() if name != "__metadata__")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError("this is not a whole safetensors file", where=str(path), remedy=_FETCH) from error
    if (size := path.stat().st_size) != said:
        raise ModelError(f"the file has {size:,} bytes where it should have {said:,}", where=str(path), remedy=_FETCH)


def weights_sha256(files: tuple[Path, ...]) -> str:
    """Hex sha256 of one file, or of the lines `<sha256>  <name>` of several (the output of sha256sum)."""
    hashes = [file_sha256(path) for path in files]
    if len(files) == 1:
        return hashes[0]
    lines = "".join(f"{digest}  {path.name}\n" for digest, path in zip(hashes, files, strict=True))
    return hashlib.sha256(lines.encode()).hexdigest()
