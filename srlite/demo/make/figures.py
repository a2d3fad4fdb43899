"""Measures the bundled models and makes the README's table; the last stage of `python -m srlite.demo.make`. Resumable.

One test set for all arms, of children that no training saw: 20 clear clips of each item and outcome, 48 clips that show
nothing, 192 unrelated pairs. Arms: the base, the ceiling (the describer before it learnt its faults), and for each of three
seeds an adapter that `srlite train` made from another small clinic of 360 clips, with the settings of `srlite demo`.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from srlite.config import Settings
from srlite.demo import story
from srlite.demo.clips import write_dataset
from srlite.demo.make import judge_check
from srlite.demo.make.examples import unrelated_items
from srlite.demo.truth import read_scenes, true_of
from srlite.demo.world import ITEMS, Scene, balanced, clinic
from srlite.describing import Decided, describe, judged, prepare, sample
from srlite.descriptor.generate import Ask
from srlite.descriptor.prompts import canonical_prompt
from srlite.evaluation.cases import case_of, said_of
from srlite.evaluation.document import Arm
from srlite.evaluation.figures import Basis, arm_figures
from srlite.files import write_private
from srlite.judge.client import Request
from srlite.judge.decision import DECISION_QUESTIONS, decide
from srlite.records.dataset import catalogue_of
from srlite.training.job import settings_for, train
from srlite.training.schedule import seed_of
from srlite.types import Pair
from srlite.workbench import Workbench, open_workbench

TEST_WORLD, CLINIC_WORLDS = 90, 60
CLIPS_PER_CELL, UNSEEN_PER_CELL, UNRELATED_PER_ITEM, SAMPLED_PER_CELL = 20, 1, 16, 6
SEEDS = (0, 1, 2)
JUDGED = 2000
ROWS = {
    "accuracy": "accuracy",
    "items_recall_above_half": f"items with recall > 0.5, of {len(ITEMS)}",
    "abstention": "abstains on unrelated pairs",
    "truth": "descriptions true of the clip",
    "abstention_unseen": "abstains on clips that show nothing",
    "truth_unseen": "true of clips that show nothing",
    "relevance": "relevant",
}


def test_set(folder: Path) -> Path:
    if not (folder / "items.csv").exists():
        scenes = [*balanced(TEST_WORLD, CLIPS_PER_CELL)]
        scenes += [s for view in ("occluded", "cut_off") for s in balanced(TEST_WORLD + 1, UNSEEN_PER_CELL, view=view)]
        write_dataset(scenes, folder)
    return folder / "items.csv"


test_set.__test__ = False


def pairs_of(scenes: dict[str, Scene]) -> list[Pair]:
    """Matched pairs of every clip, then unrelated pairs of clear clips."""
    rng = random.Random(0)
    pairs = [Pair(clip, s.item, s.outcome, s.child.age_months) for clip, s in scenes.items()]
    by_item = defaultdict(list)
    for clip, s in scenes.items():
        if s.view == "clear":
            by_item[s.item].append(clip)
    for clips in by_item.values():
        for clip in rng.sample(clips, UNRELATED_PER_ITEM):
            s = scenes[clip]
            pairs.append(Pair(clip, rng.choice(unrelated_items(s)), None, s.child.age_months))
    return pairs


def measure(bench: Workbench, scenes: dict[str, Scene], *, sampled: bool) -> dict[str, object]:
    described = [describe(bench, p, canonical_prompt(bench.catalogue[p.item], p.age_months)) for p in pairs_of(scenes)]
    decided = judged(bench, described)
    clear = [d for d in decided if not d.pair.matched or scenes[d.pair.clip].view == "clear"]
    unseen = [d for d in decided if d.pair.matched and scenes[d.pair.clip].view != "clear"]
    arm = _arm(bench, scenes, clear)
    cells = _cells(clear)
    wrong = sorted(cell for cell, share in cells.items() if share < 0.5)
    figures = {
        "accuracy": arm.accuracy.value,
        "abstention": arm.abstention.value,
        "relevance": arm.relevance.value,
        "items_recall_above_half": arm.items_recall_above_half,
        "truth": arm.truth.value,
        "truth_unseen": _share([true_of(scenes, d.pair, d.description) for d in unseen]),
        "abstention_unseen": _share([d.decision == "unable_to_assess" for d in unseen]),
        "unscored": sum(d.decision is None for d in decided),
        "length_tokens": arm.length_tokens,
        "n": {"accuracy": arm.accuracy.n, "abstention": arm.abstention.n, "unseen": len(unseen)},
        "cells": {f"{item} {outcome}": share for (item, outcome), share in cells.items()},
        "wrong_cells": [" ".join(c) for c in wrong],
    }
    if sampled:
        figures["right_samples_in_wrong_cells"] = {" ".join(c): _right_samples(bench, scenes, c) for c in wrong}
    return figures


def _arm(bench: Workbench, scenes: dict[str, Scene], decided: Sequence[Decided]) -> Arm:
    cases = [case_of(d.pair, None, {"measured": said_of(d, scenes)}) for d in decided]
    return arm_figures(cases, "measured", Basis(bench.catalogue.entries, bench.judge.settings.thresholds, seed=0))


def _cells(decided: Sequence[Decided]) -> dict[tuple[str, str], float]:
    hits = defaultdict(list)
    for d in decided:
        if d.pair.matched:
            hits[d.pair.item, d.pair.outcome].append(d.decision == d.pair.outcome)
    return {cell: _share(found) for cell, found in sorted(hits.items())}


def _right_samples(bench: Workbench, scenes: dict[str, Scene], cell: tuple[str, str]) -> float:
    """Share of descriptions sampled at temperature 1 that lead to the clinician's outcome."""
    clips = [c for c, s in scenes.items() if (s.item, s.outcome) == cell and s.view == "clear"][:SAMPLED_PER_CELL]
    item, right = bench.catalogue[cell[0]], []
    for clip in clips:
        prompt, features, _, _ = prepare(bench, clip, canonical_prompt(item, scenes[clip].child.age_months))
        seeds = tuple(seed_of("figures", clip, i) for i in range(bench.settings.sampling.group))
        (group,) = sample(bench, [Ask(prompt, features, seeds)])
        answers = bench.judge.ask([Request(item, r.text, DECISION_QUESTIONS) for r in group])
        right += [decide(v) == cell[1] for v in answers]
    return _share(right)


