"""Clips of the small clinic, and clips cut from them."""

from fractions import Fraction
from pathlib import Path

import av


def clip_of(data: Path, item: str, number: int = 0) -> Path:
    return sorted((data / "videos").glob(f"*_{item}_*"))[number]


def cut(clip: Path, to: Path, frames: int, every: int = 1) -> Path:
    """The clip's first frames, `every` n-th of them at the clip's own pace."""
    with av.open(str(clip)) as source, av.open(str(to), "w") as out:
        video = source.streams.video[0]
        stream = out.add_stream("libx264", rate=video.average_rate)
        stream.width, stream.height, stream.pix_fmt = video.width, video.height, "yuv420p"
        for i, frame in zip(range(frames * every), source.decode(video), strict=False):
            if i % every == 0:
                frame.pts, frame.time_base = i, Fraction(1, int(video.average_rate))
                out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return to
