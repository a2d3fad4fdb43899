"""A thousand damaged inputs, seeds fixed: no hang, no crash of the caller, no picture that is not of its moment.

Damage that no decoder can notice is part of it: VP9 has no check of its own, and a flipped bit of a time is a time. What a
file shows at a moment is therefore what decoding it from its beginning, frame by frame, shows there.
"""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import av
import pytest
from av.error import FFmpegError
from video.numbered_clips import number_of, write_clip

from srlite.demo.world import ITEMS
from srlite.errors import InputError
from srlite.records.dataset import catalogue_of
from srlite.records.items import read_records
from srlite.video.reader import ClipReader

FRAMES, FPS = 40, 20
CLIPS, TABLES = 300, 400
"""Of each of the two containers; of CSV files."""


def flipped(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 4, 32))):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def cut(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] if rng.random() < 0.5 else data[:at] + data[at + rng.randrange(1, 2000) :]


def spliced(data: bytes, rng: random.Random) -> bytes:
    at, length = rng.randrange(len(data)), rng.randrange(1, 2000)
    other = rng.randbytes(length) if rng.random() < 0.5 else data[rng.randrange(len(data)) :][:length]
    return data[:at] + other + data[at + (length if rng.random() < 0.5 else 0) :]


def numbers_by_time(path: Path) -> dict[float, set[int]]:
    """Presentation time -> numbers drawn in the pictures of it, by decoding everything and going on after errors."""
    found: dict[float, set[int]] = {}
    with av.open(str(path), metadata_errors="replace") as container:
        stream = container.streams.video[0]
        start = max(0, container.start_time or 0) / av.time_base
        for packet in container.demux(stream):
            with suppress(FFmpegError):
                for frame in packet.decode():
                    if frame.pts is not None:
                        time_s = round(float(frame.pts * stream.time_base) - start, 3)
                        found.setdefault(time_s, set()).add(number_of(frame.to_ndarray(format="rgb24")))
    return found


def mutated(data: bytes, rng: random.Random) -> bytes:
    return rng.choice((flipped, cut, spliced))(data, rng)


@pytest.mark.parametrize(
    ("suffix", "codec", "options"), [("mp4", "libx264", {}), ("webm", "libvpx-vp9", {"deadline": "realtime"})]
)
def test_mutated_clips(tmp_path: Path, suffix: str, codec: str, options: dict[str, str]):
    """Read, with every picture that of its moment or the damage said, or refused in a plain sentence."""
    path = tmp_path / f"clip.{suffix}"
    write_clip(path, frames=FRAMES, size=(160, 96), fps=FPS, codec=codec, options={"g": "10", **options})
    whole, rng = path.read_bytes(), random.Random(f"mutations/{suffix}")
    read = refused = 0
    with ClipReader(limit_s=20) as reader:
        for number in range(CLIPS):
            path.write_bytes(mutated(whole, rng))
            try:
                frames = reader.read(path, count=8, multiple=16, max_pixels=160 * 96)
            except InputError as error:
                assert error.where == str(path) and error.message.isprintable() and "more than" not in error.message
                refused += 1
                continue
            read += 1
            assert len(frames.images) == len(frames.times_s) <= 8 and len(set(frames.times_s)) == frames.real
            true = numbers_by_time(path)
            for image, time_s in zip(frames.images, frames.times_s, strict=True):
                assert number_of(image) in true[round(time_s, 3)], (number, time_s)
    assert read > CLIPS / 10 and refused > CLIPS / 10


def test_mutated_tables(tmp_path: Path):
    """Read, with nothing but known items and outcomes, or refused with every line that is wrong."""
    codes, catalogue, rng = list(ITEMS), catalogue_of(None), random.Random("mutations/csv")
    rows = [f"clip{n:03d}.mp4,{codes[n % len(codes)]},{'pass' if n % 3 else 'fail'},c{n:03d}" for n in range(40)]
    whole, path = "\n".join(["video,item,outcome,child", *rows, ""]).encode(), tmp_path / "items.csv"
    read = refused = 0
    for _ in range(TABLES):
        path.write_bytes(mutated(whole, rng))
        try:
            found = read_records(path, catalogue)
        except InputError as error:
            assert error.where and error.message
            refused += 1
            continue
        read += 1
        assert all(r.item in found.catalogue and r.outcome in ("pass", "fail") and r.clip for r in found.records)
    assert read > TABLES / 20 and refused > TABLES / 20
