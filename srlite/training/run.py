"""A run on disk: what it holds, how it is begun, how it is taken up again.

    config.toml  catalogue.toml  split.csv  lock.json  log.txt  metrics.jsonl
    rounds/001/01/{rollouts.jsonl, rewards.jsonl}     round 1, slice 1
    checkpoints/000120/{adapter_model.safetensors, adapter_config.json, optimiser.safetensors, state.json, DONE}
    adapter/                                          the checkpoint that the validation part chose; its presence: finished
    evaluation.json

All paths inside are relative, so a run may be moved. Files are for their owner only. A checkpoint is written beside its
place and renamed when complete; DONE is its last file. One process at a time: `.lock` is held while training.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save

from srlite.config import Settings, read_settings, settings_toml
from srlite.descriptor.load import Descriptor, load_adapter, save_adapter, trainable
from srlite.errors import InputError, ModelError, UsageError
from srlite.files import append_private, private_folder, sync_folder, write_private
from srlite.judge.questions import questions_hash
from srlite.records.catalogue import Catalogue, read_catalogue, write_catalogue
from srlite.records.sides import Split
from srlite.records.split import read_split, write_split
from srlite.types import Record
from srlite.workbench import Workbench


@dataclass(frozen=True, slots=True)
class State:
    """Where a run stands after a slice. `score` is the validation score, on slices that end a round."""

    step: int
    round: int
    slice: int
    threads: int
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Lock:
    """Which models and texts a run belongs to."""

    descriptor: str
    descriptor_sha256: str
    judge: str
    judge_sha256: str
    questions_sha256: str
    demonstration: bool

    @classmethod
    def of(cls, bench: Workbench) -> Lock:
        return cls(
            bench.descriptor_model.id,
            bench.descriptor.base_sha256,
            bench.judge_model.id,
            bench.judge.sha256,
            questions_hash(),
            bench.demonstration,
        )


@dataclass(frozen=True, slots=True)
class Run:
    """A run folder; every method reads or writes files in it and nothing else."""

    folder: Path

    @property
    def adapter(self) -> Path:
        return self.folder / "adapter"

    @property
    def finished(self) -> bool:
        return self.adapter.is_dir()

    def settings(self) -> Settings:
        return read_settings(self.folder / "config.toml")

    def catalogue(self) -> Catalogue:
        return read_catalogue(self.folder / "catalogue.toml")

    def split(self, records: Sequence[Record]) -> Split:
        return read_split(self.folder / "split.csv", records)

    def lock(self) -> Lock:
        return Lock(**json.loads((self.folder / "lock.json").read_text(encoding="utf-8")))

    def write_lock(self, lock: Lock) -> None:
        write_private(self.folder / "lock.json", json.dumps(asdict(lock), indent=2) + "\n")

    def slice_folder(self, round_: int, slice_: int) -> Path:
        return self.folder / "rounds" / f"{round_:03d}" / f"{slice_:02d}"

    def log(self, text: str) -> None:
        append_private(self.folder / "log.txt", text + "\n")

    def add_metrics(self, figures: Mapping[str, object]) -> None:
        append_private(self.folder / "metrics.jsonl", json.dumps(figures, allow_nan=False) + "\n")

    def metrics(self) -> list[dict[str, object]]:
        path = self.folder / "metrics.jsonl"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    def keep_metrics_until(self, state: State) -> None:
        """Drop lines of slices that were begun after `state`: they will be written again."""
        kept = [m for m in self.metrics() if (m["round"], m["slice"]) <= (state.round, state.slice)]
        write_private(self.folder / "metrics.jsonl", "".join(json.dumps(m, allow_nan=False) + "\n" for m in kept))

    # ---- checkpoints ---------------------------------------------------------------------------------------------

    def checkpoints(self) -> list[tuple[State, Path]]:
        """Complete ones, oldest first."""
        folders = sorted(p.parent for p in (self.folder / "checkpoints").glob("*/DONE"))
        return [(State(**json.loads((f / "state.json").read_text(encoding="utf-8"))), f) for f in folders]

    def save_checkpoint(self, descriptor: Descriptor, optimiser: torch.optim.Optimizer, state: State) -> Path:
        """Raises DeviceError when the disk is full; earlier checkpoints are then untouched."""
        place = self.folder / "checkpoints" / f"{state.round:03d}-{state.slice:02d}-{state.step:06d}"
        beside = place.with_name(f".{place.name}.part")
        shutil.rmtree(beside, ignore_errors=True)
        private_folder(beside)
        save_adapter(descriptor, beside)
        write_private(beside / "optimiser.safetensors", save(_optimiser_tensors(descriptor, optimiser)))
        write_private(beside / "state.json", json.dumps(asdict(state)) + "\n")
        write_private(beside / "DONE", "")
        shutil.rmtree(place, ignore_errors=True)
        os.replace(beside, place)
        sync_folder(place.parent)
        return place

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
        """Make the best-validated checkpoint (the newest of equals; the newest at all without scores) the adapter."""
        found = self.checkpoints()
        if not found:
            raise ModelError(
                "the run has no checkpoint yet",
                where=str(self.folder),
                remedy="Train longer: srlite train ... --resume",
            )
        scored = [c for c in found if c[0].score is not None]
        state, folder = max(scored or found[-1:], key=lambda c: (c[0].score or 0.0, c[0].step))
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
    if not resume and folder.exists() and (not folder.is_dir() or any(p.name != ".lock" for p in folder.iterdir())):
        raise UsageError(
            "the run folder is not empty",
            where=str(folder),
            remedy="Give another --run DIR, or take up the run that is there with --resume.",
        )


def begin(folder: Path, settings: Settings, catalogue: Catalogue, split: Split) -> Run:
    """A new run in an empty or missing folder. Raises UsageError when something else is there."""
    check_place(folder, resume=False)
    run = Run(private_folder(folder))
    write_private(folder / "config.toml", settings_toml(settings))
    write_catalogue(catalogue, folder / "catalogue.toml")
    write_split(split, folder / "split.csv")
    return run


def take_up(folder: Path, catalogue: Catalogue, records: Sequence[Record]) -> tuple[Run, Split]:
    """A run to be resumed. Raises InputError when it is none, or when records or item texts have changed since."""
    check_place(folder, resume=True)
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


def check_lock(run: Run, bench: Workbench) -> None:
    """The models of the workbench must be those the run was made with. Writes the lock of a fresh run."""
    now = Lock.of(bench)
    if not (run.folder / "lock.json").exists():
        run.write_lock(now)
        return
    then = run.lock()
    changed = [name for name in asdict(now) if getattr(now, name) != getattr(then, name)]
    if changed:
        raise ModelError(
            f"{', '.join(changed)} differ from what the run was made with",
            where=str(run.folder),
            remedy="Use the same models (see lock.json of the run), or begin a new run.",
        )


@contextmanager
def sole_owner(folder: Path) -> Iterator[None]:
    """Hold the folder's lock. Raises UsageError when another process trains in it."""
    from filelock import FileLock, Timeout

    lock = FileLock(private_folder(folder) / ".lock", mode=0o600, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise UsageError(
            "another process is training in this folder",
            where=str(folder),
            remedy="Wait for it, stop it, or give another --run DIR.",
        ) from None
    try:
        yield
    finally:
        lock.release()


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


def _optimiser_tensors(descriptor: Descriptor, optimiser: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    state = {name: optimiser.state.get(p, {}) for name, p in trainable(descriptor)}
    return {f"{name}/{key}": value.detach().cpu().contiguous() for name, s in state.items() for key, value in s.items()}


def _load_optimiser(descriptor: Descriptor, optimiser: torch.optim.Optimizer, tensors: Mapping[str, torch.Tensor]) -> None:
    for name, parameter in trainable(descriptor):
        mine = {key.removeprefix(f"{name}/"): value for key, value in tensors.items() if key.startswith(f"{name}/")}
        for key, value in mine.items():
            optimiser.state[parameter][key] = value if key == "step" else value.to(parameter.device)
