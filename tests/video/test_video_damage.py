"""Files that are empty, cut, damaged or something else: a plain sentence or a stated loss, never silence."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
from video.numbered_clips import number_of, write_clip

from srlite.errors import InputError
from srlite.video.reader import sha256_of

WISH = {"count": 8, "multiple": 32, "max_pixels": 320 * 256}


def refuse(reader, path, words):
    for ask in (lambda: reader.probe(path), lambda: reader.read(path, **WISH)):
        with pytest.raises(InputError, match=words) as caught:
            ask()
        assert caught.value.where == str(path) and caught.value.remedy
        assert "\n" not in caught.value.message and caught.value.message.isprintable()


def test_empty_missing_folder_and_pipe(reader, tmp_path):
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "dir.mp4").mkdir()
    (tmp_path / "dangling.mp4").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe.mp4")
    refuse(reader, tmp_path / "empty.mp4", "is empty")
    refuse(reader, tmp_path / "dir.mp4", "not a file")
    refuse(reader, tmp_path / "dangling.mp4", "no such file")
    refuse(reader, tmp_path / "pipe.mp4", "not a file")


@pytest.mark.parametrize("content", [b"hello\n" * 200, bytes(5000), random.Random(3).randbytes(5000)])
def test_not_a_video(reader, tmp_path, content):
    (tmp_path / "notes.mp4").write_bytes(content)
    refuse(reader, tmp_path / "notes.mp4", "not a video")


def test_lists_of_other_files_are_not_followed(reader, plain, tmp_path):
    (tmp_path / "list.mp4").write_text(f"ffconcat version 1.0\nfile '{plain}'\n")
    (tmp_path / "stream.mp4").write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n{plain}\n#EXT-X-ENDLIST\n")
    refuse(reader, tmp_path / "list.mp4", "not a video")
    refuse(reader, tmp_path / "stream.mp4", "not a video")


def test_cut_off_before_its_table_of_contents(reader, tmp_path):
    write_clip(tmp_path / "whole.mp4")
    data = (tmp_path / "whole.mp4").read_bytes()
    (tmp_path / "cut.mp4").write_bytes(data[: len(data) * 7 // 10])
    refuse(reader, tmp_path / "cut.mp4", "cut off")


def test_a_cut_copy_is_used_with_its_loss_said(reader, plain, tmp_path):
    data = plain.read_bytes()
    (tmp_path / "cut.mp4").write_bytes(data[: len(data) * 7 // 10])
    info, frames = reader.probe(tmp_path / "cut.mp4"), reader.read(tmp_path / "cut.mp4", **WISH)
    assert info.frames < info.frames_declared == 250 and info.reader == "pyav"
    assert any(w.startswith("the file is damaged: read 1") and w.endswith("of 250 frames") for w in frames.warnings)
    assert [number_of(p) for p in frames.images] == [round(t * 25) for t in frames.times_s]
    assert frames.duration_s < 9.0


def test_a_copy_with_too_little_left_is_refused(reader, plain, tmp_path):
    data = plain.read_bytes()
    (tmp_path / "cut.mp4").write_bytes(data[: len(data) * 3 // 10])
    with pytest.raises(InputError, match=r"only \d+ of 250 frames can be read"):
        reader.read(tmp_path / "cut.mp4", **WISH)


@pytest.fixture(scope="module")
def textured(tmp_path_factory):
    """A hundred frames of moving texture: large packets, so that damage stays inside one picture's data."""
    texture = np.random.default_rng(0).integers(60, 190, (240, 320, 3), dtype=np.uint8)
    path = tmp_path_factory.mktemp("clips") / "textured.mp4"
    write_clip(
        path,
        frames=100,
        options={"g": "50"},
        container={"movflags": "faststart"},
        draw=lambda i, width, height: np.roll(texture, (3 * i, 5 * i), (0, 1)),
    )
    return path


@pytest.mark.parametrize(("seed", "length"), [(0, 600), (1, 600), (2, 20), (3, 20), (4, 20)])
def test_bytes_overwritten_in_the_middle_never_show(reader, textured, tmp_path, seed, length):
    """Each frame that comes back is the sound file's own, and the loss is said."""
    wish = {"count": 50, "multiple": 32, "max_pixels": 320 * 256}
    data, rng = textured.read_bytes(), random.Random(seed)
    at = rng.randrange(len(data) // 4, len(data) * 3 // 4)
    (tmp_path / "bad.mp4").write_bytes(data[:at] + rng.randbytes(length) + data[at + length :])
    frames = reader.read(tmp_path / "bad.mp4", **wish)
    assert any("the file is damaged: read" in w for w in frames.warnings)
    sound = reader.read(textured, count=100, multiple=32, max_pixels=320 * 256)
    by_time = dict(zip(sound.times_s, sound.images, strict=True))
    for moment, picture in zip(frames.times_s, frames.images, strict=True):
        assert np.array_equal(picture, by_time[moment])


def test_sha256_is_that_of_the_bytes(tmp_path):
    (tmp_path / "abc").write_bytes(b"abc")
    assert sha256_of(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    with pytest.raises(InputError, match="no such file"):
        sha256_of(tmp_path / "missing")
