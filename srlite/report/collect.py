"""What lies in a run's folder for a report, and what is missing, in words. Loads no model and no torch.

Contract: a file that is not there (the run was killed, or never evaluated) is named in `missing`, with what follows from it and
the command that mends it. A file that is there and cannot be read is an error: nothing is left out silently.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from srlite.commands import to_evaluate, to_resume
from srlite.config import Settings, read_settings
from srlite.errors import InputError
from srlite.evaluation.document import Evaluation, read_evaluation
from srlite.files import file_sha256
from srlite.records.catalogue import Catalogue, read_catalogue
from srlite.records.sides import Split
from srlite.records.split import saved_split
from srlite.training.kept import Lock, read_lock, read_metrics
from srlite.training.purged import Mark, read_mark


@dataclass(frozen=True)
class Collected:
    """A run's folder as a report sees it. `metrics`: lines of metrics.jsonl, oldest first; `reached`: where training stands."""

    run: str
    settings: Settings
    catalogue: Catalogue
    split: Split
    lock: Lock | None
    metrics: tuple[Mapping[str, object], ...]
    finished: bool
    evaluation: Evaluation | None
    evaluation_sha256: str | None
    reached: str | None
    missing: tuple[str, ...]

    @property
    def demonstration(self) -> bool:
        return self.evaluation.demonstration if self.evaluation else bool(self.lock and self.lock.demonstration)


def collect(folder: Path) -> Collected:
    """Raises InputError when there is no run in the folder, or when one of its files cannot be read."""
    if not (folder / "config.toml").is_file():
        remedy = "Name the folder of a run: srlite report DIR. Training makes one: srlite train ITEMS_CSV VIDEOS --run DIR"
        raise InputError("there is no run here", where=str(folder), remedy=remedy)
    settings = read_settings(folder / "config.toml")
    lock = read_lock(folder / "lock.json") if (folder / "lock.json").exists() else None
    metrics = tuple(read_metrics(folder / "metrics.jsonl"))
    evaluated, finished = (folder / "evaluation.json").exists(), (folder / "adapter").is_dir()
    evaluation = read_evaluation(folder / "evaluation.json") if evaluated else None
    return Collected(
        run=folder.resolve().name,
        settings=settings,
        catalogue=read_catalogue(folder / "catalogue.toml"),
        split=saved_split(folder / "split.csv"),
        lock=lock,
        metrics=metrics,
        finished=finished,
        evaluation=evaluation,
        evaluation_sha256=file_sha256(folder / "evaluation.json") if evaluated else None,
        reached=_reached(metrics, settings),
        missing=(*_missing(folder, lock, metrics, finished, evaluated), *_purged(folder, read_mark(folder), evaluation)),
    )


def _reached(metrics: tuple[Mapping[str, object], ...], settings: Settings) -> str | None:
    """The newest slice whose figures are there; None before the first."""
    slices = [m for m in metrics if "step" in m]
    if not slices:
        return None
    last = slices[-1]
    return f"round {last['round']} of {settings.schedule.rounds}, slice {last['slice']}, step {last['step']}"


def _missing(folder: Path, lock: Lock | None, metrics: tuple, finished: bool, evaluated: bool) -> Iterator[str]:
    if lock is None:
        yield "There is no lock.json: the run ended before its models were opened, so it is not known which they are."
    if not metrics:
        yield "There are no training figures: not one slice was completed, or metrics.jsonl was taken away."
    if not finished:
        yield f"There is no adapter: training was stopped before its end. It may be taken up again: {to_resume(folder)}"
    if not evaluated:
        then = "" if finished else "Once it is finished: "
        known = "nothing is known yet of how well the descriptions serve"
        yield f"There is no evaluation: {known}. {then}{to_evaluate(folder)}"


def _purged(folder: Path, mark: Mark | None, evaluation: Evaluation | None) -> Iterator[str]:
    if mark:
        learnt = ". The adapter was trained on some of them, and cannot forget: train anew without them" if mark.trained else ""
        yield f"Records were purged from this run on {', '.join(mark.days)}{learnt}."
    if evaluation and evaluation.purged_cases:
        yield (
            f"{evaluation.purged_cases} test pairs were purged after the evaluation. The figures below still count them; those "
            f"of the pairs that are left: {to_evaluate(folder)}"
        )
