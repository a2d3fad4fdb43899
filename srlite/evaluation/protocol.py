"""`srlite evaluate`: the test part of a run, with the adapter and, for comparison, without it.

Every matched test pair is described and decided, and unrelated pairs (half as many) test whether the descriptor abstains. The
result is written to evaluation.json of the run, schema srlite.evaluation/1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from srlite.demo.truth import Scenes, read_scenes, true_of
from srlite.describing import Decided, describe_all, judged
from srlite.descriptor.load import adapter_off
from srlite.errors import InputError
from srlite.evaluation.metrics import Arm, Proportion, arm_figures
from srlite.files import write_private
from srlite.records.dataset import read_dataset
from srlite.records.mismatch import matched_pairs, mismatched_pairs
from srlite.training.run import check_lock, finished_run
from srlite.training.schedule import seed_of
from srlite.types import Pair, Record
from srlite.workbench import Workbench, open_workbench

SCHEMA = "srlite.evaluation/1"
Tick = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Measured:
    """One arm: its figures, and the pairs that could not be read with the reason."""

    arm: Arm
    decided: tuple[Decided, ...]
    unreadable: tuple[str, ...]


@dataclass(frozen=True)
class Evaluation:
    run: Path
    arms: dict[str, Measured]
    records: int
    demonstration: bool


def evaluate(
    items_csv: Path,
    videos: Path,
    *,
    run: Path,
    catalogue: Path | None = None,
    compare_base: bool = False,
    tick: Tick = lambda arm, done, total: None,
) -> Evaluation:
    """Evaluate a finished run on its test part. `tick(arm, done, total)` is called after each pair.

    Raises InputError when the records are not those of the run or its test part is empty, ModelError for other models.
    """
    folder = finished_run(run)
    data = read_dataset(items_csv, videos, catalogue)
    split = folder.split(data.records)
    if not split.test:
        raise InputError(
            "the test part of this run is empty",
            where=str(run),
            remedy="Train with more children, or with another --split.",
        )
    with open_workbench(folder.settings(), folder.catalogue(), videos=videos, adapter=folder.adapter) as bench:
        check_lock(folder, bench)
        pairs = test_pairs(split.test, data.records, bench)
        scenes = _scenes(bench, items_csv, pairs)
        arms = {}
        if compare_base:
            with adapter_off(bench.descriptor):
                arms["base"] = measure(bench, pairs, scenes, tick=lambda d, t: tick("base", d, t))
        arms["adapted"] = measure(bench, pairs, scenes, tick=lambda d, t: tick("adapted", d, t))
        found = Evaluation(run, arms, len(data.records), bench.demonstration)
    write_private(run / "evaluation.json", json.dumps(evaluation_json(found), indent=2, allow_nan=False) + "\n")
    return found


def test_pairs(test: Sequence[Record], everything: Sequence[Record], bench: Workbench) -> tuple[Pair, ...]:
    """The matched pairs of the test part and half as many unrelated ones (none when none were trained on)."""
    matched = matched_pairs(test)
    if not bench.settings.schedule.mismatched_share:
        return matched
    unrelated = mismatched_pairs(
        test,
        bench.catalogue,
        count=max(1, len(matched) // 2),
        known=everything,
        seed=seed_of(bench.settings.seed, "test"),
    )
    return (*matched, *unrelated)


test_pairs.__test__ = False  # not a test, whatever a test runner thinks of its name


def measure(bench: Workbench, pairs: Sequence[Pair], scenes: Scenes, *, tick: Callable[[int, int], None]) -> Measured:
    """Describe and decide all pairs under the present adapter state."""
    described, unreadable = describe_all(bench, pairs, tick=tick)
    decided = judged(bench, described)
    true = [true_of(scenes, d.pair, d.description) for d in decided] if scenes else None
    reasons = tuple(f"{pair.clip}: {error.message}" for pair, error in unreadable)
    return Measured(arm_figures(decided, true), tuple(decided), reasons)


def _scenes(bench: Workbench, items_csv: Path, pairs: Sequence[Pair]) -> Scenes:
    """What the clips show, where they are of the demonstration world; empty where it is not known of all of them."""
    scenes = read_scenes(items_csv) if bench.demonstration else {}
    return scenes if {p.clip for p in pairs} <= set(scenes) else {}


def evaluation_json(found: Evaluation) -> dict[str, object]:
    """The document of schema srlite.evaluation/1."""
    first = next(iter(found.arms.values()))
    matched = [d for d in first.decided if d.pair.matched]
    return {
        "schema": SCHEMA,
        "run": found.run.name,
        "positive_class": "pass",
        "demonstration": found.demonstration,
        "arms": {name: _arm_json(m.arm) for name, m in found.arms.items()},
        "flow": {
            "records": found.records,
            "test_pairs": len(matched),
            "unrelated_pairs": len(first.decided) - len(matched),
            "unreadable_pairs": len(first.unreadable),
            "unscored": {name: sum(d.decision is None for d in m.decided) for name, m in found.arms.items()},
        },
        "unreadable": list(first.unreadable),
    }


def _arm_json(arm: Arm) -> dict[str, object]:
    figures = {name: _proportion_json(getattr(arm, name)) for name in ("accuracy", "abstention", "relevance")}
    if arm.truth is not None:
        figures["truth"] = _proportion_json(arm.truth)
    return figures | {
        "length_tokens": arm.length_tokens,
        "items_recall_above_half": arm.items_recall_above_half,
        "items": {code: asdict(f) | {"recall": f.recall, "precision": f.precision} for code, f in arm.items.items()},
    }


def _proportion_json(p: Proportion) -> dict[str, object]:
    return asdict(p)
