"""Sound clips of every kind: what the probe says, which frames come back, and when they are."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import pytest
from video.numbered_clips import Unseekable, number_of, write_clip

from srlite.errors import InputError
from srlite.video.sampling import sample_times

WISH = {"count": 8, "multiple": 32, "max_pixels": 320 * 256}


def numbers(frames) -> list[int]:
    return [number_of(picture) for picture in frames.images]


def test_constant_rate(reader, plain):
    info = reader.probe(plain)
    assert (info.codec, info.width, info.height, info.rotation) == ("h264", 320, 240, 0)
    assert (info.frames_declared, info.frames, info.fps, info.variable) == (250, 250, 25.0, False)
    assert info.duration_s == pytest.approx(10.0)
    assert not info.hdr and not info.has_audio and info.clock_trusted and info.warnings == ()

    frames = reader.read(plain, **WISH)
    assert frames.images.shape == (8, 256, 320, 3)
    assert frames.images.dtype == np.uint8
    assert frames.times_s == pytest.approx([(i + 0.5) / 8 * 10 for i in range(8)], abs=0.0201)
    assert numbers(frames) == [round(t * 25) for t in frames.times_s]
    assert (frames.real, frames.warnings) == (8, ())


def test_variable_rate_is_sampled_by_time(reader, tmp_path):
    ticks = [i * 40 for i in range(125)] + [5000 + i * 480 for i in range(10)]
    write_clip(tmp_path / "vfr.mp4", frames=135, ticks=ticks, tick=Fraction(1, 1000))
    frames = reader.read(tmp_path / "vfr.mp4", **WISH)
    assert reader.probe(tmp_path / "vfr.mp4").variable
    gaps = np.diff(frames.times_s)
    assert gaps.max() <= 2 * gaps.mean()
    assert frames.times_s == pytest.approx(sample_times(frames.duration_s, 8), abs=0.25)
    assert [ticks[n] / 1000 for n in numbers(frames)] == pytest.approx(frames.times_s, abs=0.001)


@pytest.mark.parametrize("have", [1, 2, 3, 9])
def test_clips_shorter_than_the_wish(reader, tmp_path, have):
    write_clip(tmp_path / "short.mp4", frames=have)
    frames = reader.read(tmp_path / "short.mp4", count=32, multiple=32, max_pixels=320 * 256)
    even = have + have % 2
    assert (len(frames.images), len(frames.times_s), frames.real) == (even, even, have)
    assert numbers(frames) == [*range(have)] + [have - 1] * (even - have)
    assert any("32 were wanted" in w for w in frames.warnings)


def test_an_absurd_rate_is_flagged_and_frames_are_taken_in_order(reader, tmp_path):
    write_clip(tmp_path / "absurd.mp4", frames=100, ticks=list(range(100)), tick=Fraction(1, 1000))
    info, frames = reader.probe(tmp_path / "absurd.mp4"), reader.read(tmp_path / "absurd.mp4", **WISH)
    assert info.fps == pytest.approx(1000.0) and not info.clock_trusted and info.reader == "pyav"
    assert numbers(frames) == [6, 18, 31, 43, 56, 68, 81, 93]
    assert any("not plausible" in w for w in frames.warnings)


def test_live_webm_has_its_length_from_the_packets(reader, tmp_path):
    write_clip(
        Unseekable(tmp_path / "live.webm"),
        format="webm",
        codec="libvpx",
        size=(160, 128),
        options={"deadline": "realtime", "cpu-used": "8", "threads": "1"},
    )
    with av.open(str(tmp_path / "live.webm")) as container:
        assert container.duration is None and container.streams.video[0].frames == 0
    info, frames = reader.probe(tmp_path / "live.webm"), reader.read(tmp_path / "live.webm", **WISH)
    assert (info.frames, info.reader) == (50, "pyav") and info.duration_s == pytest.approx(2.0, abs=0.05)
    assert numbers(frames) == pytest.approx([3, 9, 16, 22, 28, 34, 41, 47], abs=1)


@pytest.mark.parametrize(
    ("name", "codec"),
    [("a.mkv", "libx264"), ("A.AVI", "mpeg4"), ("a.ts", "libx264"), ("a.MOV", "libx265"), ("a.mp4", "mpeg4")],
)
def test_containers_in_any_case(reader, tmp_path, name, codec):
    # AVI has no presentation times of its own: with B frames its clock is one frame late by itself.
    options = {"x265-params": "log-level=none", "g": "10", "bf": "0" if name.endswith("AVI") else "2"}
    write_clip(tmp_path / name, codec=codec, options=options)
    frames = reader.read(tmp_path / name, **WISH)
    assert numbers(frames) == [round(t * 25) for t in frames.times_s]
    assert frames.duration_s == pytest.approx(2.0, abs=0.05)


def test_av1_is_read(reader, tmp_path):
    if "libsvtav1" not in av.codecs_available:
        pytest.skip("this PyAV cannot write AV1")
    write_clip(tmp_path / "av1.mp4", frames=10, codec="libsvtav1")
    assert reader.probe(tmp_path / "av1.mp4").codec == "av1"
    assert numbers(reader.read(tmp_path / "av1.mp4", **WISH)) == [1, 2, 3, 4, 6, 7, 8, 9]


def test_sound_only_is_called_so(reader, tmp_path):
    with av.open(str(tmp_path / "sound.mp4"), "w") as out:
        stream = out.add_stream("aac", rate=16000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 32000), np.float32), format="fltp", layout="mono")
        frame.sample_rate = 16000
        out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    for ask in (
        lambda: reader.probe(tmp_path / "sound.mp4"),
        lambda: reader.read(tmp_path / "sound.mp4", **WISH),
    ):
        with pytest.raises(InputError, match="sound only, no picture"):
            ask()


def test_ten_bits_look_like_their_eight_bit_twin(reader, tmp_path):
    quiet = {"x265-params": "log-level=none"}
    write_clip(tmp_path / "8.mov", codec="libx265", options=quiet)
    write_clip(tmp_path / "10.MOV", codec="libx265", pixels="yuv420p10le", options=quiet)
    info = reader.probe(tmp_path / "10.MOV")
    assert (info.pixel_format, info.hdr, info.reader) == ("yuv420p10le", False, "pyav")
    eight, ten = (reader.read(tmp_path / n, **WISH).images.astype(float) for n in ("8.mov", "10.MOV"))
    assert ten.mean() == pytest.approx(eight.mean(), rel=0.02)


def test_hdr_is_flagged(reader, tmp_path):
    def pq(tagged):
        tagged.color_trc, tagged.colorspace, tagged.color_primaries = 16, 9, 9

    params = "log-level=none:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc"
    write_clip(
        tmp_path / "hdr.mov",
        frames=10,
        codec="libx265",
        pixels="yuv420p10le",
        tag=pq,
        options={"x265-params": params},
    )
    assert reader.probe(tmp_path / "hdr.mov").hdr
    assert any("HDR" in w for w in reader.read(tmp_path / "hdr.mov", **WISH).warnings)


def test_frames_before_zero_are_never_shown(reader, tmp_path):
    write_clip(
        tmp_path / "early.mp4",
        frames=60,
        ticks=list(range(-10, 50)),
        tick=Fraction(1, 25),
        options={"g": "60"},
    )
    frames = reader.read(tmp_path / "early.mp4", count=60, multiple=32, max_pixels=320 * 256)
    assert min(numbers(frames)) >= 10 and min(frames.times_s) == 0.0
    assert numbers(frames)[:50] == list(range(10, 60))


def test_a_clock_that_starts_late_is_counted_from_the_first_picture(reader, tmp_path):
    write_clip(tmp_path / "late.ts", ticks=[i + 90_000 for i in range(50)], tick=Fraction(1, 25))
    frames = reader.read(tmp_path / "late.ts", **WISH)
    assert frames.duration_s == pytest.approx(2.0, abs=0.05)
    assert numbers(frames) == [round(t * 25) for t in frames.times_s]


def test_oblong_pixels_are_undone(reader, tmp_path):
    def oblong(tagged):
        if hasattr(tagged, "sample_aspect_ratio"):
            tagged.sample_aspect_ratio = Fraction(16, 11)

    write_clip(tmp_path / "dv.mp4", frames=5, size=(352, 288), tag=oblong)
    info = reader.probe(tmp_path / "dv.mp4")
    assert (info.width, info.height) == (512, 288)


def test_memory_of_the_child_is_bounded(reader, tmp_path):
    """300 frames of 1280x720 are 830 MB of pixels; the child may hold a few of them."""
    flat = np.full((720, 1280, 3), 90, np.uint8)
    write_clip(
        tmp_path / "large.mp4",
        frames=300,
        size=(1280, 720),
        options={"preset": "ultrafast"},
        draw=lambda i, width, height: flat,
    )
    reader.read(tmp_path / "large.mp4", **WISH)
    with open(f"/proc/{reader.child_pid}/status") as status:
        peak_kb = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    assert peak_kb < 500_000
