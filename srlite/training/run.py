"""A run on disk: what it holds, how it is begun, how it is taken up again.

    config.toml  catalogue.toml  split.csv  clips.json  lock.json  log.txt  metrics.jsonl
    rounds/001/0001/{rollouts.jsonl, rewards.jsonl}     round 1, slice 1
    checkpoints/001-0001-000008/{adapter_model.safetensors, adapter_config.json, optimiser.safetensors, state.json, DONE}
                                                      round, slice, steps: a slice without signal takes no step
    adapter/                                          the checkpoint that the validation part chose; its presence: finished
    evaluation.json  reviews.jsonl  purged.json

All paths inside are relative, so a run may be moved. Files are for their owner only. A checkpoint is written beside its
place and renamed when complete; DONE is its last file. The newest is kept whole, of those before it only the adapters that
were validated. One process at a time (owner.py).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save

from srlite.commands import to_resume
from srlite.config import Settings, read_settings, settings_toml
from srlite.descriptor.load import Descriptor, load_adapter, save_adapter, trainable
from srlite.descriptor.prompts import prompts_hash
from srlite.errors import InputError, ModelError, UsageError
from srlite.files import append_private, file_sha256, private_folder, require_space, sync_folder, write_private
from srlite.judge.questions import questions_hash
from srlite.records.catalogue import Catalogue, read_catalogue, write_catalogue
from srlite.records.sides import Split
from srlite.records.split import items_on, read_split, write_split
from srlite.training.kept import Lock, read_lock, read_metrics
from srlite.training.purged import explained, refuse_resuming
from srlite.types import Record
from srlite.workbench import Workbench

_SMALL_FILES = 1_000_000
"""Bytes for what a checkpoint holds besides tensors, generously."""


@dataclass(frozen=True, slots=True)
class State:
    """Where a run stands after a slice. `score` is the validation score, on slices that end a round, and `score_error` its
    standard error.

    sampled_at_once, learnt_at_once: descriptions in one row, where memory was too short for those of the settings.
    """

    step: int
    round: int
    slice: int
    score: float | None = None
    score_error: float = 0.0
    sampled_at_once: int | None = None
    learnt_at_once: int | None = None

    @property
    def name(self) -> str:
        return f"{self.round:03d}-{self.slice:04d}-{self.step:06d}"


def lock_of(bench: Workbench, threads: int) -> Lock:
    """The lock of a run that is begun with this workbench."""
    return Lock(
        bench.descriptor_model.id,
        bench.descriptor.base_sha256,
        bench.judge_model.id,
        bench.judge.sha256,
        questions_hash(),
        prompts_hash(),
        bench.demonstration,
        threads,
    )


@dataclass(frozen=True, slots=True)
class Run:
    """A run folder; every method reads or writes files in it and nothing else."""

    folder: Path

    @property
    def adapter(self) -> Path:
        return self.folder / "adapter"

    def adapter_sha256(self) -> str:
        return file_sha256(self.adapter / "adapter_model.safetensors")

    @property
    def finished(self) -> bool:
        return self.adapter.is_dir()

    def settings(self) -> Settings:
        return read_settings(self.folder / "config.toml")

    def catalogue(self) -> Catalogue:
        return read_catalogue(self.folder / "catalogue.toml")

    def split(self, records: Sequence[Record]) -> Split:
        """Raises InputError when the records are not those that were split, or those of them that were not purged."""
        try:
            return read_split(self.folder / "split.csv", records)
        except InputError as error:
            raise explained(self.folder, error) from None

    def items_trained(self) -> frozenset[str]:
        """Codes of the items with a record in the training part. Raises InputError when split.csv cannot be read."""
        return items_on(self.folder / "split.csv", "train")

    def lock(self) -> Lock:
        return read_lock(self.folder / "lock.json")

    def write_lock(self, lock: Lock) -> None:
        write_private(self.folder / "lock.json", json.dumps(asdict(lock), indent=2) + "\n")

    def own_clips(self, sha256: Mapping[str, str]) -> None:
        """Write down the clips' hashes, or compare them with those written. Raises InputError naming changed clips."""
        path = self.folder / "clips.json"
        if not path.exists():
            write_private(path, json.dumps(dict(sorted(sha256.items())), indent=0) + "\n")
            return
        then = json.loads(path.read_text(encoding="utf-8"))
        if changed := sorted(clip for clip, digest in sha256.items() if then.get(clip) != digest):
            raise InputError(
                f"{len(changed)} clips are other files than when the run was begun: {', '.join(changed[:5])}",
                where=str(self.folder),
                remedy="Restore the clips, or begin a new run.",
            )

    def slice_folder(self, round_: int, slice_: int) -> Path:
        return self.folder / "rounds" / f"{round_:03d}" / f"{slice_:04d}"

    def log(self, text: str) -> None:
        append_private(self.folder / "log.txt", text + "\n")

    def add_metrics(self, figures: Mapping[str, object]) -> None:
        append_private(self.folder / "metrics.jsonl", json.dumps(figures, allow_nan=False) + "\n")

    def metrics(self) -> list[dict[str, object]]:
        return read_metrics(self.folder / "metrics.jsonl")

    def keep_metrics_until(self, state: State) -> None:
        """Drop the lines of slices after `state`: they will be written again."""
        if not (self.folder / "metrics.jsonl").exists():
            return
        kept = [m for m in self.metrics() if (m["round"], m["slice"]) <= (state.round, state.slice)]
        write_private(self.folder / "metrics.jsonl", "".join(json.dumps(m, allow_nan=False) + "\n" for m in kept))

    # ---- checkpoints ---------------------------------------------------------------------------------------------

    def checkpoints(self) -> list[tuple[State, Path]]:
        """Complete ones, oldest first."""
        folders = [p.parent for p in (self.folder / "checkpoints").glob("[!.]*/DONE")]
        found = [(State(**json.loads((f / "state.json").read_text(encoding="utf-8"))), f) for f in folders]
        return sorted(found, key=lambda c: (c[0].round, c[0].slice))

    def save_checkpoint(self, descriptor: Descriptor, optimiser: torch.optim.Optimizer, state: State) -> Path:
        """Raises DeviceError when the disk is full, before anything is written; earlier checkpoints are untouched."""
        tensors = _optimiser_tensors(descriptor, optimiser)
        learnt = [p for _, p in trainable(descriptor)]
        require_space(self.folder, sum(t.nbytes for t in (*tensors.values(), *learnt)) + _SMALL_FILES)
        place = self.folder / "checkpoints" / state.name
        beside = place.with_name(f".{place.name}.part")
        shutil.rmtree(beside, ignore_errors=True)
        private_folder(beside)
        save_adapter(descriptor, beside)
        write_private(beside / "optimiser.safetensors", save(tensors))
        write_private(beside / "state.json", json.dumps(asdict(state)) + "\n")
        write_private(beside / "DONE", "")
        shutil.rmtree(place, ignore_errors=True)
        os.replace(beside, place)
        sync_folder(place.parent)
        self._prune()
        return place

    def write_state(self, state: State) -> None:
        """Put a validation score into the checkpoint of that state."""
        write_private(self.folder / "checkpoints" / state.name / "state.json", json.dumps(asdict(state)) + "\n")

    def _prune(self) -> None:
        """Of all but the newest checkpoint keep only adapters that were validated."""
        for state, folder in self.checkpoints()[:-1]:
            if state.score is None:
                (folder / "DONE").unlink()  # first: a half-deleted checkpoint is none
                shutil.rmtree(folder)
            else:
                (folder / "optimiser.safetensors").unlink(missing_ok=True)

    def restore(self, descriptor: Descriptor, optimiser: torch.optim.Optimizer) -> State | None:
        """Put the newest complete checkpoint into the descriptor and the optimiser."""
        found = self.checkpoints()
        if not found:
            return None
        state, folder = found[-1]
        load_adapter(descriptor, folder)
        _load_optimiser(descriptor, optimiser, load_file(folder / "optimiser.safetensors"))
        return state

    def finish(self) -> State:
        """Make the newest checkpoint whose validation score is within one standard error of the best the adapter.

        With a few validation children the best score is often luck, and an early one: what was learnt longer is as good as
        can be told (the one-standard-error rule of Breiman et al. 1984, for rounds). Without scores the newest of all.
        """
        found = self.checkpoints()
        if not found:
            raise ModelError(
                "the run has no checkpoint yet",
                where=str(self.folder),
                remedy="Train longer: srlite train ... --resume",
            )
        state, folder = _as_good_as_the_best(found)
        beside = self.folder / ".adapter.part"
        shutil.rmtree(beside, ignore_errors=True)
        private_folder(beside)
        for path in folder.glob("adapter_*"):
            write_private(beside / path.name, path.read_bytes())
        shutil.rmtree(self.adapter, ignore_errors=True)
        os.replace(beside, self.adapter)
        sync_folder(self.folder)
        return state


