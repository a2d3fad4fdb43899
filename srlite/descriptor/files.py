"""The weight files of a model folder, and their hashes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from srlite.errors import ModelError

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
BLOCK_BYTES = 1 << 22


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


def weights_sha256(files: tuple[Path, ...]) -> str:
    """Hex sha256 of one file, or of the lines `<sha256>  <name>` of several (the output of sha256sum)."""
    hashes = [_file_sha256(path) for path in files]
    if len(files) == 1:
        return hashes[0]
    lines = "".join(f"{digest}  {path.name}\n" for digest, path in zip(hashes, files, strict=True))
    return hashlib.sha256(lines.encode()).hexdigest()


def _file_sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
