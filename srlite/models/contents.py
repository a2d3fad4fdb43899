"""What has to be in a model's folder for it to be a model: said of names before anything is fetched or copied."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from srlite.errors import ModelError
from srlite.models.registry import ModelEntry

CONFIG = "config.json"
SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"


def check_names(entry: ModelEntry, names: Collection[str], where: str) -> None:
    """Raises ModelError when the names hold no complete model: a judge's file, or a configuration and safetensors."""
    needed = (entry.file,) if entry.file else (CONFIG,)
    if missing := [name for name in needed if name not in names]:
        raise _lacks(f"there is no {', '.join(missing)}", where)
    if not entry.file and INDEX not in names and SINGLE not in names:
        raise _lacks(f"there are no safetensors weights ({SINGLE} or {INDEX})", where)


def check_index(index: Path, names: Collection[str], where: str) -> None:
    """Raises ModelError when the index names weights that are not there."""
    try:
        named = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise _lacks(f"the index of the weights cannot be read: {error}", where) from error
    if missing := sorted(str(name) for name in named if name not in names):
        raise _lacks(f"weights that the index names are missing: {', '.join(missing)}", where)


def _lacks(what: str, where: str) -> ModelError:
    return ModelError(
        f"{what}: this is no complete model",
        where=where,
        remedy="Nothing was installed. Try another revision (ID@REVISION), or report it where the model is published.",
    )
