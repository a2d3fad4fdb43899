"""Training, whole: rounds of slices, and in each slice sample -> judge -> update, every phase on disk before the next.

    for each slice that has no checkpoint yet:
        rollouts    from disk, or G descriptions a pair under the present adapter      (the descriptor's turn)
        rewards     from disk, or the judge's verdicts made into rewards               (the judge's turn)
        update      GRPO steps on the groups with a signal                             (the descriptor's turn)
        checkpoint
        validate    at the end of a round; the score goes into the checkpoint

A process killed at any moment loses the phase in hand, and resuming repeats it to the bit on the CPU: seeds follow from the
run's seed and the pair, never from what was done before.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from srlite.device.clock import Clock
from srlite.device.threads import usable_threads
from srlite.errors import UsageError
from srlite.records.sides import Split
from srlite.training.alarms import alarms, refuse_broken, refuse_unscored
from srlite.training.phases import rewarded, sampled
from srlite.training.progress import Note, Phase, Progress, SliceDone, Tell
from srlite.training.run import Run, State, own
from srlite.training.schedule import Slice, seed_of, slices
from srlite.training.summary import figures_of, rates
from srlite.training.update import optimiser_for, update_slice
from srlite.training.validation import validate, validation_pairs
from srlite.types import Pair
from srlite.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Trained:
    """`chosen` is the state of the adapter, `last` the newest; `complete` is False when the time limit ended the run."""

    chosen: State
    last: State
    complete: bool


def train_run(bench: Workbench, run: Run, split: Split, *, tell: Tell, deadline: float | None) -> Trained:
    """Train until the plan is done or `deadline` (of time.monotonic) is near; then make the best checkpoint the adapter.

    The deadline is looked at between slices: at least one is always done.
    """
    threads = usable_threads(bench.settings.threads)
    _check_threads(run, own(run, bench, threads), threads)
    plan = slices(split.train, (*split.train, *split.validation, *split.test), bench.catalogue, bench.settings)
    validation = validation_pairs(bench, split)
    optimiser = optimiser_for(bench.descriptor, bench.settings.schedule.learning_rate)
    state = run.restore(bench.descriptor, optimiser) or State(step=0, round=0, slice=0)
    run.keep_metrics_until(state)
    if state.round:
        tell(Note(f"resumed after round {state.round}, slice {state.slice}, step {state.step}"))
    todo = [part for part in plan if (part.round, part.number) > (state.round, state.slice)]
    ended = next((p for p in plan if (p.round, p.number) == (state.round, state.slice) and p.last), None)
    if ended and state.score is None:
        state = _validated(bench, run, ended, state, validation, tell)
    began = time.monotonic()
    for done, part in enumerate(todo):
        if deadline is not None and done and time.monotonic() + (time.monotonic() - began) / done > deadline:
            break
        with bench.features.aside(run.slice_folder(part.round, part.number) / "features"):
            state, figures = _learn(bench, run, part, optimiser, state, tell)
        run.add_metrics(figures)
        for text in alarms([m for m in run.metrics() if "pairs" in m]):
            tell(Note(f"warning: round {part.round}, slice {part.number}: {text}"))
        run.save_checkpoint(bench.descriptor, optimiser, state)
        if part.last:
            state = _validated(bench, run, part, state, validation, tell)
        left_s = (time.monotonic() - began) / (done + 1) * (len(todo) - done - 1)
        if deadline is not None:
            left_s = min(left_s, max(0.0, deadline - time.monotonic()))
        tell(SliceDone(figures | {"validation": state.score}, left_s))
    complete = (state.round, state.slice) == (plan[-1].round, plan[-1].number)
    return Trained(run.finish(), state, complete)


def _learn(bench: Workbench, run: Run, part: Slice, optimiser, state: State, tell: Tell) -> tuple[State, dict[str, object]]:
    """One slice: its phases, where the run stands afterwards, and the line for metrics.jsonl."""
    note = lambda text: tell(Note(text))
    clock, before = Clock(on_card=bench.on_card), _spent(bench)
    group, ticker = bench.settings.sampling.group, partial(_ticker, part=part, bench=bench, tell=tell)
    at_once = state.sampled_at_once or bench.settings.sampling.pairs * group
    portion = state.learnt_at_once or bench.settings.schedule.learnt_at_once or group
    with clock.phase("sample"):
        sample = sampled(bench, run, part, at_once=at_once, tick=ticker("sample"), note=note)
    if part.number == 1 and bench.settings.judge.canaries:
        bench.judge.check()
    with clock.phase("judge"):
        rewards = rewarded(bench, run, part, sample.groups, tick=ticker("judge"))
    refuse_unscored(rewards, bench.settings.judge.max_unscored)
    seed = seed_of(bench.settings.seed, "update", part.round, part.number)
    with clock.phase("update"):
        update = update_slice(
            bench, optimiser, sample.groups, rewards, seed=seed, portion=portion, tick=ticker("update"), note=note
        )
    refuse_broken(update)
    state = State(
        state.step + update.steps,
        part.round,
        part.number,
        sampled_at_once=sample.at_once if sample.at_once < at_once else state.sampled_at_once,
        learnt_at_once=update.portion if update.portion < portion else state.learnt_at_once,
    )
    spent = {name: now - before[name] for name, now in _spent(bench).items()}
    figures = figures_of(part, sample.groups, rewards, update) | spent | clock.figures
    speed = rates(clock.figures, sampled=sample.tokens, judged=spent["judge_tokens"], learnt=update.tokens)
    return state, figures | speed | {"step": state.step}


def _spent(bench: Workbench) -> dict[str, int]:
    """What the caches spared and what they did not, since the workbench was opened."""
    judge = bench.judge
    return {"cache_hits": judge.cache_hits, "judge_tokens": judge.tokens_evaluated, "tower_calls": bench.features.tower_calls}


def _validated(bench: Workbench, run: Run, part: Slice, state: State, pairs: Sequence[Pair], tell: Tell) -> State:
    """The state with its validation score, which is written into the checkpoint and into metrics.jsonl."""
    score = validate(bench, pairs, tick=_ticker("validate", part=part, bench=bench, tell=tell))
    if score is None:
        return state
    scored = replace(state, score=score.value, score_error=score.error)
    run.add_metrics({"round": part.round, "slice": part.number, "validation": score.value, "validation_error": score.error})
    run.write_state(scored)
    return scored


def _check_threads(run: Run, begun_with: int, threads: int) -> None:
    if begun_with != threads:
        raise UsageError(
            f"the run was begun with {begun_with} threads, now there are {threads}",
            where=str(run.folder),
            remedy=f"Set OMP_NUM_THREADS={begun_with}: another number changes the weights in their last bits.",
        )


def _ticker(phase: Phase, *, part: Slice, bench: Workbench, tell: Tell):
    rounds = bench.settings.schedule.rounds
    return lambda done, total: tell(Progress(phase, part.round, rounds, part.number, part.of, done, total))
