"""`srlite evaluate --audit`: does it look at the video? Each matched test pair again, other pictures in the place of its clip.

    for each pair, for each change     the tower looks once, then each arm describes            (the descriptor's turn)
    all descriptions                   judged as those of the clips themselves were             (the judge's turn)
    counted                            srlite.evaluation.trials, which says what follows from a change and what does not

Every arm is asked with the item's canonical prompt. Pictures that were changed never come near the caches of clips; verdicts
are cached as always. Left out: pairs of an unrelated item, and clips that could not be read.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from srlite.describing import Described, judged, likeliest, put, put_changed, seen_of
from srlite.descriptor.prompts import canonical_prompt
from srlite.evaluation import changes
from srlite.evaluation.document import ArmName, Audit, Case, Change
from srlite.evaluation.trials import Reply, Trial, counted, nearness, should_be
from srlite.training.schedule import seed_of
from srlite.types import Frames, Item, Pair
from srlite.workbench import Workbench

State = Callable[[], AbstractContextManager]
"""Makes the context in which an arm speaks: adapter_off for the base, nullcontext for the adapted one."""


@dataclass(frozen=True, eq=False)
class Instead:
    """What is shown in the place of a pair's clip. `sha256`: of the file whose pictures these are, all of them in order; None
    where they were changed."""

    change: Change
    frames: Frames
    sha256: str | None = None
    other: Case | None = None


def audit(
    bench: Workbench,
    cases: Sequence[Case],
    arms: Sequence[tuple[ArmName, State]],
    *,
    seed: int,
    tick: Callable[[int, int], None],
) -> Audit:
    """cases: of the test part, with what each of the arms said of their own clips; `tick(done, total)` after each matched one.

    Raises InputError when a clip that was read can no longer be.
    """
    read = [c for c in cases if c.outcome is not None and c.unreadable is None]
    trials: list[Trial] = []
    described: list[Described] = []
    for done, case in enumerate(read, start=1):
        for instead in _all_instead(bench, case, read, seed):
            described += _described(bench, case, instead, [state for _, state in arms])
            trials.append(_begun(bench.catalogue[case.item], case, instead))
        tick(done, len(read))
    replies = (Reply(d.description, d.decision) for d in judged(bench, described))
    told = [replace(trial, replies={name: next(replies) for name, _ in arms}) for trial in trials]
    return counted(read, told, [name for name, _ in arms])


def other_clip(case: Case, cases: Sequence[Case], seed: int) -> Case | None:
    """One of those that are nearest to what is wanted (trials.nearness), by the seed; None where all have the same clip."""
    others = sorted((c for c in cases if c.clip_sha256 != case.clip_sha256), key=lambda c: (c.clip, c.item))
    best = min((nearness(case, c) for c in others), default=None)
    nearest = [c for c in others if nearness(case, c) == best]
    return random.Random(seed_of(seed, "other clip", case.clip, case.item)).choice(nearest) if nearest else None


def _all_instead(bench: Workbench, case: Case, cases: Sequence[Case], seed: int) -> Iterator[Instead]:
    """Every change that there is for this pair."""
    own, _ = bench.clips.frames(bench.path(case.clip))
    yield Instead("blank", changes.blank(own))
    if other := other_clip(case, cases, seed):
        frames, sha256 = bench.clips.frames(bench.path(other.clip))
        yield Instead("other_child", frames, sha256, other)
    if own.real > 1:
        yield Instead("reversed", changes.reversed_order(own))
        yield Instead("shuffled", changes.shuffled(own, seed_of(seed, "shuffle", case.clip)))
        yield Instead("halved", changes.halved(own))
    if item_s := bench.catalogue[case.item].duration_s:
        yield Instead("cut", changes.cut(own, item_s))


def _described(bench: Workbench, case: Case, instead: Instead, states: Sequence[State]) -> list[Described]:
    """What each arm says; the tower, which is the same for all, looks once."""
    pair = Pair(case.clip, case.item, case.outcome, case.age_months, case.child, case.sex, case.site)
    text = canonical_prompt(bench.catalogue[case.item], case.age_months)
    frames, sha256 = instead.frames, instead.sha256
    prompt, features = put(bench, frames, sha256, text) if sha256 else put_changed(bench, frames, text)
    said = []
    for state in states:
        with state():
            said.append(likeliest(bench, pair, prompt, features, seen_of(frames, sha256)))
    return said


def _begun(item: Item, case: Case, instead: Instead) -> Trial:
    """Without what was said, and without the pictures: all of them would not fit into memory."""
    should = should_be(case, item, instead.change, left_s=instead.frames.duration_s, other=instead.other)
    return Trial(case, instead.change, should, other=instead.other)
