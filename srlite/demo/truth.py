"""What the clips of a demonstration data set show, kept beside its items.csv, and whether descriptions are true of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from srlite.demo.grammar import is_true
from srlite.demo.world import DrawnChild, Scene
from srlite.files import write_private
from srlite.types import Pair

SCENES = "scenes.json"
Scenes = Mapping[str, Scene]
"""Clip -> what it shows."""


def write_scenes(scenes: Scenes, folder: Path) -> None:
    write_private(folder / SCENES, json.dumps({clip: asdict(s) for clip, s in scenes.items()}, indent=0) + "\n")


def read_scenes(items_csv: Path) -> Scenes:
    """The scenes beside an items.csv; empty for clips of the real world."""
    path = items_csv.with_name(SCENES)
    if not path.is_file():
        return {}
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        return {clip: Scene(**{**s, "child": _child(s["child"])}) for clip, s in table.items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}  # somebody else's file of that name


def _child(fields: dict) -> DrawnChild:
    return DrawnChild(**{name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()})


def true_of(scenes: Scenes, pair: Pair, description: str) -> bool:
    return is_true(description, scenes[pair.clip], pair.item)
