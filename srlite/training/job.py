"""`srlite train`: from two paths to a finished adapter. Checks everything that can be checked before a model is loaded."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from srlite.config import Settings, merged, settings_from
from srlite.device.budget import Budget
from srlite.device.machine import measured_rates, usable_device
from srlite.device.pick import pick_preset
from srlite.files import remove_leftovers, require_space
from srlite.models.registry import registry
from srlite.models.store import find_descriptor, find_judge
from srlite.records.catalogue import Catalogue
from srlite.records.dataset import Dataset, read_dataset
from srlite.records.sides import Split
from srlite.records.split import How, default_how, split_records, unused_column
from srlite.sizing import budget_for, models_of, place_for, sliced
from srlite.training.owner import sole_owner
from srlite.training.progress import Note, Reading, Tell, silent
from srlite.video.check import refuse_unreadable
from srlite.video.pool import ClipReaders


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """What `train` leaves: the run's folder, steps taken, and which of them the adapter is. `complete`: the whole plan."""

    run: Path
    preset: str | None
    steps: int
    chosen_step: int
    validation: float | None
    complete: bool
    demonstration: bool


def training_json(done: TrainingResult) -> dict[str, object]:
    """The document of schema srlite.training/1."""
    return {
        "schema": "srlite.training/1",
        "run": str(done.run),
        "preset": done.preset,
        "steps": done.steps,
        "chosen_step": done.chosen_step,
        "validation": done.validation,
        "complete": done.complete,
        "demonstration": done.demonstration,
    }


def settings_for(preset: str | None, over: Mapping[str, object]) -> tuple[str | None, Settings]:
    """Settings of a preset (None: picked for this machine, unless both models are given) with `over` on top."""
    models = over.get("models", {})
    if preset is None and {"descriptor", "judge"} <= set(models):
        return None, settings_from(over, where="settings")
    chosen = registry().preset(preset) if preset else pick_preset()
    base = merged(chosen.settings, {"models": {"descriptor": chosen.descriptor, "judge": chosen.judge}})
    return chosen.name, settings_from(merged(base, over), where=f"preset {chosen.name}")


def how_for(data: Dataset, settings: Settings) -> How:
    """The way to split: that of the settings, else by what the records name."""
    return settings.split.how or default_how(data.records)


def split_for(data: Dataset, settings: Settings) -> Split:
    return split_records(
        data.records,
        how=how_for(data, settings),
        test_fraction=settings.split.test_fraction,
        validation_fraction=settings.split.validation_fraction,
        seed=settings.seed,
    )


def train(
    items_csv: Path,
    videos: Path,
    *,
    run: Path,
    preset: str | None = None,
    catalogue: Path | None = None,
    over: Mapping[str, object] | None = None,
    resume: bool = False,
    max_minutes: float | None = None,
    tell: Tell = silent,
) -> TrainingResult:
    """Train a descriptor's adapter from outcomes.

    items_csv, videos: the records and the folder their clips lie in. run: the folder that the run is written to. over:
    settings (nested, as in config.toml) that win over the preset's. resume: take the run up again with its own settings.
    Raises UsageError, InputError, ModelError, DeviceError; nothing of a run is lost by any of them.
    """
    deadline = None if max_minutes is None else time.monotonic() + 60 * max_minutes
    name, settings = (None, None) if resume else settings_for(preset, over or {})
    if settings:  # before the clips are looked at: a missing model is told at once
        find_descriptor(settings.models.descriptor)
        find_judge(settings.models.judge)
    data = read_dataset(items_csv, videos, catalogue)
    clips = sorted({r.clip for r in data.records})

    from srlite.training.loop import train_run
    from srlite.training.run import begin, check_place, take_up
    from srlite.workbench import open_workbench

    check_place(run, resume=resume)
    if settings:
        with ClipReaders(limit_s=settings.video.limit_s) as readers:
            refuse_unreadable(readers, [videos / clip for clip in clips], readers.probe)
    with sole_owner(run) as left:
        remove_leftovers(run)
        if resume:
            folder, split = take_up(run, data.catalogue, data.records)
            settings = folder.settings()
        else:
            split, settings = split_for(data, settings), _with_slices(settings, name, data.catalogue)
            folder = begin(run, settings, data.catalogue, split)
        heard = _logged(folder, tell)
        notes = (*data.notes, *unused_column(data.records, how_for(data, settings)), *split.report.notes)
        for note in ([left] if left else []) + [*notes]:
            heard(Note(note))
        with open_workbench(settings, folder.catalogue(), videos=videos, adapter=None) as bench:
            _begin_with(bench, folder, heard)
            _read_clips(bench, folder, clips, heard)
            trained = train_run(bench, folder, split, tell=heard, deadline=deadline)
            for note in bench.judge.notes:
                heard(Note(note))
            return TrainingResult(
                run=run,
                preset=name,
                steps=trained.last.step,
                chosen_step=trained.chosen.step,
                validation=trained.chosen.score,
                complete=trained.complete,
                demonstration=bench.demonstration,
            )


def _with_slices(settings: Settings, preset: str | None, catalogue: Catalogue) -> Settings:
    """On a card, a slice is as long as swapping the models asks for; a run keeps to what was found when it was begun."""
    if settings.schedule.slice_pairs or usable_device(settings.models.device) != "cuda":
        return settings
    models, _ = models_of(settings)
    found = budget_for(models, settings, catalogue, place_for(preset, settings))
    return sliced(settings, models, found, measured_rates("cuda"))


def _begin_with(bench, run, tell: Tell) -> None:
    """Say what is trained, and refuse a disk that the first checkpoint would not fit on before hours go into it."""
    from srlite.descriptor.load import trainable

    learnt = [p for _, p in trainable(bench.descriptor)]
    tell(Note(f"the adapter sits on {bench.descriptor.adapted} modules, all of them in the language layers"))
    for note in bench.descriptor.notes:
        tell(Note(note))
    if bench.budget:
        tell(Note(_planned(bench.budget)))
    mode = bench.settings.judge.mode
    tell(Note(f"the judge is asked in srlite's own template for {bench.judge.family.name} models, mode {mode}"))
    require_space(run.folder, 3 * sum(p.nbytes for p in learnt))  # and two moments of each for AdamW


def _planned(budget: Budget) -> str:
    peak = f"planned peak {budget.plan.peak / 1e9:.1f} GB of the card's {budget.card / 1e9:.1f} GB that are free"
    turns = "both models stay" if budget.plan.resident else "the models take turns"
    doubt = "" if budget.fits else "; it may not fit (srlite train --dry-run says what would)"
    return f"{peak}, {turns}{doubt}"


def _read_clips(bench, run, clips: Sequence[str], tell: Tell) -> None:
    """Read every clip before the first slice, and look at it once; pictures and features are kept.

    Later only see whether they are the same files.
    """
    from srlite.describing import look_at_all

    look = bench.clips.sha256 if run.checkpoints() else bench.clips.frames
    at = lambda what: lambda done, total: tell(Reading(what, done, total))
    refuse_unreadable(bench.clips.readers, [bench.path(c) for c in clips], look, tick=at("read clips"))
    run.own_clips({clip: bench.clips.sha256(bench.path(clip)) for clip in clips})
    kept = look_at_all(bench, clips, tick=at("look at clips"))
    if kept < len(clips):
        text = f"the features of {kept} of {len(clips)} clips fit into cache.features_gb"
        tell(Note(f"{text}: the others go through the vision tower once in each slice"))


def _logged(run, tell: Tell) -> Tell:
    def both(event):
        if isinstance(event, Note):
            run.log(event.text)
        tell(event)

    return both
