"""models.toml read: which descriptors, judges and presets there are. What is installed is the business of store.py."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from srlite.errors import UsageError
from srlite.models.shapes import Shape, shape_from


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model of the registry. `bundled` is its name inside the package; others come from `repository`.

    shape: None for the bundled models, whose own files say it. bytes: about what a judge's file takes.
    """

    id: str
    role: str  # "descriptor" or "judge"
    family: str
    licence: str
    repository: str | None = None
    file: str | None = None
    bundled: str | None = None
    bytes: int | None = None
    shape: Shape | None = None

    @property
    def download_bytes(self) -> int | None:
        """About what is to be fetched: a judge's file, or a descriptor's parameters in 16 bit. None for a bundled model."""
        return self.bytes or (2 * self.shape.parameters if self.shape else None)


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


def _path() -> Path:
    inside = Path(__file__).with_name("models.toml")  # in a wheel
    return inside if inside.exists() else Path(__file__).parents[2] / "models.toml"  # in a checkout


@cache
def registry() -> Registry:
    """The registry of this installation."""
    table = tomllib.loads(_path().read_text(encoding="utf-8"))
    entries = {
        role: {name: _entry(name, role, entry) for name, entry in table[f"{role}s"].items()} for role in ("descriptor", "judge")
    }
    presets = {
        name: Preset(name, p["descriptor"], p["judge"], p.get("card_gb"), p.get("settings", {}))
        for name, p in table["presets"].items()
    }
    return Registry(entries["descriptor"], entries["judge"], presets)


def _entry(name: str, role: str, entry: Mapping) -> ModelEntry:
    shape = shape_from(entry["shape"]) if "shape" in entry else None
    return ModelEntry(id=name, role=role, **{**entry, "shape": shape})
