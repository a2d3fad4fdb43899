"""The two phases of a slice that leave files: sample and judge. Each is read from disk where it is there already."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from srlite.describing import prepare, sample
from srlite.descriptor.prompts import training_prompt
from srlite.device.turns import judge_turn
from srlite.errors import InputError, SrliteError
from srlite.judge.client import Request
from srlite.training.reward import questions_for, reward
from srlite.training.rollouts import add_group, complete_groups, groups_so_far, read_groups, read_rewards, write_rewards
from srlite.training.run import Run
from srlite.training.schedule import Slice, seed_of
from srlite.types import Group, Reward
from srlite.workbench import Workbench

Tick = Callable[[int, int], None]


class Clock:
    """Wall-clock seconds of each phase, and the process's peak memory."""

    def __init__(self) -> None:
        self._figures: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self._figures[f"{name}_s"] = round(time.monotonic() - began, 3)

    def figures(self) -> dict[str, float]:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return {**self._figures, "peak_memory_mb": round(peak)}


def sampled(bench: Workbench, run: Run, part: Slice, *, tick: Tick, note: Callable[[str], None]) -> list[Group]:
    """The slice's groups. A clip that cannot be read any more is left out, with a note; the rest goes on."""
    path = run.slice_folder(part.round, part.number) / "rollouts.jsonl"
    if path.exists():
        groups = read_groups(path)
        _check_pairs(run, part, groups)
        return groups
    begun = {(g.pair, g.prompt): g for g in groups_so_far(path)}
    groups = []
    for done, (pair, wording) in enumerate(zip(part.pairs, part.wordings, strict=True), start=1):
        if kept := begun.get((pair, wording)):
            groups.append(kept)
            continue
        text = training_prompt(bench.catalogue[pair.item], pair.age_months, wording)
        try:
            prompt, features, _, _ = prepare(bench, pair.clip, text)
        except InputError as error:
            note(f"{pair.clip} is left out of round {part.round}: {error.message}")
            continue
        seed = seed_of(bench.settings.seed, "sample", part.round, pair.id)
        groups.append(Group(pair, wording, sample(bench, prompt, features, seed=seed)))
        add_group(groups[-1], path)
        tick(done, len(part.pairs))
    complete_groups(groups, path)
    return groups


def _check_pairs(run: Run, part: Slice, groups: Sequence[Group]) -> None:
    """What is on disk must have been sampled for this very slice (some of its pairs may be left out)."""
    wanted = iter(part.pairs)
    if not all(group.pair in wanted for group in groups):
        raise InputError(
            f"round {part.round}, slice {part.number} was sampled for other pairs than the present records give",
            where=str(run.folder),
            remedy="Restore the records, or begin a new run.",
        )


def rewarded(bench: Workbench, run: Run, part: Slice, groups: Sequence[Group], *, tick: Tick) -> list[tuple[Reward, ...]]:
    """The rewards of the slice's groups, in their order. Groups of one item are judged behind one another."""
    path = run.slice_folder(part.round, part.number) / "rewards.jsonl"
    if path.exists():
        rewards = read_rewards(path)
        if [len(r) for r in rewards] != [len(g.rollouts) for g in groups]:
            raise SrliteError(
                "the rewards do not belong to the rollouts beside them", where=str(path), remedy="Delete the file."
            )
        return rewards
    found: dict[int, tuple[Reward, ...]] = {}
    with judge_turn(bench.judge, on_card=bench.on_card):
        for i in sorted(range(len(groups)), key=lambda i: groups[i].pair.item):
            found[i] = _rewards(bench, groups[i])
            tick(len(found), len(groups))
    rewards = [found[i] for i in range(len(groups))]
    write_rewards(rewards, path)
    return rewards


def _rewards(bench: Workbench, group: Group) -> tuple[Reward, ...]:
    item, questions = bench.catalogue[group.pair.item], questions_for(group.pair)
    verdicts = bench.judge.ask([Request(item, r.text, questions) for r in group.rollouts])
    return tuple(reward(group.pair, v, bench.settings.reward.terms) for v in verdicts)
