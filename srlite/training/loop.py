"""Training, whole: rounds of slices, and in each slice sample -> judge -> update, every phase on disk before the next.

    for each slice that has no checkpoint yet:
        rollouts   from disk, or G descriptions a pair under the present adapter      (the descriptor's turn)
        rewards    from disk, or the judge's verdicts made into rewards               (the judge's turn)
        update     GRPO steps on the groups with a signal                             (the descriptor's turn)
        validate   at the end of a round
        checkpoint

A process killed at any moment loses the phase in hand, and resuming repeats it to the bit on the CPU: seeds follow from the
run's seed and the pair, never from what was done before.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from srlite.describing import describe, judged, prepare, sample
from srlite.descriptor.prompts import canonical_prompt, training_prompt
from srlite.device.threads import usable_threads
from srlite.device.turns import judge_turn
from srlite.errors import UsageError
from srlite.judge.client import Request
from srlite.records.mismatch import matched_pairs, mismatched_pairs
from srlite.records.sides import Split
from srlite.training.progress import Note, Progress, SliceDone, Tell
from srlite.training.reward import questions_for, reward
from srlite.training.rollouts import read_groups, read_rewards, write_groups, write_rewards
from srlite.training.run import Run, State, check_lock
from srlite.training.schedule import Slice, seed_of, slices
from srlite.training.summary import figures_of
from srlite.training.update import optimiser_for, update_slice
from srlite.types import Group, Pair, Reward
from srlite.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Trained:
    """`state` is that of the chosen adapter; `complete` is False when the time limit ended the run."""

    state: State
    complete: bool


def train_run(bench: Workbench, run: Run, split: Split, *, tell: Tell, deadline: float | None) -> Trained:
    """Train until the plan is done or `deadline` (of time.monotonic) has passed; then make the best checkpoint the adapter."""
    check_lock(run, bench)
    everything = (*split.train, *split.validation, *split.test)
    plan = slices(split.train, everything, bench.catalogue, bench.settings)
    validation = validation_pairs(bench, split)
    optimiser = optimiser_for(bench.descriptor, bench.settings.schedule.learning_rate)
    state = _restored(run, bench, optimiser, tell)
    todo = [part for part in plan if (part.round, part.number) > (state.round, state.slice)]
    began, complete = time.monotonic(), True
    for done, part in enumerate(todo):
        if deadline is not None and done and time.monotonic() + (time.monotonic() - began) / done > deadline:
            complete = False
            break
        clock = Clock()
        groups = sampled(bench, run, part, tell, clock)
        rewards = rewarded(bench, run, part, groups, tell, clock)
        with clock.phase("update"):
            update = update_slice(
                bench,
                optimiser,
                groups,
                rewards,
                tick=_ticker("update", part, bench, tell),
                seed=seed_of(bench.settings.seed, "update", part.round, part.number),
            )
        score = None
        if part.last:
            with clock.phase("validate"):
                score = validate(bench, validation, part, tell)
        state = replace(state, step=state.step + update.steps, round=part.round, slice=part.number, score=score)
        run.save_checkpoint(bench.descriptor, optimiser, state)
        figures = {
            **figures_of(part, groups, rewards, update, score, bench.judge),
            **clock.figures(),
            "step": state.step,
        }
        run.add_metrics(figures)
        tell(SliceDone(figures, (time.monotonic() - began) / (done + 1) * (len(todo) - done - 1)))
    return Trained(run.finish(), complete)


def sampled(bench: Workbench, run: Run, part: Slice, tell: Tell, clock: Clock) -> list[Group]:
    """The slice's groups, from disk where they are there."""
    path = run.slice_folder(part.round, part.number) / "rollouts.jsonl"
    if path.exists():
        return read_groups(path)
    tick, groups = _ticker("sample", part, bench, tell), []
    with clock.phase("sample"):
        for pair, wording in zip(part.pairs, part.wordings, strict=True):
            text = training_prompt(bench.catalogue[pair.item], pair.age_months, wording)
            prompt, features, _, _ = prepare(bench, pair.clip, text)
            seed = seed_of(bench.settings.seed, "sample", part.round, pair.id)
            groups.append(Group(pair, wording, sample(bench, prompt, features, seed=seed)))
            tick(len(groups), len(part.pairs))
    write_groups(groups, path)
    return groups


