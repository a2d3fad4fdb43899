"""How much does reading clips safely cost? `python tests/bench/reading.py [--rounds 5]`

Each way reads the same 8 frames of every clip, at the same size, all clips in one go; rounds of the ways are interleaved and
the median is shown. The plain ways have no child process, no time limit and no check, and take frames by index.

    srlite     ClipReaders: child processes, probe, damage and time checks, a clip a core
    pyav       av.open with its own threads, decode to the last wanted frame, resize those wanted
    decord     VideoReader with the target size, get_batch
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import av
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from video.numbered_clips import write_clip  # noqa: E402

from srlite.video.pool import ClipReaders  # noqa: E402

FRAMES, MULTIPLE, MAX_PIXELS = 8, 32, 448 * 448
EXAMPLES = Path(__file__).parents[2] / "examples" / "videos"


def indexes(count: int) -> np.ndarray:
    return ((np.arange(FRAMES) + 0.5) / FRAMES * count).astype(int)


def with_srlite(paths: Sequence[Path], size: tuple[int, int]) -> None:
    with ClipReaders(limit_s=120) as readers:
        for _ in readers.each(paths, lambda p: readers.read(p, count=FRAMES, multiple=MULTIPLE, max_pixels=MAX_PIXELS)):
            pass


def with_pyav(paths: Sequence[Path], size: tuple[int, int]) -> None:
    for path in paths:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            wanted = set(indexes(stream.frames))
            for number, frame in enumerate(container.decode(stream)):
                if number in wanted:
                    frame.reformat(*size, format="rgb24", interpolation="BILINEAR").to_ndarray()
                if number == max(wanted):
                    break


def with_decord(paths: Sequence[Path], size: tuple[int, int]) -> None:
    import decord

    for path in paths:
        reader = decord.VideoReader(str(path), width=size[0], height=size[1])
        reader.get_batch(indexes(len(reader))).asnumpy()


WAYS: tuple[Callable, ...] = (with_srlite, with_pyav, with_decord)


def seconds(way: Callable, paths: Sequence[Path], size: tuple[int, int]) -> float:
    began = time.perf_counter()
    way(paths, size)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder) / "1080p.mp4"
        write_clip(large, frames=250, size=(1920, 1080), options={"g": "50", "preset": "veryfast"})
        sets = {
            "examples": (sorted(EXAMPLES.iterdir()), (128, 128)),
            "1080p, 10 s, 8 times": ([large] * 8, (576, 320)),
        }
        for name, (paths, size) in sets.items():
            times = {way: [] for way in WAYS}
            for _ in range(rounds):
                for way in WAYS:
                    times[way].append(seconds(way, paths, size))
            medians = {way.__name__[5:]: statistics.median(t) for way, t in times.items()}
            fastest = min(v for n, v in medians.items() if n != "srlite")
            shown = ", ".join(f"{n} {len(paths) / m:.1f} clips/s" for n, m in medians.items())
            print(f"{name}: {shown}; srlite takes {medians['srlite'] / fastest:.2f} times the faster plain way")


if __name__ == "__main__":
    main()
