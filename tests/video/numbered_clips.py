"""Clips made for the tests: every frame carries its own number as eight stripes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

BITS = 8


def numbered(i: int, width: int, height: int) -> np.ndarray:
    """Stripes over the upper half spell `i` in binary; below is a gradient with a red corner, bottom left."""
    picture = np.zeros((height, width, 3), np.uint8)
    for bit in range(BITS):
        picture[: height // 2, bit * width // BITS : (bit + 1) * width // BITS] = 235 * (i >> bit & 1)
    picture[height // 2 :, :, 1] = np.linspace(20, 220, width)
    picture[height * 3 // 4 :, : width // 4] = (220, 20, 20)
    return picture


def number_of(picture: np.ndarray) -> int:
    """The number that `numbered` drew, read from the upright picture at any size."""
    height, width = picture.shape[:2]
    columns = [picture[: height // 4, (2 * bit + 1) * width // (2 * BITS)].mean() for bit in range(BITS)]
    return sum(int(column > 120) << bit for bit, column in enumerate(columns))


def write_clip(
    path: Path | object,
    *,
    frames: int = 50,
    size: tuple[int, int] = (320, 240),
    fps: int = 25,
    codec: str = "libx264",
    pixels: str = "yuv420p",
    ticks: Sequence[int] | None = None,
    tick: Fraction | None = None,
    turn: tuple[int, bool] | None = None,
    options: dict[str, str] | None = None,
    container: dict[str, str] | None = None,
    format: str | None = None,
    tag: Callable[[object], None] = lambda tagged: None,
    draw: Callable[[int, int, int], np.ndarray] = numbered,
) -> None:
    """`tag` sets colour attributes on the codec context and on each frame. `turn`: degrees and mirrored."""
    with av.open(path if hasattr(path, "write") else str(path), "w", format=format, options=container or {}) as out:
        stream = out.add_stream(codec, rate=fps, options=options or {})
        stream.width, stream.height, stream.pix_fmt = *size, pixels
        if tick:
            stream.codec_context.time_base = tick
        tag(stream.codec_context)
        if turn:
            stream.set_display_rotation(turn[0], hflip=turn[1])
        for i in range(frames):
            frame = av.VideoFrame.from_ndarray(draw(i, *size), format="rgb24")
            tag(frame)
            frame = frame.reformat(format=pixels)
            frame.pts, frame.time_base = ticks[i] if ticks else i, tick or Fraction(1, fps)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))


class Unseekable:
    """A target like a pipe: the writer cannot go back to fill in the duration."""

    def __init__(self, path: Path):
        self._file = path.open("wb", buffering=0)

    def write(self, data: bytes) -> int:
        return self._file.write(data)