def _share(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits)


def measure_arm(work: Path, name: str, *, over: dict, adapter: Path | None, sampled: bool) -> dict[str, object]:
    """Figures of one arm, kept in a file of its own."""
    kept = work / "figures" / f"{name}.json"
    if not kept.exists():
        items_csv = test_set(work / "figures" / "test")
        settings: Settings = settings_for("tiny", over)[1]
        with open_workbench(settings, catalogue_of(None), videos=items_csv.parent / "videos", adapter=adapter) as bench:
            write_private(
                kept,
                json.dumps(measure(bench, dict(read_scenes(items_csv)), sampled=sampled), indent=1) + "\n",
            )
    return json.loads(kept.read_text(encoding="utf-8"))


def measure_judge(work: Path) -> dict[str, float]:
    """Share of right answers by question, about descriptions that the judge's training did not contain."""
    kept = work / "figures" / "judge.json"
    if not kept.exists():
        catalogue, settings = catalogue_of(None), settings_for("tiny", {})[1]
        requests = judge_check.unseen(catalogue, JUDGED, seed=0)
        with open_workbench(settings, catalogue, videos=None, adapter=None) as bench:
            write_private(kept, json.dumps(judge_check.right_shares(bench.judge, requests), indent=1) + "\n")
    return json.loads(kept.read_text(encoding="utf-8"))


def trained(work: Path, seed: int) -> Path:
    """The adapter of a clinic of its own."""
    folder = work / "figures" / f"seed-{seed}"
    if not (folder / "data" / "items.csv").exists():
        write_dataset(
            clinic(
                CLINIC_WORLDS + seed,
                story.CLIPS_PER_ITEM,
                children=story.CHILDREN_PER_AGE,
                unseen_share=story.UNSEEN_SHARE,
            ),
            folder / "data",
        )
    if not (folder / "run" / "adapter").is_dir():
        train(
            folder / "data" / "items.csv",
            folder / "data" / "videos",
            run=folder / "run",
            preset="tiny",
            over=story.settings(seed),
            resume=(folder / "run" / "config.toml").exists(),
            tell=print,
        )
    return folder / "run" / "adapter"


def figures(work: Path, ceiling: Path) -> str:
    """The table of all arms and the judge's figures, as Markdown."""
    arms = {"base": measure_arm(work, "base", over={}, adapter=None, sampled=True)}
    for seed in SEEDS:
        adapter = trained(work, seed)
        arms[f"adapted, seed {seed}"] = measure_arm(work, f"adapted-{seed}", over={}, adapter=adapter, sampled=False)
    over = {"models": {"descriptor": str(ceiling)}}
    arms["ceiling"] = measure_arm(work, "ceiling", over=over, adapter=None, sampled=False)
    lines = ["| | " + " | ".join(arms) + " |", "|---" * (1 + len(arms)) + "|"]
    for name, words in ROWS.items():
        cells = (a[name] if isinstance(a[name], int) else f"{a[name]:.3f}" for a in arms.values())
        lines.append(f"| {words} | " + " | ".join(map(str, cells)) + " |")
    cells = {cell: f"{share:.2f}" for cell, share in arms["base"]["right_samples_in_wrong_cells"].items()}
    lines += ["", f"cells that the base tells wrong, and the share of right samples in them: {cells}", ""]
    lines += [f"judge, {name}: {share:.3f}" for name, share in measure_judge(work).items()]
    return "\n".join(lines)
