"""`srlite train --dry-run`: what a run would do, hold in memory, leave on the disk, and take in time. No model is loaded."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from srlite.config import Settings, merged, settings_from
from srlite.device.budget import (
    Budget,
    Models,
    PairCost,
    Rates,
    assess_cost,
    clip_tokens,
    number_bytes,
    pair_cost,
    suggested_rate,
    swap_seconds,
)
from srlite.device.machine import measured_rates, usable_device
from srlite.device.memory import SINGLE
from srlite.files import free_bytes
from srlite.models.registry import registry
from srlite.models.shapes import ADAPTER_RANK, Shape
from srlite.models.store import cache_folder
from srlite.records.dataset import Dataset, read_dataset
from srlite.records.sides import Split
from srlite.sizing import Place, budget_for, models_of, place_for, sliced
from srlite.training.job import settings_for, split_for
from srlite.training.schedule import Slice, planned_steps, slices

COUNTED_ON, COUNTED = "an RTX 3060, by count", Rates(operations=25e12, bytes=360e9)
"""Where the machine lacks the card that a preset is meant for: its maker's figures (bfloat16 products, memory)."""


@dataclass(frozen=True, slots=True)
class Disk:
    """Bytes that a run wants: for the clips' frames, as they are before compression, and features; for the run itself."""

    frames: int
    features: int
    run: int
    free: int


@dataclass(frozen=True, slots=True)
class RunPlan:
    """missing: models that are not installed. place: the memory that the budget is for. sooner: settings that make it shorter,
    each by itself, and the seconds that the run takes then."""

    preset: str | None
    settings: Settings
    missing: tuple[str, ...]
    data: Dataset
    split: Split
    slices: tuple[Slice, ...]
    steps: int
    budget: Budget
    place: Place
    cost: PairCost
    assess_s: float
    swap_s: float
    rates: Rates
    disk: Disk
    sooner: tuple[tuple[str, float], ...]

    @property
    def seconds(self) -> float:
        return _seconds(self.slices, self.cost, self.swap_s)


def plan_run(
    items_csv: Path, videos: Path, *, preset: str | None, catalogue: Path | None, over: Mapping[str, object]
) -> RunPlan:
    """Everything is checked that `train` checks before it loads a model, but whether the models are installed."""
    name, settings = settings_for(preset, over)
    data = read_dataset(items_csv, videos, catalogue)
    split = split_for(data, settings)
    models, missing = models_of(settings)
    place = place_for(name, settings)
    rates = measured_rates(usable_device(settings.models.device)) if place.here else COUNTED
    found = budget_for(models, settings, data.catalogue, place)
    settings = sliced(settings, models, found, rates)
    parts = slices(split.train, data.records, data.catalogue, settings)
    return RunPlan(
        preset=name,
        settings=settings,
        missing=missing,
        data=data,
        split=split,
        slices=parts,
        steps=planned_steps(parts, settings),
        budget=found,
        place=place,
        cost=pair_cost(models, found.work, settings, rates),
        assess_s=assess_cost(models, found.work, settings, rates),
        swap_s=swap_seconds(found.plan, models),
        rates=rates,
        disk=_disk(models.descriptor, settings, data, parts),
        sooner=tuple(_sooner(settings, models, data, parts, place, rates)),
    )


def _seconds(parts: Sequence[Slice], cost: PairCost, swap_s: float) -> float:
    return sum(len(part.pairs) for part in parts) * cost.total + len(parts) * swap_s


def _sooner(
    settings: Settings, models: Models, data: Dataset, parts: Sequence[Slice], place: Place, rates: Rates
) -> Iterator[tuple[str, float]]:
    """Half as many rounds, frames, or descriptions of a pair."""
    for part, name in (("schedule", "rounds"), ("video", "frames"), ("sampling", "group")):
        half = getattr(getattr(settings, part), name) // 2
        if half < (2 if name == "group" else 1):
            continue
        less = settings_from(merged(settings.model_dump(), {part: {name: half}}), where="the plan")
        found = budget_for(models, less, data.catalogue, place)
        left = [p for p in parts if p.round <= less.schedule.rounds]
        cost = pair_cost(models, found.work, less, rates)
        yield f"{part}.{name} = {half}", _seconds(left, cost, swap_seconds(found.plan, models))


def _disk(shape: Shape, settings: Settings, data: Dataset, parts: tuple[Slice, ...]) -> Disk:
    clips = len({r.clip for r in data.records})
    video, cache = settings.video, settings.cache
    tokens = clip_tokens(shape.vision, video.frames, video.max_pixels)
    features = clips * tokens * shape.vision.features_per_token() * number_bytes(settings)
    adapter = SINGLE * shape.text.adapter_parameters(ADAPTER_RANK)
    described = sum(len(part.pairs) for part in parts) * settings.sampling.group
    return Disk(
        frames=min(clips * video.frames * video.max_pixels * 3, round(cache.frames_gb * 1e9)),
        features=min(features, round(cache.features_gb * 1e9)),
        # one adapter a round, the newest with its two moments and its successor beside it, and the rollouts
        run=adapter * (settings.schedule.rounds + 1 + 2 * 3) + described * settings.sampling.max_new_tokens * 30,
        free=free_bytes(cache_folder()),
    )


def short_name(name: str, known: Collection[str]) -> str:
    """A model of the registry by its name, another by that of its file or folder."""
    return name if name in known else Path(name).name


def plan_json(plan: RunPlan) -> dict[str, object]:
    """The document of schema srlite.plan/1."""
    s, memory, cost = plan.settings, plan.budget.plan, plan.cost
    return {
        "schema": "srlite.plan/1",
        "preset": plan.preset,
        "descriptor": short_name(s.models.descriptor, registry().descriptors),
        "judge": short_name(s.models.judge, registry().judges),
        "not_installed": list(plan.missing),
        "records": len(plan.data.records),
        "train": len(plan.split.train),
        "validation": len(plan.split.validation),
        "test": len(plan.split.test),
        "pairs_a_round": sum(len(p.pairs) for p in plan.slices if p.round == 1),
        "rounds": s.schedule.rounds,
        "slices": len(plan.slices),
        "slice_pairs": s.schedule.slice_pairs,
        "optimiser_steps_at_most": plan.steps,
        "learning_rate": s.schedule.learning_rate,
        "learning_rate_suggested": suggested_rate(plan.steps),
        "prompt_tokens_at_most": plan.budget.work.prompt,
        "memory": {
            "on": plan.place.words,
            "available": plan.budget.card,
            "turns": "resident" if memory.resident else "swapped",
            "rest": dict(memory.rest),
            "phases": {name: dict(terms) for name, terms in memory.phases.items()} | {"judge": memory.judge.terms},
            "peaks": memory.peaks,
            "peak": memory.peak,
            "parked": memory.parked,
            "fits": plan.budget.fits,
            "would_fit": [{"change": change, "peak": peak} for change, peak in plan.budget.would_fit],
        },
        "disk": {name: getattr(plan.disk, name) for name in ("frames", "features", "run", "free")},
        "time": {
            "on": "this machine" if plan.place.here else COUNTED_ON,
            "hours": plan.seconds / 3600,
            "sooner": [{"change": change, "hours": seconds / 3600} for change, seconds in plan.sooner],
            "swap_s": plan.swap_s,
            "swap_share": len(plan.slices) * plan.swap_s / plan.seconds,
            "assess_s": plan.assess_s,
            "seconds_a_pair": {name: getattr(cost, name) for name in ("sample", "judge", "reference", "update")},
            "operations_a_second": plan.rates.operations,
            "bytes_a_second": plan.rates.bytes,
        },
    }
