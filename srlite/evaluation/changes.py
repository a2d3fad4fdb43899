"""Other pictures in the place of a clip's own, for `--audit`. Pure: frames in, frames out.

    blank      mid-grey pictures, as many, at the same times
    reversed   the pictures from the last to the first, the times as they were
    shuffled   the pictures in another order, which a seed decides, the times as they were
    halved     the first half of the clip
    cut        the clip up to half of the seconds that its item asks for

Contract: size and format of the pictures stay, F stays even, and where the last picture was repeated to make it so, the last
one of the new order is. Nothing is resampled: half a clip has half the pictures.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from srlite.types import Frames

GREY = 128
"""Mid-grey, of 0 to 255."""


def blank(frames: Frames) -> Frames:
    return replace(frames, images=np.full_like(frames.images, GREY))


def reversed_order(frames: Frames) -> Frames:
    return _in_order(frames, range(frames.real)[::-1])


def shuffled(frames: Frames, seed: int) -> Frames:
    """In an order that is not their own, where there are two pictures or more."""
    own, dice = list(range(frames.real)), random.Random(seed)
    order = dice.sample(own, len(own))
    while order == own and len(own) > 1:
        dice.shuffle(order)
    return _in_order(frames, order)


def halved(frames: Frames) -> Frames:
    return until(frames, frames.duration_s / 2)


def cut(frames: Frames, item_s: float) -> Frames:
    """Far enough below `item_s`, the seconds that an item asks for, that nobody could see them."""
    return until(frames, item_s / 2)


def until(frames: Frames, moment_s: float) -> Frames:
    """The clip as if it ended at `moment_s`: the pictures before it. Its first picture stays, even where it is later."""
    kept = max(1, bisect_left(frames.times_s[: frames.real], moment_s))
    rows = [*range(kept), *[kept - 1] * (kept % 2)]
    times_s = tuple(frames.times_s[i] for i in rows)
    duration_s = max(times_s[-1], min(moment_s, frames.duration_s))
    return Frames(frames.images[rows], times_s, duration_s, kept, frames.warnings)


def _in_order(frames: Frames, order: Sequence[int]) -> Frames:
    """order: of the distinct pictures."""
    padding = len(frames.times_s) - len(order)
    return replace(frames, images=frames.images[[*order, *[order[-1]] * padding]])
