"""`srlite demo`: the whole story on rendered clips and the bundled models.

    1  a small clinic's year: clips, outcomes, children           data/
    2  train an adapter from the outcomes                         run/
    3  evaluate the test children before and after
    4  assess three clips, one of them wrong before and right after

Everything is made by demonstration models of a drawn world, and says so.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from srlite.assessing.document import assessment_json
from srlite.assessing.job import Failed, assess
from srlite.console import DEMONSTRATION, Screen
from srlite.console.assessment import show_assessment
from srlite.console.evaluation import show_evaluation
from srlite.demo.clips import write_dataset
from srlite.demo.world import ITEMS, clinic
from srlite.errors import SrliteError, UsageError
from srlite.escape import plain
from srlite.evaluation.document import Case, Evaluation
from srlite.evaluation.figures import right
from srlite.evaluation.protocol import evaluate, evaluation_json
from srlite.training.job import train

FIRST_WORLD = 20
"""Seed 0 of the demonstration; worlds below are those of the examples and of the models' own training."""
CLIPS_PER_ITEM = 30
CHILDREN_PER_AGE = 39
UNSEEN_SHARE = 0.05
SPLIT = {"how": "child", "test_fraction": 0.30, "validation_fraction": 0.10}
ROUNDS = 3
MISMATCHED_SHARE = 0.45
"""More than the quarter of the defaults: a model as small as this one needs more of them to learn to abstain."""
MAX_IMBALANCE = 1.5
"""Without it the few failed clips of an item are learnt by heart, and fresh ones are told as passed."""


def settings(seed: int) -> dict[str, object]:
    """What the demonstration changes of the preset tiny."""
    return {
        "seed": seed,
        "split": SPLIT,
        "schedule": {"rounds": ROUNDS, "mismatched_share": MISMATCHED_SHARE, "max_imbalance": MAX_IMBALANCE},
    }


@dataclass(frozen=True, slots=True)
class Chosen:
    """A test clip worth looking at, and why."""

    why: str
    case: Case


def tell_story(folder: Path, *, seed: int, screen: Screen, show: bool) -> dict[str, object]:
    """Run the demonstration in `folder`; returns a document of schema srlite.demo/1."""
    if (folder / "run").exists() or (folder / "data").exists():
        raise UsageError("the demonstration was already run here", where=str(folder), remedy="Give another folder.")
    began = time.monotonic()
    screen.say(f"srlite demo: everything below comes from a {DEMONSTRATION} in a drawn world", "bold")
    with screen.bar() as bar:
        items_csv = _render(folder / "data", seed, bar)
        screen.say(f"1  rendered {len(ITEMS) * CLIPS_PER_ITEM} clips: {folder / 'data'} ({_minutes(began)})")
        videos, run = folder / "data" / "videos", folder / "run"
        trained = train(items_csv, videos, run=run, preset="tiny", over=settings(seed), tell=bar.hear)
        screen.say(f"2  trained {trained.steps} steps: {run} ({_minutes(began)})")
        found = evaluate(
            items_csv,
            videos,
            run=run,
            compare=("base",),
            tick=lambda arm, done, total: bar.show(f"evaluate {arm}", done, total),
        )
        screen.say(f"3  evaluated: {run / 'evaluation.json'} ({_minutes(began)})")
    chosen = _chosen(found)
    assessments = _assess(chosen, videos, run)
    screen.say(f"4  assessed {len(assessments)} test clips")
    document = {
        "schema": "srlite.demo/1",
        "demonstration": True,
        "folder": str(folder),
        "seed": seed,
        "minutes": round((time.monotonic() - began) / 60, 1),
        "evaluation": evaluation_json(found),
        "assessments": [
            {
                "why": c.why,
                "outcome": c.case.outcome,
                "before": c.case.arms["base"].description,
                "before_decision": c.case.arms["base"].decision,
                "assessment": a,
            }
            for c, a in zip(chosen, assessments, strict=True)
        ],
    }
    if show:
        _show(document, found, screen)
    return document


def _render(folder: Path, seed: int, bar) -> Path:
    total = len(ITEMS) * CLIPS_PER_ITEM
    scenes = clinic(FIRST_WORLD + seed, CLIPS_PER_ITEM, children=CHILDREN_PER_AGE, unseen_share=UNSEEN_SHARE)
    return write_dataset(scenes, folder, tick=lambda done: bar.show("render clips", done, total))


def _chosen(found: Evaluation) -> list[Chosen]:
    """Three kinds of clip; fewer where the test part has none of a kind."""
    kinds = (
        ("wrong before, right after", lambda c: c.matched and not right(c, "base")),
        ("right before and after", lambda c: c.matched and right(c, "base")),
        (
            "an unrelated item: asserted before, abstained after",
            lambda c: not c.matched and c.arms["base"].decision in ("pass", "fail"),
        ),
    )
    mended = [c for c in found.cases if c.unreadable is None and right(c, "adapted")]
    firsts = [(why, next(filter(test, mended), None)) for why, test in kinds]
    return [Chosen(why, case) for why, case in firsts if case]


def _assess(chosen: Sequence[Chosen], videos: Path, run: Path) -> list[dict[str, object]]:
    out = []
    for c in chosen:
        found = next(
            iter(
                assess(
                    [videos / c.case.clip],
                    c.case.item,
                    run=run,
                    age_months=c.case.age_months,
                )
            )
        )
        if isinstance(found, Failed):
            raise SrliteError(f"the demonstration's own clip cannot be read: {found.error}")
        out.append(assessment_json(found))
    return out


def _show(document: dict, found: Evaluation, screen: Screen) -> None:
    for entry in document["assessments"]:
        outcome = f"the clinician's outcome: {entry['outcome']}" if entry["outcome"] else "the clip is about another item"
        before = entry["before_decision"] or "no decision"
        screen.out.print(plain(f"\n{entry['why']}; {outcome}"), markup=False)
        screen.out.print(plain(f"before training ({before}): {entry['before']}"), markup=False)
        show_assessment(screen, entry["assessment"])
    show_evaluation(screen, found)
    folder = document["folder"]
    screen.table(
        f"Where things are ({DEMONSTRATION})",
        ("what", "where"),
        [
            ("clips, outcomes, catalogue", f"{folder}/data"),
            ("the run: settings, rollouts, checkpoints", f"{folder}/run"),
            ("the adapter", f"{folder}/run/adapter"),
            ("every figure", f"{folder}/run/evaluation.json"),
        ],
    )
    screen.say(f"done in {document['minutes']} minutes")


def _minutes(began: float) -> str:
    return f"{(time.monotonic() - began) / 60:.1f} min"
