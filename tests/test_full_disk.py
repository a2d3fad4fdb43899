"""A disk that fills up: while verdicts are kept, before training, and at a checkpoint. What was whole stays whole.

The disk is a real one of a few megabytes, in a mount namespace of the test's own process; where the system does not let a
test mount one, a limit on the size of files stands in for it.
"""

import os
import shutil
import subprocess
import sys

import pytest
from fences import can_mount, on_a_small_disk

import srlite
from srlite.judge.answers import Masses
from srlite.judge.cache import VerdictCache
from srlite.training.progress import Note

LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))"


@pytest.fixture
def small_disk(tmp_path):
    """on_a_small_disk, for tests that make no sense without one."""
    if not can_mount(tmp_path):
        pytest.skip("this system lets no test mount a file system")
    return on_a_small_disk


FILL_THE_CACHE = """
import sys
from pathlib import Path
from srlite.errors import DeviceError
from srlite.judge.answers import Masses
from srlite.judge.cache import VerdictCache
path, group = Path(sys.argv[1]) / "verdicts.sqlite", 0
{limit}
with VerdictCache(path, 1.0) as cache:
    try:
        while True:
            cache.put({{f"{{group}}/{{i}}": Masses(0.25, 0.5) for i in range(500)}})
            group += 1
    except DeviceError as error:
        assert error.where == str(path) and "free some space" in error.remedy, error
        print(error.exit_code, group, error.message)
    assert len(cache.get([f"{{group - 1}}/{{i}}" for i in range(500)])) == 500
    assert not cache.get([f"{{group}}/{{i}}" for i in range(500)])
    assert cache.notes == []
"""


@pytest.mark.parametrize("way", ["disk", "limit"])
def test_verdicts_committed_before_the_disk_was_full_are_kept(tmp_path, way):
    """SQLite's log of writes fills the disk: the group in hand is lost, no other; and the file is no worse for it."""
    if way == "limit":
        (kept := tmp_path / "kept").mkdir()
        code = FILL_THE_CACHE.format(limit=LIMIT.format(200_000))
        done = subprocess.run([sys.executable, "-c", code, str(kept)], capture_output=True, text=True)
    elif can_mount(tmp_path):
        kept, done = on_a_small_disk(FILL_THE_CACHE.format(limit=""), tmp_path, size="1m")
    else:
        pytest.skip("this system lets no test mount a file system")
    assert done.returncode == 0, done.stderr
    exit_code, groups, message = done.stdout.strip().split(" ", 2)
    assert exit_code == "5" and int(groups) > 0 and "the verdict cache failed" in message
    with VerdictCache(kept / "verdicts.sqlite", 1.0) as cache:
        assert cache.notes == []
        assert len(cache.get([f"{g}/{i}" for g in range(int(groups)) for i in range(500)])) == 500 * int(groups)
        cache.put({"after": Masses(1.0, 0.0)})
        assert set(cache.get(["after"])) == {"after"}


TRAIN = """
import json, subprocess, sys
from pathlib import Path
import srlite
from srlite.errors import DeviceError
sys.path.insert(0, {tests!r})
from small_clinic import SMALL
disk, data = Path(sys.argv[1]), Path({data!r})
def refused(**how):
    try:
        srlite.train(data / "items.csv", data / "videos", run=disk / "run", **how)
    except DeviceError as error:
        assert "the disk is full" in error.message and error.where == str(disk / "run"), error
        assert not list((disk / "run").rglob("*.part"))
        print(error.exit_code, len(list(disk.glob("run/rounds/001/*"))), len(list(disk.glob("run/checkpoints/*/DONE"))))
refused(preset="tiny", over=SMALL)
subprocess.run(["mount", "-o", "remount,size=6m", str(disk)], check=True)
refused(resume=True)
"""


class Enough(Exception):
    """The checkpoint is loaded; what follows a resume is compared elsewhere."""


def until_resumed(event):
    if isinstance(event, Note) and "resumed" in event.text:
        raise Enough(event.text)


@pytest.mark.slow
def test_a_run_on_a_full_disk_is_refused_at_its_start_and_ends_with_its_checkpoint_kept(small_disk, trained, data, tmp_path):
    """2 MB hold no checkpoint: nothing is sampled for nothing. 6 MB hold one: the second is refused, and resuming goes on."""
    code = TRAIN.format(tests=os.path.dirname(__file__), data=str(data))
    home = tmp_path / "home"
    shutil.copytree(trained.parent / "home", home)
    kept, done = small_disk(code, tmp_path, size="2m", env={"SRLITE_HOME": str(home), "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["5 0 0", "5 2 1"]  # exit code, slices begun, checkpoints
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Enough, match="resumed after round 1, slice 1, step 4"):
        patch.setenv("SRLITE_HOME", str(home))
        srlite.train(data / "items.csv", data / "videos", run=kept / "run", resume=True, tell=until_resumed)
    for name in ("rollouts.jsonl", "rewards.jsonl"):  # of the slice that could not be kept: whole, and learnt from again
        found, expected = (run / "rounds" / "001" / "0002" / name for run in (kept / "run", trained))
        assert found.read_bytes() == expected.read_bytes()
