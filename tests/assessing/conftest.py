"""One list of clips that was assessed whole."""

from pathlib import Path

import pytest
from cut_clips import clip_of

from srlite.assessing.job import assess_all
from srlite.records.asked import Asked


@pytest.fixture(scope="session")
def broken(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("broken") / "broken.mp4"
    path.write_text("no video")
    return path


@pytest.fixture(scope="session")
def asked(data, broken) -> list[Asked]:
    """Four clips, three items, one of the clips broken."""
    return [
        Asked(clip_of(data, "18_4"), "18_4", 19.0, "Anna"),
        Asked(broken, "18_4"),
        Asked(clip_of(data, "18_3"), "18_3"),
        Asked(clip_of(data, "18_4", 1), "18_4", 18.0, "Boris"),
    ]


@pytest.fixture(scope="session")
def together(trained, asked, tmp_path_factory):
    """What was found of them in one call with three samples each, two clips a portion; and what the call told meanwhile."""
    told = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SRLITE_HOME", str(tmp_path_factory.mktemp("together")))
        patch.setattr("srlite.assessing.job.PORTION", 2)
        found = list(assess_all(asked, run=trained, samples=3, tick=lambda *event: told.append(event)))
    return found, told
