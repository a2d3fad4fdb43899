"""`srlite evaluate`: the test part of a run, described by each arm and decided by the judge.

Every matched test pair is described and decided, and unrelated pairs (half as many) test whether the descriptor abstains. What
was said is kept case by case, and every figure follows from the cases. The result stands in evaluation.json of the run, schema
srlite.evaluation/1 (document.py); it is written before what is asked for besides is begun, and again after each of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from srlite.demo.truth import Scenes, read_scenes
from srlite.descriptor.load import adapter_off
from srlite.errors import InputError, SrliteError
from srlite.evaluation.arms import ArmPlan, ablated_run, plan_arms
from srlite.evaluation.audit import audit as audited
from srlite.evaluation.card import card_of
from srlite.evaluation.cases import Tick, collect, with_opinions
from srlite.evaluation.comparison import comparisons
from srlite.evaluation.document import Ablation, Case, Evaluation, Named, read_evaluation
from srlite.evaluation.figures import Basis, arm_figures
from srlite.evaluation.flow import flow_of, sums_that_fail
from srlite.evaluation.second import second_judge_of
from srlite.files import write_private
from srlite.judge.header import check_header
from srlite.models.store import find_judge
from srlite.records.dataset import Dataset, read_dataset
from srlite.records.mismatch import matched_pairs, mismatched_pairs
from srlite.records.sides import Split
from srlite.training.job import how_for
from srlite.training.run import Run, check_lock, finished_run
from srlite.training.schedule import seed_of
from srlite.types import Pair, Record
from srlite.workbench import Workbench, open_workbench, with_judge


def evaluate(
    items_csv: Path,
    videos: Path,
    *,
    run: Path,
    catalogue: Path | None = None,
    compare: Sequence[str] = (),
    ablate: Path | None = None,
    second_judge: str | None = None,
    audit: bool = False,
    tick: Tick = lambda arm, done, total: None,
) -> Evaluation:
    """Evaluate a finished run on its test part. `tick(arm, done, total)` is called after each pair.

    compare: generic, base, adapted: arms beside adapted, which is always there. ablate: another finished run with the same test
    part, for the arm ablated. second_judge: a name of `srlite models list` or a GGUF file; it decides the same descriptions.
    audit: base and adapted, as far as they are there, are asked again about changed clips.
    Raises InputError when the records are not those of the run, its test part is empty or the other run's is not the same,
    ModelError for other models, UsageError for an unknown arm.
    """
    folder = finished_run(run)
    data = read_dataset(items_csv, videos, catalogue)
    split = _tested(folder, data)
    ablated = ablated_run(ablate, beside=folder, records=data.records, split=split) if ablate else None
    arms = plan_arms(folder, compare, ablated)
    if second_judge:  # before hours go into descriptions
        model = find_judge(second_judge)
        check_header(model.path, model.family)
    with open_workbench(folder.settings(), folder.catalogue(), videos=videos, adapter=folder.adapter) as bench:
        check_lock(folder, bench)
        pairs = test_pairs(split.test, data.records, bench)
        cases = collect(bench, pairs, arms, _scenes(bench, items_csv, pairs), tick=tick)
        found = _kept(folder, _evaluation(folder, bench, data, split, cases, arms, ablated))
        if audit:
            found = _kept(folder, _with_audit(bench, found, tick))
        if second_judge:
            found = _kept(folder, _with_second_opinion(bench, found, second_judge))
    return found


def given_up(
    run: Path, *, compare: Sequence[str], ablate: Path | None, second_judge: str | None, audit: bool
) -> tuple[str, ...]:
    """What the evaluation that is in the run's folder has, and one so asked for, which takes its place, has not."""
    try:
        before = read_evaluation(run / "evaluation.json")
    except InputError:  # none is there, or nothing that could be lost
        return ()
    arms = {*compare, "adapted", *(["ablated"] if ablate else [])}
    gone = [f"the arm {name}" for name in before.arms if name not in arms]
    gone += ["the audit"] if before.audit and not audit else []
    gone += ["the second judge"] if before.second_judge and not second_judge else []
    return tuple(gone)


def evaluation_json(found: Evaluation) -> dict[str, object]:
    """The document of schema srlite.evaluation/1, with every case."""
    return found.model_dump(mode="json", by_alias=True)


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


def _tested(run: Run, data: Dataset) -> Split:
    """The run's split. Raises InputError when nothing was kept for the test."""
    split = run.split(data.records)
    if not split.test:
        raise InputError(
            "the test part of this run is empty",
            where=str(run.folder),
            remedy="Train with more children, or with another --split.",
        )
    return split


def _evaluation(
    run: Run,
    bench: Workbench,
    data: Dataset,
    split: Split,
    cases: Sequence[Case],
    arms: Sequence[ArmPlan],
    ablated: Run | None,
) -> Evaluation:
    """Everything that follows from the cases."""
    names, codes = [arm.name for arm in arms], {r.item for r in data.records}
    seed = seed_of(bench.settings.seed, "resamples")
    basis = Basis([bench.catalogue[code] for code in sorted(codes)], bench.judge.settings.thresholds, seed)
    asked = [bench.catalogue[code] for code in sorted(codes | {c.item for c in cases})]
    flow = flow_of(data, split, cases, names)
    if wrong := sums_that_fail(flow):
        raise SrliteError(f"the counts of this evaluation do not add up: {'; '.join(wrong)}", remedy="Please report this.")
    return Evaluation(
        run=run.folder.name,
        demonstration=bench.demonstration,
        arms={name: arm_figures(cases, name, basis) for name in names},
        comparisons=comparisons(cases, names, seed=seed),
        flow=flow,
        unreadable=tuple(f"{c.clip}: {c.unreadable}" for c in cases if c.unreadable is not None),
        ablation=_ablation(run, ablated) if ablated else None,
        card=card_of(run, bench, asked, how_for(data, bench.settings)),
        cases=tuple(cases),
    )


def _ablation(run: Run, other: Run) -> Ablation:
    return Ablation(
        run=other.folder.name,
        adapter_sha256=other.adapter_sha256(),
        terms=other.settings().reward.terms,
        adapted_terms=run.settings().reward.terms,
    )


def _with_audit(bench: Workbench, found: Evaluation, tick: Tick) -> Evaluation:
    """The adapter of the run is on: adapted was asked last."""
    states = {"base": partial(adapter_off, bench.descriptor), "adapted": nullcontext}
    arms = [(name, state) for name, state in states.items() if name in found.arms]
    told = audited(bench, found.cases, arms, seed=bench.settings.seed, tick=partial(tick, "again, clips changed"))
    return found.model_copy(update={"audit": told})


def _with_second_opinion(bench: Workbench, found: Evaluation, judge: str) -> Evaluation:
    with with_judge(bench, judge) as other:
        cases = with_opinions(other, found.cases)
        named = Named(id=other.judge_model.id, sha256=other.judge.sha256)
    told = second_judge_of(cases, tuple(found.arms), named, first_sha256=found.card.judge.sha256)
    return found.model_copy(update={"cases": cases, "second_judge": told})


def _kept(run: Run, found: Evaluation) -> Evaluation:
    """Written to the run's folder."""
    write_private(run.folder / "evaluation.json", found.json_text())
    return found


def _scenes(bench: Workbench, items_csv: Path, pairs: Sequence[Pair]) -> Scenes:
    """What the clips show, where they are of the demonstration world; empty where it is not known of all of them."""
    scenes = read_scenes(items_csv) if bench.demonstration else {}
    return scenes if {p.clip for p in pairs} <= set(scenes) else {}
