"""The tiny descriptor's own samples, for the judge's second stage: what it will really have to judge.

Clips of a world that no other stage uses; matched and unrelated items, temperature 1, from the base and from the ceiling.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path

from srlite.demo.draw import render
from srlite.demo.make.architecture import FRAMES
from srlite.demo.make.data import frame_times
from srlite.demo.make.examples import unrelated_items
from srlite.demo.make.judge import generated, held_out
from srlite.demo.world import balanced
from srlite.descriptor.features import encode
from srlite.descriptor.generate import Ask, sample_groups
from srlite.descriptor.inputs import build_prompt
from srlite.descriptor.load import load_descriptor
from srlite.descriptor.prompts import canonical_prompt, generic_prompt
from srlite.files import write_private
from srlite.records.catalogue import Catalogue
from srlite.types import Frames, Item

SAMPLES_WORLD = 5
CLIPS_PER_CELL = 3
GROUP = 12
MOST_TOKENS = 40
OWN_SHARE = 0.5
"""Of the texts of the second stage, how many are the descriptor's own."""


def load_samples(folder: Path, catalogue: Catalogue, models: Mapping[str, Path]) -> dict[str, list[str]]:
    """Item -> descriptions, distinct."""
    path = folder / "samples.json"
    if not path.exists():
        texts: dict[str, set[str]] = {code: set() for code in catalogue}
        for model in models.values():
            _sample(model, catalogue, texts)
        write_private(path, json.dumps({code: sorted(found) for code, found in texts.items()}, indent=0))
    return json.loads(path.read_text(encoding="utf-8"))


def _sample(model: Path, catalogue: Catalogue, texts: dict[str, set[str]]) -> None:
    descriptor = load_descriptor(model, adapter=None, device="cpu", quantise=False, dtype="auto", seed=0)
    rng = random.Random(0)
    for scene in balanced(SAMPLES_WORLD, CLIPS_PER_CELL):
        times = frame_times(scene.duration_s)
        frames = Frames(render(scene, times), times, scene.duration_s, FRAMES)
        for code in (scene.item, rng.choice(unrelated_items(scene))):
            prompt_of = generic_prompt if rng.random() < 0.1 else canonical_prompt
            prompt = build_prompt(descriptor, frames, prompt_of(catalogue[code], scene.child.age_months), system=None)
            seeds = tuple(rng.getrandbits(63) for _ in range(GROUP))
            ask = Ask(prompt, encode(descriptor, prompt), seeds)
            (group,) = sample_groups(descriptor, [ask], max_new_tokens=MOST_TOKENS, temperature=1.0, top_p=1.0)
            texts[code].update(r.text.strip() for r in group)


def judge_text_of(samples: Mapping[str, list[str]]) -> Callable[[Item, random.Random], str]:
    """Half the descriptor's samples for the item, half generated texts."""

    def text_of(item: Item, rng: random.Random) -> str:
        own = rng.choice(samples[item.code])
        return own if rng.random() < OWN_SHARE and not held_out(item, own) else generated(item, rng)

    return text_of
