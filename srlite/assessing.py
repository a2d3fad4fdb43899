"""`srlite assess`: clip -> description -> decision, for a person to read and overrule. Nothing here touches the network."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from srlite.describing import Seen, describe, judged
from srlite.descriptor.prompts import canonical_prompt
from srlite.errors import InputError
from srlite.records.catalogue import Catalogue
from srlite.training.run import Run, check_lock, finished_run
from srlite.types import Assessment, Item, Pair, Verdict
from srlite.video.reader import sha256_of
from srlite.workbench import Workbench, open_workbench

SCHEMA = "srlite.assessment/1"
DEMONSTRATION = "made with the bundled demonstration models: they know a drawn world only"


@dataclass(frozen=True, slots=True)
class Failed:
    """A clip that could not be assessed, and why."""

    clip: Path
    error: InputError


def assess(clips: Sequence[Path], item: str, *, run: Path, age_months: float | None = None) -> Iterator[Assessment | Failed]:
    """Assess each clip for the item with the run's adapter. A clip that cannot be read does not stop the others.

    Raises InputError for an item that the run's catalogue does not have, ModelError when a model is missing or another.
    """
    folder = finished_run(run)
    catalogue = folder.catalogue()
    wanted = catalogue.get(item)
    with open_run(folder, catalogue) as bench:
        models = _models(bench, folder)
        for clip in clips:
            try:
                yield _assessed(bench, models, clip, wanted, age_months)
            except InputError as error:
                yield Failed(clip, error)


@contextmanager
def open_run(run: Run, catalogue: Catalogue) -> Iterator[Workbench]:
    """A finished run's models, its adapter on."""
    with open_workbench(run.settings(), catalogue, videos=None, adapter=run.adapter) as bench:
        check_lock(run, bench)
        yield bench


def _assessed(bench: Workbench, models: Mapping[str, object], clip: Path, item: Item, age_months: float | None) -> Assessment:
    began = time.monotonic()
    age = item.age_months if age_months is None else age_months
    described = describe(bench, Pair(str(clip), item.code, None, age_months=age), canonical_prompt(item, age))
    written = time.monotonic()
    (decided,) = judged(bench, [described])
    seen = described.clip
    return Assessment(
        clip={
            "path": str(clip),
            "sha256": seen.sha256,
            "duration_s": round(seen.duration_s, 3),
            "frames_s": [round(t, 3) for t in seen.times_s],
        },
        item=item,
        description=described.description,
        decision=decided.decision,
        verdicts=decided.verdicts,
        models=models,
        demonstration=bench.demonstration,
        seed=bench.settings.seed,
        warnings=tuple(_warnings(bench, seen, item)),
        seconds={"describe": round(written - began, 3), "judge": round(time.monotonic() - written, 3)},
    )


def _models(bench: Workbench, run: Run) -> dict[str, object]:
    return {
        "descriptor": {"id": bench.descriptor_model.id, "sha256": bench.descriptor.base_sha256},
        "adapter": {"id": run.folder.name, "sha256": sha256_of(run.adapter / "adapter_model.safetensors")},
        "judge": {"id": bench.judge_model.id, "sha256": bench.judge.sha256},
    }


def _warnings(bench: Workbench, seen: Seen, item: Item) -> Iterator[str]:
    yield from seen.warnings
    if bench.demonstration:
        yield DEMONSTRATION
    if item.needs_audio:
        yield "this item needs sound, which the descriptor does not hear"
    if item.duration_s and seen.duration_s < item.duration_s:
        yield f"the clip is {seen.duration_s:.1f} s long, the item needs {item.duration_s:g} s"


def assessment_json(found: Assessment) -> dict[str, object]:
    """The document of schema srlite.assessment/1."""
    item = found.item
    return {
        "schema": SCHEMA,
        "clip": dict(found.clip),
        "item": {"code": item.code, "name": item.name, "criterion": item.criterion},
        "description": found.description,
        "decision": found.decision,
        "verdicts": {name: _verdict_json(v) for name, v in found.verdicts.items()},
        "models": dict(found.models),
        "demonstration": found.demonstration,
        "warnings": list(found.warnings),
        "seconds": dict(found.seconds),
        "seed": found.seed,
    }


def _verdict_json(verdict: Verdict) -> dict[str, object]:
    p = verdict.probability
    return {
        "answer": verdict.answer,
        "probability": None if p is None else round(p, 6),
        "mass": round(verdict.mass, 6),
    }
