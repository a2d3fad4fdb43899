"""One reader and one plain clip for all tests of the room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from video.numbered_clips import write_clip

from srlite.video.reader import ClipReader


@pytest.fixture(scope="session")
def reader() -> Iterator[ClipReader]:
    with ClipReader(limit_s=120.0) as shared:
        yield shared


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten seconds, 25 frames a second, H.264, table of contents in front."""
    path = tmp_path_factory.mktemp("clips") / "plain.mp4"
    write_clip(path, frames=250, options={"g": "50"}, container={"movflags": "faststart"})
    return path
