"""Where models and caches lie on this machine, and whether a named model is there.

SRLITE_HOME, or else the user's data folder
  models/<id>/...      what `srlite models pull` fetched
  cache/features  cache/frames  cache/verdicts.sqlite
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from srlite.errors import ModelError
from srlite.models.registry import ModelEntry, registry

BUNDLED = Path(__file__).parents[1] / "demo" / "models"


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model that is there: a folder (descriptor) or a GGUF file (judge)."""

    id: str
    path: Path
    family: str | None
    """None for a model given by path: read from its own files."""
    demonstration: bool


def home() -> Path:
    """The folder for everything that srlite keeps between runs."""
    if given := os.environ.get("SRLITE_HOME"):
        return Path(given)
    import platformdirs

    return Path(platformdirs.user_data_dir("srlite"))


def cache_folder() -> Path:
    return home() / "cache"


def find_descriptor(name: str) -> InstalledModel:
    """A descriptor by its registry name or by the path of a model folder. Raises ModelError with the remedy."""
    return _find(name, registry().descriptors.get(name), "descriptor")


def find_judge(name: str) -> InstalledModel:
    """A judge by its registry name or by the path of a GGUF file. Raises ModelError with the remedy."""
    return _find(name, registry().judges.get(name), "judge")


def installed(entry: ModelEntry) -> bool:
    return _location(entry).exists()


def _location(entry: ModelEntry) -> Path:
    if entry.bundled:
        return BUNDLED / entry.bundled
    folder = home() / "models" / entry.id
    return folder / entry.file if entry.file else folder


def _find(name: str, entry: ModelEntry | None, role: str) -> InstalledModel:
    if entry is not None:
        path = _location(entry)
        if not path.exists():
            raise ModelError(f"the {role} {name} is not installed", where=str(path), remedy=_remedy(role, entry))
        return InstalledModel(name, path, entry.family, demonstration=entry.bundled is not None)
    path = Path(name)
    if not path.exists():
        known = registry().descriptors if role == "descriptor" else registry().judges
        raise ModelError(f"there is no {role} {name!r}", remedy=f"Give a path, or one of: {', '.join(known)}.")
    return InstalledModel(path.name, path, None, demonstration=False)


def _remedy(role: str, entry: ModelEntry) -> str:
    return (
        f"Put {entry.repository} there, give your own with --{role} PATH, or try the bundled demonstration models: "
        "--preset tiny"
    )
