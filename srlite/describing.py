"""From a pair to a description, from a description to a decision: the steps that every job shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from srlite.descriptor.features import Features
from srlite.descriptor.generate import sample_group
from srlite.descriptor.inputs import Prompt, build_prompt
from srlite.judge.client import Request
from srlite.judge.decision import decide
from srlite.judge.questions import QUESTIONS
from srlite.types import Decision, Frames, Pair, Rollout, Verdicts
from srlite.workbench import Workbench

ALL_QUESTIONS = tuple(q.id for q in QUESTIONS)


@dataclass(frozen=True, slots=True)
class Described:
    """A pair and the greedy description of it."""

    pair: Pair
    description: str
    tokens: int
    frames: Frames
    clip_sha256: str


@dataclass(frozen=True, slots=True)
class Decided:
    """A description judged. `decision` is None when a needed verdict is unscored."""

    pair: Pair
    description: str
    tokens: int
    verdicts: Verdicts
    decision: Decision | None


def prepare(bench: Workbench, clip: str, text: str) -> tuple[Prompt, Features, Frames, str]:
    """The model's input for one clip and request, its vision features, its frames, and the clip's SHA-256."""
    frames, sha256 = bench.clips.frames(bench.path(clip))
    prompt = build_prompt(bench.descriptor, frames, text, system=None)
    return prompt, bench.features.features(bench.descriptor, prompt, clip_sha256=sha256), frames, sha256


def sample(bench: Workbench, prompt: Prompt, features: Features, *, seed: int) -> tuple[Rollout, ...]:
    """A group of descriptions under the current adapter; the same seed gives the same group."""
    s = bench.settings.sampling
    generator = torch.Generator().manual_seed(seed)
    return sample_group(
        bench.descriptor,
        prompt,
        features,
        count=s.group,
        max_new_tokens=s.max_new_tokens,
        temperature=s.temperature,
        top_p=s.top_p,
        generator=generator,
    )


def describe(bench: Workbench, pair: Pair, text: str) -> Described:
    """The likeliest description of the pair's clip, asked with `text`."""
    prompt, features, frames, sha256 = prepare(bench, pair.clip, text)
    (rollout,) = sample_group(
        bench.descriptor,
        prompt,
        features,
        count=1,
        temperature=0.0,
        top_p=1.0,
        generator=None,
        max_new_tokens=bench.settings.sampling.max_new_tokens,
    )
    return Described(pair, rollout.text.strip(), len(rollout.tokens), frames, sha256)


def judged(bench: Workbench, described: Sequence[Described]) -> list[Decided]:
    """All six verdicts and the decision for each description."""
    requests = [Request(bench.catalogue[d.pair.item], d.description, ALL_QUESTIONS) for d in described]
    return [
        Decided(d.pair, d.description, d.tokens, verdicts, decide(verdicts))
        for d, verdicts in zip(described, bench.judge.ask(requests), strict=True)
    ]
