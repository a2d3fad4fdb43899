"""models.toml read: which descriptors, judges and presets there are. What is installed is the business of store.py."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from srlite.errors import UsageError
from srlite.models.shapes import Shape, shape_from


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model of the registry. `bundled` is its name inside the package; others come from `repository`.

    files: patterns of the names that belong to it, all in one folder. file: a judge's only one. revision: what is pulled where
    nothing else is asked for. shape: None for the bundled models, whose own files say it. bytes: about what a judge's file
    takes.
    """

    id: str
    role: str  # "descriptor" or "judge"
    family: str
    licence: str
    files: tuple[str, ...] = ()
    repository: str | None = None
    revision: str = "main"
    file: str | None = None
    bundled: str | None = None
    bytes: int | None = None
    shape: Shape | None = None

    @property
    def download_bytes(self) -> int | None:
        """About what is to be fetched: a judge's file, or a descriptor's parameters in 16 bit. None for a bundled model."""
        return self.bytes or (2 * self.shape.parameters if self.shape else None)

    def owns(self, name: str) -> bool:
        """Whether a file of this name, without a folder, belongs to the model."""
        return name == Path(name).name and "\\" not in name and any(fnmatchcase(name, pattern) for pattern in self.files)


@dataclass(frozen=True, slots=True)
class Preset:
    """A working pair and the settings that go with it. `card_gb` None: chosen by name only."""

    name: str
    descriptor: str
    judge: str
    card_gb: int | None
    settings: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Registry:
    descriptors: Mapping[str, ModelEntry]
    judges: Mapping[str, ModelEntry]
    presets: Mapping[str, Preset]

    def preset(self, name: str) -> Preset:
        if name not in self.presets:
            raise UsageError(f"there is no preset {name!r}", remedy=f"Presets: {', '.join(self.presets)}.")
        return self.presets[name]

    @property
    def published(self) -> Mapping[str, ModelEntry]:
        """What is fetched from a hub, by name. Descriptors and judges share no name there."""
        return {e.id: e for e in (*self.descriptors.values(), *self.judges.values()) if not e.bundled}

    def model(self, name: str) -> ModelEntry:
        """One of `published`. Raises UsageError."""
        if name in self.published:
            return self.published[name]
        if name in self.descriptors or name in self.judges:
            raise UsageError(f"{name} comes with srlite: there is nothing to fetch, check or copy")
        raise UsageError(f"there is no model {name!r}", remedy=f"Models: {', '.join(self.published)}.")

    def presets_with(self, name: str) -> tuple[str, ...]:
        """Names of the presets that use this model."""
        return tuple(p.name for p in self.presets.values() if name in (p.descriptor, p.judge))


def _path() -> Path:
    inside = Path(__file__).with_name("models.toml")  # in a wheel
    return inside if inside.exists() else Path(__file__).parents[2] / "models.toml"  # in a checkout


@cache
def registry() -> Registry:
    """The registry of this installation."""
    table = tomllib.loads(_path().read_text(encoding="utf-8"))
    presets = {
        name: Preset(name, p["descriptor"], p["judge"], p.get("card_gb"), p.get("settings", {}))
        for name, p in table["presets"].items()
    }
    return Registry(_entries(table, "descriptor"), _entries(table, "judge"), presets)


def _entries(table: Mapping, role: str) -> dict[str, ModelEntry]:
    named, files = table[f"{role}s"], table["files"].get(role, ())
    return {name: _entry(name, role, {**named.get(entry.get("like"), {}), **entry}, files) for name, entry in named.items()}


def _entry(name: str, role: str, entry: Mapping, files: Sequence[str]) -> ModelEntry:
    fields = {key: value for key, value in entry.items() if key != "like"}
    if "shape" in fields:
        fields["shape"] = shape_from(fields["shape"])
    return ModelEntry(id=name, role=role, files=(entry["file"],) if "file" in entry else tuple(files), **fields)
