"""`srlite assess`: clip -> description -> decision, for a person to read and overrule. Nothing here touches the network.

Contract: results come clip by clip in the order asked. Clips go through in portions: those of a portion are described one by
one, then all judged in one turn of the judge, then given; a crash costs the portion in hand. What is found of a clip does not
hang on what else is asked, to the last bit. A clip that cannot be read does not stop the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from srlite.assessing.cautions import Known, known_of, warnings_of
from srlite.assessing.samples import drawn
from srlite.describing import Decided, Described, describe_prepared, judged, prepare
from srlite.descriptor.prompts import canonical_prompt
from srlite.device.halving import portions
from srlite.errors import InputError
from srlite.records.asked import Asked
from srlite.records.catalogue import Catalogue
from srlite.training.run import Run, check_lock, finished_run
from srlite.types import Assessment, Pair, Samples
from srlite.workbench import Workbench, open_workbench

PORTION = 32
"""Clips described before the judge has its turn: swapping the two on a card takes as long as describing a few clips."""
Tick = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Failed:
    """A clip that could not be assessed, and why."""

    asked: Asked
    error: InputError


@dataclass(frozen=True, slots=True)
class _Looked:
    """A clip described, not judged yet. `age_months` is the age that the descriptor was told."""

    asked: Asked
    age_months: float | None
    greedy: Described
    samples: tuple[Described, ...]
    seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Run:
    """What every assessment of a run says of it."""

    models: Mapping[str, object]
    known: Known


def assess(
    clips: Sequence[Path],
    item: str,
    *,
    run: Path,
    age_months: float | None = None,
    samples: int = 0,
    tick: Tick = lambda what, done, total: None,
) -> Iterator[Assessment | Failed]:
    """Assess each clip for the item with the run's adapter. See `assess_all`."""
    return assess_all([Asked(clip, item, age_months) for clip in clips], run=run, samples=samples, tick=tick)


def assess_all(
    asked: Sequence[Asked], *, run: Path, samples: int = 0, tick: Tick = lambda what, done, total: None
) -> Iterator[Assessment | Failed]:
    """Assess each clip for its item with the run's adapter; `samples` more descriptions of each tell how steady a decision is.

    `tick(what, done, total)`: clips described or judged so far. Raises InputError for an item that the run's catalogue does not
    have, ModelError when a model is missing or another.
    """
    folder = finished_run(run)
    catalogue = folder.catalogue()
    for one in asked:
        catalogue.get(one.item)
    with open_run(folder, catalogue) as bench:
        about = _Run(_models(bench, folder), known_of(bench, folder))
        done = 0
        for portion in portions(asked, PORTION):
            looked = [_look(bench, one, samples, done + i, len(asked), tick) for i, one in enumerate(portion)]
            tick("judge", done, len(asked))
            yield from _decide(bench, about, looked)
            done += len(portion)


@contextmanager
def open_run(run: Run, catalogue: Catalogue) -> Iterator[Workbench]:
    """A finished run's models, its adapter on."""
    with open_workbench(run.settings(), catalogue, videos=None, adapter=run.adapter) as bench:
        check_lock(run, bench)
        yield bench


def _look(bench: Workbench, asked: Asked, samples: int, done: int, total: int, tick: Tick) -> _Looked | Failed:
    tick("describe", done, total)
    try:
        return _described(bench, asked, samples)
    except InputError as error:
        return Failed(asked, error)


def _described(bench: Workbench, asked: Asked, samples: int) -> _Looked:
    item = bench.catalogue[asked.item]
    age = item.age_months if asked.age_months is None else asked.age_months
    began = time.monotonic()
    prepared = prepare(bench, str(asked.clip), canonical_prompt(item, age))
    greedy = describe_prepared(bench, Pair(str(asked.clip), item.code, None, age_months=age), prepared)
    written = time.monotonic()
    seconds = {"describe": written - began}
    if not samples:
        return _Looked(asked, age, greedy, (), seconds)
    more = tuple(drawn(bench, greedy, prepared, samples))
    return _Looked(asked, age, greedy, more, seconds | {"samples": time.monotonic() - written})


def _decide(bench: Workbench, about: _Run, looked: Sequence[_Looked | Failed]) -> Iterator[Assessment | Failed]:
    """The judge's turn over what a portion's clips were described as. What it takes is shared out evenly among them."""
    described = [d for one in looked if isinstance(one, _Looked) for d in (one.greedy, *one.samples)]
    began = time.monotonic()
    decided = iter(judged(bench, described, at_once=1) if described else ())
    judge_s = (time.monotonic() - began) / max(1, sum(isinstance(one, _Looked) for one in looked))
    for one in looked:
        if isinstance(one, Failed):
            yield one
        else:
            first, *rest = (next(decided) for _ in (one.greedy, *one.samples))
            yield _assessment(bench, about, one, first, rest, judge_s)


def _assessment(
    bench: Workbench, about: _Run, one: _Looked, decided: Decided, samples: Sequence[Decided], judge_s: float
) -> Assessment:
    item, seen = bench.catalogue[one.asked.item], one.greedy.clip
    return Assessment(
        clip={
            "path": str(one.asked.clip),
            "sha256": seen.sha256,
            "duration_s": round(seen.duration_s, 3),
            "frames_s": [round(t, 3) for t in seen.times_s],
        },
        item=item,
        description=decided.description,
        decision=decided.decision,
        verdicts=decided.verdicts,
        models=about.models,
        demonstration=bench.demonstration,
        seed=bench.settings.seed,
        warnings=warnings_of(about.known, seen, one.asked, item),
        seconds={what: round(s, 3) for what, s in (one.seconds | {"judge": judge_s}).items()},
        age_months=one.age_months,
        child=one.asked.child,
        samples=Samples(tuple(d.decision for d in samples)) if samples else None,
    )


def _models(bench: Workbench, run: Run) -> dict[str, object]:
    return {
        "descriptor": {"id": bench.descriptor_model.id, "sha256": bench.descriptor.base_sha256},
        "adapter": {"id": run.folder.name, "sha256": run.adapter_sha256()},
        "judge": {"id": bench.judge_model.id, "sha256": bench.judge.sha256},
    }
