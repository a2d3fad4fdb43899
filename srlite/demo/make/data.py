"""Pictures to learn from: scenes of other seeds and other children than any example, rendered once to disk."""

from __future__ import annotations

import io
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from srlite.demo.draw import render
from srlite.demo.make.architecture import FRAMES, SIZE
from srlite.demo.world import ITEMS, Scene, draw_action, draw_child, draw_view, item_age
from srlite.types import Outcome

TRAINING_WORLD = 7
"""Seed of the world that the tiny models learn in; the examples and every measurement use other worlds."""


@dataclass(frozen=True)
class Clips:
    scenes: tuple[Scene, ...]
    pictures: np.ndarray  # uint8 (N, F, H, W, 3), on disk


def frame_times(duration_s: float) -> tuple[float, ...]:
    """The moments that srlite samples: the middle of each of F equal parts."""
    return tuple((i + 0.5) / FRAMES * duration_s for i in range(FRAMES))


def training_scenes(count: int, seed: int) -> tuple[Scene, ...]:
    """Scenes with every action of every item equally often and one view in ten that shows nothing.

    By action, not by outcome: a refusal has three forms, and each must be seen as often as any other action.
    """
    rng = random.Random(f"training/{seed}")
    outcomes: tuple[Outcome, ...] = ("pass", "fail")
    actions = [(code, outcome, a) for code, world in ITEMS.items() for outcome in outcomes for a in world.actions(outcome)]
    scenes = []
    for number in range(count):
        item, outcome, action = actions[number % len(actions)]
        child = draw_child(number, TRAINING_WORLD, item_age(item))
        scenes.append(draw_action(item, outcome, action, child, draw_view(rng, 0.1), rng))
    rng.shuffle(scenes)
    return tuple(scenes)


def as_filmed(picture: np.ndarray, quality: int) -> np.ndarray:
    """A picture with the colour subsampling and block losses of a video file, by way of JPEG."""
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "JPEG", quality=quality)
    return np.asarray(Image.open(buffer))


def load_clips(folder: Path, count: int, seed: int) -> Clips:
    """Render `count` training clips once; afterwards read them from `folder`."""
    scenes = training_scenes(count, seed)
    path = folder / f"clips-{seed}-{count}.npy"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".part")
        out = np.lib.format.open_memmap(beside, "w+", np.uint8, (count, FRAMES, SIZE, SIZE, 3))
        for number, scene in enumerate(scenes):
            quality = 55 + scene.seed % 40
            out[number] = [as_filmed(p, quality) for p in render(scene, frame_times(scene.duration_s))]
        out.flush()
        beside.rename(path)
    return Clips(scenes, np.load(path, mmap_mode="r"))