def rewarded(
    bench: Workbench, run: Run, part: Slice, groups: Sequence[Group], tell: Tell, clock: Clock
) -> list[tuple[Reward, ...]]:
    """The rewards of the slice's groups, from disk where they are there. Groups of one item are judged behind one another."""
    path = run.slice_folder(part.round, part.number) / "rewards.jsonl"
    if path.exists():
        return read_rewards(path)
    tick, found = _ticker("judge", part, bench, tell), {}
    terms = bench.settings.reward.terms
    with clock.phase("judge"), judge_turn(bench.judge, on_card=bench.on_card):
        for i in sorted(range(len(groups)), key=lambda i: groups[i].pair.item):
            pair, item = groups[i].pair, bench.catalogue[groups[i].pair.item]
            asked = [Request(item, r.text, questions_for(pair)) for r in groups[i].rollouts]
            found[i] = tuple(reward(pair, verdicts, terms) for verdicts in bench.judge.ask(asked))
            tick(len(found), len(groups))
    rewards = [found[i] for i in range(len(groups))]
    write_rewards(rewards, path)
    return rewards


def validation_pairs(bench: Workbench, split: Split) -> tuple[Pair, ...]:
    """The validation part's matched pairs, and a third as many unrelated ones."""
    matched = matched_pairs(split.validation)
    if not matched:
        return ()
    known = (*split.train, *split.validation, *split.test)
    unrelated = mismatched_pairs(
        split.validation,
        bench.catalogue,
        count=max(1, len(matched) // 3),
        known=known,
        seed=seed_of(bench.settings.seed, "validation"),
    )
    return (*matched, *unrelated)


def validate(bench: Workbench, pairs: Sequence[Pair], part: Slice, tell: Tell) -> float | None:
    """Mean of the share of matched pairs decided as the clinician did and of unrelated pairs abstained from."""
    if not pairs:
        return None
    tick, described = _ticker("validate", part, bench, tell), []
    for pair in pairs:
        described.append(describe(bench, pair, canonical_prompt(bench.catalogue[pair.item], pair.age_months)))
        tick(len(described), len(pairs))
    with judge_turn(bench.judge, on_card=bench.on_card):
        decided = judged(bench, described)
    wanted = [d.decision == (d.pair.outcome or "unable_to_assess") for d in decided]
    sides = [[w for w, d in zip(wanted, decided, strict=True) if d.pair.matched is side] for side in (True, False)]
    shares = [sum(side) / len(side) for side in sides if side]
    return sum(shares) / len(shares)


class Clock:
    """Wall-clock seconds of each phase, and the process's peak memory at its end."""

    def __init__(self) -> None:
        self._figures: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str):
        began = time.monotonic()
        yield
        self._figures[f"{name}_s"] = round(time.monotonic() - began, 3)

    def figures(self) -> dict[str, float]:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return {**self._figures, "peak_memory_mb": round(peak)}


def _restored(run: Run, bench: Workbench, optimiser, tell: Tell) -> State:
    threads = usable_threads(bench.settings.threads)
    state = run.restore(bench.descriptor, optimiser)
    if state is None:
        return State(step=0, round=0, slice=0, threads=threads)
    if state.threads != threads:
        raise UsageError(
            f"the run was begun with {state.threads} threads, now there are {threads}",
            where=str(run.folder),
            remedy=f"Set OMP_NUM_THREADS={state.threads}: another number changes the weights in the last bits.",
        )
    run.keep_metrics_until(state)
    tell(Note(f"resumed after round {state.round}, slice {state.slice}, step {state.step}"))
    return state


def _ticker(phase: str, part: Slice, bench: Workbench, tell: Tell):
    rounds = bench.settings.schedule.rounds
    return lambda done, total: tell(Progress(phase, part.round, rounds, part.number, part.of, done, total))
