"""Which presets have their models, and which fit."""

from __future__ import annotations

from collections.abc import Iterator

from srlite.config import settings_from
from srlite.doctor.findings import Finding
from srlite.models.registry import ModelEntry, Preset, registry
from srlite.models.store import State, installed, state
from srlite.records.dataset import catalogue_of
from srlite.sizing import Place, budget_for, models_of, place_for
from srlite.training.job import settings_for

GB = 1e9
PROBED_WITH, FRAMES = ("qwen3-vl-4b", "qwen3-8b"), 16
"""Beside what a single model is looked at, and how many frames of a clip."""


def look_at_models(place: Place | None = None) -> Iterator[Finding]:
    """Every preset for a card, on the memory that is here or on that of the card that it is meant for."""
    known = registry()
    for preset in known.presets.values():
        entries = (known.descriptors[preset.descriptor], known.judges[preset.judge])
        missing = [entry.id for entry in entries if not installed(entry)]
        damaged = [entry.id for entry in entries if state(entry) is State.INCOMPLETE]
        words = f"{preset.descriptor} with {preset.judge}{_fit(preset, place)}"
        if damaged:
            yield Finding(f"preset {preset.name}", "fault", f"{words}; incomplete: {', '.join(damaged)}", _pull(preset))
        elif missing:
            yield Finding(f"preset {preset.name}", "note", f"{words}; not installed: {', '.join(missing)}", _pull(preset))
        else:
            yield Finding(f"preset {preset.name}", "ok", f"{words}; installed")


def _pull(preset: Preset) -> str:
    return f"srlite models pull --preset {preset.name}"


def _fit(preset: Preset, place: Place | None) -> str:
    if preset.card_gb is None:
        return ""
    settings = settings_for(preset.name, {})[1]
    where = place or place_for(preset.name, settings)
    found = budget_for(models_of(settings)[0], settings, catalogue_of(None), where)
    verdict = "fits" if found.fits else "does not fit"
    return f": peak {found.plan.peak / GB:.1f} GB, {verdict} into {where.bytes / GB:.1f} GB ({where.words})"


def fits_by_model(place: Place) -> dict[str, str]:
    """For every model of the registry, in its own turns and 4 bit: does it fit, and what it takes at its peak."""
    found = {}
    for entry in (*registry().descriptors.values(), *registry().judges.values()):
        if entry.shape:
            peak = _peak_alone(entry)
            found[entry.id] = f"{'yes' if peak <= place.bytes else 'no'}, {peak / GB:.1f} GB"
    return found


def _peak_alone(entry: ModelEntry) -> int:
    names = {"descriptor": PROBED_WITH[0], "judge": PROBED_WITH[1]} | {entry.role: entry.id}
    models = {**names, "quantise": True, "turns": "swapped"}
    settings = settings_from({"models": models, "video": {"frames": FRAMES}}, where="the registry")
    plan = budget_for(models_of(settings)[0], settings, catalogue_of(None), Place(0, "none", here=False)).plan
    mine = lambda phase: (phase == "judge") == (entry.role == "judge")
    return max(peak for phase, peak in plan.peaks.items() if mine(phase))
