"""Frames of real clips: by the hash without the file, or read anew; what cannot be found is said."""

import io

import numpy as np
import pytest
from PIL import Image
from report.conftest import SETTINGS
from report.documents import case, said

from srlite.models.store import cache_folder
from srlite.report.shots import ABREAST, GAP, LONGEST_SIDE, MULTIPLES, sheets_of, strips
from srlite.types import Frames
from srlite.video.pool import ClipReaders
from srlite.video.reader import sha256_of
from srlite.video.store import FrameStore


@pytest.fixture(scope="module")
def clip(examples):
    return sorted((examples / "videos").iterdir())[0]


def shown(clip, sha256):
    return [case(1, "18_4", "pass", {"adapted": said("pass")}, clip=clip.name, clip_sha256=sha256)]


def keep(clip, multiple):
    video = SETTINGS.video
    with ClipReaders(limit_s=60, count=1) as readers:
        store = FrameStore(
            cache_folder() / "frames",
            readers,
            count=video.frames,
            multiple=multiple,
            max_pixels=video.max_pixels,
            max_bytes=10**9,
        )
        return store.frames(clip)


@pytest.mark.parametrize("multiple", MULTIPLES)
def test_kept_frames_are_found_without_the_clip(clip, multiple):
    frames, sha256 = keep(clip, multiple)
    found = strips(shown(clip, sha256), SETTINGS, None)
    assert found.missing == ()
    sheets = found.by_clip[sha256]
    assert [s for sheet in sheets for s in sheet.seconds] == list(frames.times_s)
    assert len(sheets) == SETTINGS.video.frames / ABREAST
    for sheet in sheets:
        width, height = Image.open(io.BytesIO(sheet.jpeg)).size
        assert (width, height) == (sheet.width, sheet.height)
        assert max((width + GAP) / ABREAST - GAP, height) <= LONGEST_SIDE


def test_every_frame_stands_at_its_place_on_the_sheet():
    images = np.zeros((6, 40, 60, 3), np.uint8)
    for at, image in enumerate(images):
        image[:] = 40 * at
    full, rest = sheets_of(Frames(images, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), 0.7, real=6))
    assert full.seconds == (0.1, 0.2, 0.3, 0.4) and rest.seconds == (0.5, 0.6)
    for sheet, values in ((full, (0, 40, 80, 120)), (rest, (160, 200, 244, 244))):  # the last two places are empty
        shown = np.asarray(Image.open(io.BytesIO(sheet.jpeg)).convert("L"))
        assert shown.shape == (40, 4 * 60 + 3 * GAP)
        assert [int(shown[20, 30 + (60 + GAP) * place]) for place in range(4)] == pytest.approx(values, abs=4)


def test_frames_kept_with_other_settings_are_not_taken(clip):
    _, sha256 = keep(clip, MULTIPLES[0])
    other = SETTINGS.model_copy(update={"video": SETTINGS.video.model_copy(update={"frames": 4})})
    found = strips(shown(clip, sha256), other, None)
    assert found.by_clip == {} and found.missing == (f"{clip.name}: its frames are not kept on this machine",)


def test_clips_are_read_anew_and_nothing_is_kept(clip):
    found = strips(shown(clip, sha256_of(clip)), SETTINGS, clip.parent)
    assert found.missing == () and len(found.by_clip[sha256_of(clip)]) == SETTINGS.video.frames / ABREAST
    assert not list(cache_folder().rglob("*.npz"))


def test_another_file_of_that_name_is_not_shown(clip):
    found = strips(shown(clip, "0" * 64), SETTINGS, clip.parent)
    assert found.by_clip == {} and "another file than the one that was evaluated" in found.missing[0]


def test_a_clip_that_is_gone_is_said(clip, tmp_path):
    found = strips(shown(clip, sha256_of(clip)), SETTINGS, tmp_path)
    assert found.missing == (f"{clip.name}: there is no such file",)


def test_the_padding_of_a_short_clip_is_not_shown_twice():
    images = np.zeros((4, 32, 32, 3), np.uint8)
    (sheet,) = sheets_of(Frames(images, (0.1, 0.2, 0.3, 0.3), 0.4, real=3))
    assert sheet.seconds == (0.1, 0.2, 0.3)
