"""Collects the cases: every pair of the test part, with what each arm said of it and what the judge made of that.

A pair that cannot be read in one arm is in none: arms are compared on the same pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from srlite.demo.truth import Scenes, true_of
from srlite.describing import Decided, Described, Seen, describe_all, judged, verdicts_of
from srlite.evaluation.arms import ArmPlan
from srlite.evaluation.document import ArmName, Case, Judged, Opinion, Said
from srlite.judge.decision import decide
from srlite.types import Pair, Verdicts
from srlite.workbench import Workbench

Tick = Callable[[str, int, int], None]
"""Arm, pairs described, of how many."""
_DIGITS, _DIGITS_S = 6, 3


def collect(
    bench: Workbench, pairs: Sequence[Pair], arms: Sequence[ArmPlan], scenes: Scenes, *, tick: Tick
) -> tuple[Case, ...]:
    """One case a pair, in their order. scenes: what the clips show, where that is known. The judge has one turn, at the end."""
    left, unreadable = list(pairs), {}
    described: dict[ArmName, dict[Pair, Described]] = {}
    for arm in arms:
        with arm.at_work(bench.descriptor):
            found, failed = describe_all(bench, left, prompt=arm.prompt, tick=partial(tick, arm.name))
        described[arm.name] = {d.pair: d for d in found}
        unreadable |= {pair: error.message for pair, error in failed}
        left = [pair for pair in left if pair not in unreadable]
    asked = [(name, found[pair]) for name, found in described.items() for pair in left]
    said: dict[Pair, dict[ArmName, Said]] = {pair: {} for pair in left}
    for (name, d), decided in zip(asked, judged(bench, [d for _, d in asked]), strict=True):
        said[d.pair][name] = said_of(decided, scenes)
    seen = {d.pair: d.clip for _, d in asked}
    return tuple(case_of(pair, seen.get(pair), said.get(pair, {}), unreadable.get(pair)) for pair in pairs)


def said_of(decided: Decided, scenes: Scenes) -> Said:
    return Said(
        description=decided.description,
        tokens=decided.tokens,
        decision=decided.decision,
        verdicts=_judged(decided.verdicts),
        true=true_of(scenes, decided.pair, decided.description) if scenes else None,
    )


def case_of(pair: Pair, seen: Seen | None, arms: Mapping[ArmName, Said], unreadable: str | None = None) -> Case:
    """seen: the clip, None when it could not be read."""
    clip = {} if seen is None else _clip(seen)
    return Case(
        clip=pair.clip,
        item=pair.item,
        outcome=pair.outcome,
        child=pair.child,
        sex=pair.sex,
        age_months=pair.age_months,
        site=pair.site,
        unreadable=unreadable,
        arms=arms,
        **{"clip_sha256": None, **clip},
    )


def with_opinions(bench: Workbench, cases: Sequence[Case]) -> tuple[Case, ...]:
    """The cases with what this workbench's judge makes of every description."""
    said = [(at, name, s) for at, case in enumerate(cases) for name, s in case.arms.items()]
    found = verdicts_of(bench, [(cases[at].item, s.description) for at, _, s in said])
    arms: list[dict[ArmName, Said]] = [{} for _ in cases]
    for (at, name, s), verdicts in zip(said, found, strict=True):
        opinion = Opinion(decision=decide(verdicts), verdicts=_judged(verdicts))
        arms[at][name] = s.model_copy(update={"second": opinion})
    return tuple(case.model_copy(update={"arms": a}) for case, a in zip(cases, arms, strict=True))


def _clip(seen: Seen) -> dict[str, object]:
    return {
        "clip_sha256": seen.sha256,
        "duration_s": round(seen.duration_s, _DIGITS_S),
        "frames_s": tuple(round(t, _DIGITS_S) for t in seen.times_s),
        "warnings": seen.warnings,
    }


def _judged(verdicts: Verdicts) -> dict[str, Judged]:
    rounded = lambda p: None if p is None else round(p, _DIGITS)
    return {q: Judged(answer=v.answer, probability=rounded(v.probability), mass=rounded(v.mass)) for q, v in verdicts.items()}
