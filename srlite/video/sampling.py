"""Which frames to look at and how large to show them: pure maths, no files, no libraries.

Frames are chosen by presentation time, never by index: in a variable-rate clip even indexes are not even
times.
Left out: decoding, and any opinion about how many frames or pixels a model wants (the caller says).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import product


def sample_times(duration_s: float, count: int) -> tuple[float, ...]:
    """The middle of each of `count` equal parts of the clip, in seconds: (i + 0.5) / count * duration."""
    if count < 1:
        raise ValueError(f"count must be at least 1, not {count}")
    return tuple((i + 0.5) / count * duration_s for i in range(count))


def choose(presentation_times_s: Sequence[float], wanted_s: Sequence[float]) -> tuple[int, ...]:
    """Index of the frame nearest to each wanted moment. Both sequences are sorted, in seconds.

    The indexes increase and are distinct while the clip has enough frames. A shorter clip gives all its
    frames. Either way the answer is padded to an even length by repeating the last index. Raises ValueError
    without frames.
    """
    have, count = len(presentation_times_s), len(wanted_s)
    if have == 0:
        raise ValueError("there are no frames to choose from")
    chosen = list(range(have)) if have <= count else _distinct_nearest(presentation_times_s, wanted_s)
    return tuple(chosen + chosen[-1:] if len(chosen) % 2 else chosen)


def fit_size(width: int, height: int, *, multiple: int, max_pixels: int) -> tuple[int, int]:
    """Size (width, height) in pixels to show a picture at: both sides multiples of `multiple`, area <=
    max_pixels.

    The aspect ratio is kept as well as the grid allows. No side is enlarged beyond its nearest multiple,
    none falls below one multiple. Raises ValueError when max_pixels does not hold one square of side
    `multiple`.
    """
    budget = max_pixels // (multiple * multiple)
    if min(width, height) < 1 or budget < 1:
        raise ValueError(f"cannot fit {width}x{height} into {max_pixels} pixels in steps of {multiple}")
    shrink = min(1.0, math.sqrt(max_pixels / (width * height)))
    columns, rows = width * shrink / multiple, height * shrink / multiple
    widest, highest = _nearest_multiple(width, multiple), _nearest_multiple(height, multiple)
    grids = set(_grids(columns, rows, widest, highest, budget))
    best = min(sorted(grids), key=lambda grid: _misfit(grid, columns, rows))
    return best[0] * multiple, best[1] * multiple


def _distinct_nearest(times_s: Sequence[float], wanted_s: Sequence[float]) -> list[int]:
    chosen: list[int] = []
    for i, moment in enumerate(wanted_s):
        lowest = chosen[-1] + 1 if chosen else 0
        highest = len(times_s) - (len(wanted_s) - i)  # leaves a frame for each moment still to come
        chosen.append(min(max(_nearest(times_s, moment), lowest), highest))
    return chosen


def _nearest(times_s: Sequence[float], moment_s: float) -> int:
    after = bisect_left(times_s, moment_s)
    if after == 0 or after == len(times_s):
        return min(after, len(times_s) - 1)
    return after - 1 if moment_s - times_s[after - 1] <= times_s[after] - moment_s else after


def _nearest_multiple(side: int, multiple: int) -> int:
    return max(1, round(side / multiple))


def _grids(columns: float, rows: float, widest: int, highest: int, budget: int) -> Iterator[tuple[int, int]]:
    """Whole grids around the ideal one, none over `budget` cells (where one side must give, each in turn)."""
    for across, down in product(_neighbours(columns), _neighbours(rows)):
        across, down = min(across, widest, budget), min(down, highest, budget)
        yield min(across, budget // down), down
        yield across, min(down, budget // across)


def _neighbours(cells: float) -> tuple[int, int]:
    return max(1, math.floor(cells)), max(1, math.ceil(cells))


def _misfit(grid: tuple[int, int], columns: float, rows: float) -> float:
    """Distortion of the aspect ratio plus half the change of area, as logarithms: a trade-off, not a law."""
    across, down = math.log(grid[0] / columns), math.log(grid[1] / rows)
    return abs(across - down) + 0.5 * abs(across + down)