def check_place(folder: Path, *, resume: bool) -> None:
    """Before anything is written: a new run needs an empty or missing folder, a resumed one a folder with a run in it.

    Raises UsageError or InputError.
    """
    if resume and not (folder / "config.toml").is_file():
        raise InputError("there is no run to resume here", where=str(folder), remedy="Leave out --resume to begin one.")
    if not resume and folder.exists() and not folder.is_dir():
        raise UsageError("this is a file, not a folder", where=str(folder), remedy="Give another --run DIR.")
    if not resume and folder.exists() and _occupied(folder):
        raise UsageError(
            "the run folder is not empty",
            where=str(folder),
            remedy="Give another --run DIR, or take up the run that is there with --resume.",
        )


def _occupied(folder: Path) -> bool:
    """Anything there but what a run that was killed while it began has left? Its lock shows that the rest is its own."""
    names = {path.name for path in folder.iterdir()}
    return bool(names - {".lock", ".owner", "catalogue.toml", "split.csv"} if ".lock" in names else names)


def begin(folder: Path, settings: Settings, catalogue: Catalogue, split: Split) -> Run:
    """A new run in an empty or missing folder. Raises UsageError when something else is there."""
    check_place(folder, resume=False)
    run = Run(private_folder(folder))
    write_catalogue(catalogue, folder / "catalogue.toml")
    write_split(split, folder / "split.csv")
    write_private(folder / "config.toml", settings_toml(settings))  # last: with it the run has begun
    return run


