"""How large the chosen models are and what a run of them holds: settings and files on one side, arithmetic on the other."""

from __future__ import annotations

import json
from dataclasses import dataclass

from srlite.config import Settings
from srlite.descriptor.families import known_family
from srlite.descriptor.prompts import training_prompt
from srlite.device.budget import Budget, Models, Rates, budget, pair_cost, slice_length, swap_seconds
from srlite.device.machine import card, free_memory
from srlite.errors import ModelError
from srlite.judge.header import read_shape
from srlite.models.registry import registry
from srlite.models.shapes import Shape, shape_of_config
from srlite.models.store import InstalledModel, find_descriptor, find_judge
from srlite.records.catalogue import Catalogue

_AN_AGE = 99.5
"""Months; none takes more characters in a prompt."""


@dataclass(frozen=True, slots=True)
class Place:
    """Memory that a run may use, and in words whose it is. here: this machine's."""

    bytes: int
    words: str
    here: bool


def place_for(preset: str | None, settings: Settings) -> Place:
    """The card's memory that is free; without a card that of the card which the preset is meant for, else main memory."""
    found = card() if settings.models.device != "cpu" else None
    if found:
        return Place(found.free, f"{found.name}, {found.free / 1e9:.1f} of {found.total / 1e9:.1f} GB free", here=True)
    meant = registry().presets[preset].card_gb if preset else None
    if meant:
        return Place(round(meant * 1e9), f"a card with {meant} GB, which this machine does not have", here=False)
    return Place(free_memory(), "main memory, without a card", here=True)


def budget_for(models: Models, settings: Settings, catalogue: Catalogue, place: Place) -> Budget:
    return budget(models, settings, text_bytes=len(longest_request(catalogue).encode()), card=place.bytes)


def sliced(settings: Settings, models: Models, found: Budget, rates: Rates) -> Settings:
    """With the length of a slice in numbers: the settings' own, else by what swapping costs."""
    schedule = settings.schedule
    if schedule.slice_pairs:
        return settings
    pair_s = pair_cost(models, found.work, settings, rates).total
    length = slice_length(swap_seconds(found.plan, models), pair_s, schedule.batch_pairs)
    return settings.model_copy(update={"schedule": schedule.model_copy(update={"slice_pairs": length})})


def longest_request(catalogue: Catalogue) -> str:
    """The longest text that a descriptor is asked with."""
    texts = (training_prompt(i, _AN_AGE, w) for i in catalogue.values() for w in range(1 + len(i.paraphrases)))
    return max(texts, key=lambda text: len(text.encode()))


def models_of(settings: Settings) -> tuple[Models, tuple[str, ...]]:
    """Sizes of the two models, from their files or, where they are not installed, from the registry; and those not installed.

    Raises ModelError for a model that is neither.
    """
    missing: list[str] = []
    shape = _descriptor_shape(settings.models.descriptor, missing)
    judge = registry().judges.get(settings.models.judge)
    try:
        path = find_judge(settings.models.judge).path
    except ModelError:
        if judge is None or judge.shape is None:
            raise
        missing.append(judge.id)
        return Models(shape, judge.download_bytes, judge.shape.text), tuple(missing)
    return Models(shape, path.stat().st_size, read_shape(path)), tuple(missing)


def _descriptor_shape(name: str, missing: list[str]) -> Shape:
    entry = registry().descriptors.get(name)
    try:
        return installed_shape(find_descriptor(name))
    except ModelError:
        if entry is None or entry.shape is None:
            raise
        missing.append(entry.id)
        return entry.shape


def installed_shape(model: InstalledModel) -> Shape:
    """Of a descriptor's own config.json. Raises ModelError."""
    path = model.path / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        return shape_of_config(config, known_family(config["model_type"], str(model.path)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"the configuration cannot be read: {error}", where=str(path), remedy="Fetch the model again."
        ) from None
