"""The two phases of a slice that leave files: sample and judge. Each is read from disk where it is there already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter

from srlite.describing import put, sample
from srlite.descriptor.generate import Ask
from srlite.descriptor.prompts import training_prompt
from srlite.device.halving import halving, portions
from srlite.errors import InputError, SrliteError
from srlite.judge.client import Request
from srlite.training.reward import questions_for, reward
from srlite.training.rollouts import add_groups, complete_groups, groups_so_far, read_groups, read_rewards, write_rewards
from srlite.training.run import Run
from srlite.training.schedule import Slice, seed_of
from srlite.types import Group, Pair, Reward, Rollout
from srlite.workbench import Workbench

Tick = Callable[[int, int], None]
Note = Callable[[str], None]
Worded = tuple[Pair, int]
"""A pair and the wording of its prompt."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """The groups of a slice; `tokens` counts those sampled now, not before. `at_once`: descriptions that fitted into a row."""

    groups: list[Group]
    tokens: int
    at_once: int


def sampled(bench: Workbench, run: Run, part: Slice, *, at_once: int, tick: Tick, note: Note) -> Sampled:
    """The slice's groups. A clip that cannot be read any more is left out, with a note; the rest goes on.

    Pairs are sampled a few at once, always the same ones together: what is beside a sample changes its last bits.
    """
    path = run.slice_folder(part.round, part.number) / "rollouts.jsonl"
    if path.exists():
        groups = read_groups(path)
        _check_pairs(run, part, groups)
        return Sampled(groups, 0, at_once)
    begun = {(g.pair, g.prompt): g for g in groups_so_far(path)}
    groups, tokens = [], 0
    less = lambda size: note(f"out of memory: from here on {size} descriptions are sampled at once")
    for batch in portions(list(zip(part.pairs, part.wordings, strict=True)), bench.settings.sampling.pairs):
        found = [begun[worded] for worded in batch if worded in begun]
        if len(found) < len(batch):
            readable = [(worded, ask) for worded in batch if (ask := _ask(bench, part, worded, note))]
            take = partial(_in_portions, bench, [ask for _, ask in readable])
            rollouts, at_once = halving(take, at_once, told=less)
            found = [Group(*worded, r) for (worded, _), r in zip(readable, rollouts, strict=True)]
            add_groups(found, path)
            tokens += sum(len(r.tokens) for group in found for r in group.rollouts)
        groups += found
        tick(len(groups), len(part.pairs))
    if not groups:
        raise InputError(
            f"none of the {len(part.pairs)} pairs of round {part.round}, slice {part.number} has a clip that can be read",
            where=str(bench.videos),
            remedy="Is the folder of the clips still there? Then go on with --resume.",
        )
    complete_groups(groups, path)
    return Sampled(groups, tokens, at_once)


def _ask(bench: Workbench, part: Slice, worded: Worded, note: Note) -> Ask | None:
    pair, wording = worded
    try:
        frames, sha256 = bench.clips.frames(bench.path(pair.clip))
    except InputError as error:
        note(f"{pair.clip} is left out of round {part.round}: {error.message}")
        return None
    text = training_prompt(bench.catalogue[pair.item], pair.age_months, wording)
    prompt, features = put(bench, frames, sha256, text)
    seed = partial(seed_of, bench.settings.seed, "sample", part.round, pair.id)
    return Ask(prompt, features, tuple(seed(i) for i in range(bench.settings.sampling.group)))


def _in_portions(bench: Workbench, asks: Sequence[Ask], size: int) -> list[tuple[Rollout, ...]]:
    """The descriptions of all asks, `size` of them in one row."""
    found: list[list[Rollout]] = [[] for _ in asks]
    for portion in portions([(i, seed) for i, ask in enumerate(asks) for seed in ask.seeds], size):
        seeds = {i: tuple(seed for _, seed in of_ask) for i, of_ask in groupby(portion, key=itemgetter(0))}
        parts = (replace(asks[i], seeds=some) for i, some in seeds.items())
        for i, rollouts in zip(seeds, sample(bench, parts), strict=True):
            found[i] += rollouts
    return [tuple(f) for f in found]


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
    with bench.judges_turn():
        for i in sorted(range(len(groups)), key=lambda i: groups[i].pair.item):
            found[i] = _rewards(bench, groups[i])
            tick(len(found), len(groups))
    rewards = [found[i] for i in range(len(groups))]
    write_rewards(rewards, path)
    return rewards


def _rewards(bench: Workbench, group: Group) -> tuple[Reward, ...]:
    item, questions, how = bench.catalogue[group.pair.item], questions_for(group.pair), bench.settings.reward
    verdicts = bench.judge.ask([Request(item, r.text, questions) for r in group.rollouts])
    return tuple(reward(group.pair, v, how.terms, graded=how.graded) for v in verdicts)