def take_up(folder: Path, catalogue: Catalogue, records: Sequence[Record]) -> tuple[Run, Split]:
    """A run to be resumed. Raises InputError when it is none, or when records or item texts have changed or gone since."""
    check_place(folder, resume=True)
    refuse_resuming(folder)
    run = Run(folder)
    kept = run.catalogue()
    changed = [code for code in kept if code not in catalogue or kept[code] != catalogue[code]]
    if changed:
        raise InputError(
            f"the text of item {', '.join(changed[:5])} has changed since the run was begun",
            where=str(folder),
            remedy="Restore the text, or begin a new run.",
        )
    return run, run.split(records)


def own(run: Run, bench: Workbench, threads: int) -> int:
    """Write the lock of a fresh run, or check that of an old one; the threads that the run was begun with."""
    if not (run.folder / "lock.json").exists() and not run.checkpoints():
        run.write_lock(lock_of(bench, threads))
    check_lock(run, bench)
    return run.lock().threads


def check_lock(run: Run, bench: Workbench) -> None:
    """The models and texts of the workbench must be those that the run was made with. Raises ModelError."""
    then = run.lock()
    now = lock_of(bench, then.threads)
    changed = [name for name in asdict(now) if getattr(now, name) != getattr(then, name)]
    if changed:
        raise ModelError(
            f"{', '.join(changed)} differ from what the run was made with",
            where=str(run.folder),
            remedy="Use the same models (see lock.json of the run), or begin a new run.",
        )


def finished_run(folder: Path) -> Run:
    """The run in the folder. Raises ModelError when there is none, or when it has no adapter yet."""
    if not (folder / "config.toml").is_file():
        raise ModelError("there is no run here", where=str(folder), remedy="Train one: srlite train ITEMS_CSV VIDEOS --run DIR")
    if not Run(folder).finished:
        remedy = f"Go on with it: {to_resume(folder)}"
        raise ModelError("this run is not finished: it has no adapter yet", where=str(folder), remedy=remedy)
    return Run(folder)


def newest_finished(root: Path) -> Run:
    """The run under `root` whose adapter is newest. Raises ModelError (exit 4) with the command that makes one."""
    runs = [Run(p.parent) for p in root.glob("*/adapter") if p.is_dir()]
    if not runs:
        raise ModelError(
            "there is no finished run",
            where=str(root),
            remedy="Train one:  srlite train ITEMS_CSV VIDEOS\nor name one: --run DIR",
        )
    return max(runs, key=lambda r: (r.adapter.stat().st_mtime, r.folder.name))


def _as_good_as_the_best(checkpoints: Sequence[tuple[State, Path]]) -> tuple[State, Path]:
    scored = [c for c in checkpoints if c[0].score is not None]
    if not scored:
        return checkpoints[-1]
    best = max((state for state, _ in scored), key=lambda state: state.score)
    return max((c for c in scored if c[0].score >= best.score - best.score_error), key=lambda c: c[0].step)


def _optimiser_tensors(descriptor: Descriptor, optimiser: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    state = {name: optimiser.state.get(p, {}) for name, p in trainable(descriptor)}
    return {f"{name}/{key}": value.detach().cpu().contiguous() for name, s in state.items() for key, value in s.items()}


def _load_optimiser(descriptor: Descriptor, optimiser: torch.optim.Optimizer, tensors: Mapping[str, torch.Tensor]) -> None:
    """Raises ModelError when the state kept is not that of exactly these parameters (or of none: no step was taken)."""
    names = {name for name, _ in trainable(descriptor)}
    if tensors and {key.rpartition("/")[0] for key in tensors} != names:
        raise ModelError(
            "the optimiser's state belongs to other parameters than the adapter has now",
            remedy="Resume with the versions of peft and transformers that the run was begun with.",
        )
    for name, parameter in trainable(descriptor):
        for key in ("step", "exp_avg", "exp_avg_sq") if tensors else ():
            value = tensors[f"{name}/{key}"]
            optimiser.state[parameter][key] = value if key == "step" else value.to(parameter.device)
