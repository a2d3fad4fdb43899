"""decord and PyAV: the same upright frames at the same times, wherever the probe lets decord read."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from video.numbered_clips import number_of, write_clip

from srlite.video import decode, probe
from srlite.video.reader import ClipReader

pytest.importorskip("decord", exc_type=ImportError)

LONG = probe.LONG_FRAMES
WISH = {"count": 16, "multiple": 32, "max_pixels": 128 * 128}
FAST = {"preset": "ultrafast", "g": "60"}


def colours(space: int, reach: int):
    def tag(tagged):
        tagged.colorspace, tagged.color_range = space, reach

    return tag


def both(path, size=(128, 96)):
    """The clip's first, middle and last frames from each reader, whatever the probe would choose."""
    found = probe.survey(path)
    ticks = [found.ticks[i] for i in (0, 1, len(found.ticks) // 2, -2, -1)]
    size = found.turn.stored(*size)
    _, ours, _ = decode._read_pyav(path, found, ticks, size, len(ticks))
    return decode._read_decord(path, found, ticks, size), ours


@pytest.mark.parametrize(("degrees", "mirrored"), [(0, False), (90, False), (180, False), (270, False)])
def test_rotated_clips_come_upright_from_both(reader, tmp_path, degrees, mirrored):
    write_clip(tmp_path / "turned.mp4", frames=30, turn=(degrees, mirrored))
    write_clip(tmp_path / "stored.mp4", frames=30)
    theirs, ours = both(tmp_path / "turned.mp4")
    assert theirs.shape == ours.shape
    assert np.abs(theirs.astype(int) - ours).mean() < 2
    info, frames = reader.probe(tmp_path / "turned.mp4"), reader.read(tmp_path / "turned.mp4", **WISH)
    assert info.rotation == degrees
    assert (info.width, info.height) == ((240, 320) if degrees % 180 else (320, 240))
    stored = reader.read(tmp_path / "stored.mp4", **WISH)
    expected = np.stack([np.rot90(p, degrees // 90) for p in stored.images])
    assert np.abs(frames.images.astype(int) - expected).mean() < 2


def test_mirrored_clips_are_unmirrored(reader, tmp_path):
    write_clip(tmp_path / "mirrored.mp4", frames=10, turn=(0, True))
    picture = reader.read(tmp_path / "mirrored.mp4", **WISH).images[0].astype(int)
    height, width = picture.shape[:2]
    corner = picture[-height // 8 :, -width // 8 :].mean((0, 1))  # drawn bottom left, shown bottom right
    assert corner[0] > 150 and corner[1] < 90


@pytest.mark.parametrize(
    ("codec", "pixels", "space", "reach"),
    [
        ("libx264", "yuv420p", 1, 1),
        ("libx264", "yuv420p", 6, 1),
        ("libx264", "yuvj420p", 1, 2),
        ("libx264", "yuvj420p", 6, 2),
        ("libx264", "yuv420p", 2, 0),
        ("libx265", "yuv420p", 1, 1),
        ("mpeg4", "yuv420p", 2, 0),
    ],
)
def test_colours_agree(tmp_path, codec, pixels, space, reach):
    options = {"x265-params": "log-level=none:open-gop=0"} if codec == "libx265" else {}
    write_clip(tmp_path / "c.mp4", frames=20, codec=codec, pixels=pixels, options=options, tag=colours(space, reach))
    theirs, ours = both(tmp_path / "c.mp4")
    assert np.abs(theirs.astype(int) - ours).mean((1, 2, 3)).max() < 2


def test_a_long_clip_goes_to_decord_and_looks_the_same(reader, tmp_path):
    ticks = list(itertools.accumulate(range(LONG), lambda t, i: t + (40 if i < LONG // 2 else 56)))
    write_clip(tmp_path / "long.mp4", frames=LONG, size=(128, 96), ticks=ticks, tick=Fraction(1, 1000), options=FAST)
    info, frames = reader.probe(tmp_path / "long.mp4"), reader.read(tmp_path / "long.mp4", **WISH)
    assert (info.reader, info.variable, info.frames) == ("decord", True, LONG)
    assert [ticks.index(round(t * 1000)) % 256 for t in frames.times_s] == [number_of(p) for p in frames.images]

    with open(f"/proc/{reader.child_pid}/maps") as maps:
        loaded = maps.read()
    assert "libdecord" in loaded and "libtorch" not in loaded

    (hidden := tmp_path / "without").mkdir()
    (hidden / "decord.py").write_text("raise ImportError('no decord here')\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(hidden)
        with ClipReader(limit_s=60.0) as without:
            assert without.probe(tmp_path / "long.mp4").reader == "pyav"
            again = without.read(tmp_path / "long.mp4", **WISH)
            assert_smear_is_said(without, tmp_path / "long.mp4")
    assert again.times_s == frames.times_s
    assert np.abs(again.images.astype(int) - frames.images).mean() < 2


def assert_smear_is_said(reader, path):
    """Damage in a part that is looked at is counted over the whole file."""
    data = bytearray(path.read_bytes())
    for at in range(len(data) // 8, len(data), len(data) // 8):
        data[at : at + 40] = bytes(range(7, 47))
    (bad := path.with_name("bad.mp4")).write_bytes(data)
    frames = reader.read(bad, **WISH)
    assert any(w.startswith("the file is damaged: read 1") and w.endswith(f"of {LONG} frames") for w in frames.warnings)


@pytest.mark.parametrize(
    ("codec", "options"),
    [
        ("libx264", {"x264-params": "open-gop=1:keyint=60:bframes=3:scenecut=0", "preset": "veryfast"}),
        ("mpeg4", {"bf": "2", "g": "60"}),
    ],
)
def test_clips_that_decord_gets_wrong_go_to_pyav(tmp_path, codec, options):
    write_clip(tmp_path / "open.mp4", frames=LONG, size=(64, 64), codec=codec, options=options)
    assert probe.probe(tmp_path / "open.mp4").reader == "pyav"
