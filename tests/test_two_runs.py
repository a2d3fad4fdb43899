"""Two runs and one folder: the second is refused in words, and what is there stays as it was."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import tomli_w
from small_clinic import SMALL

import srlite
from srlite.errors import UsageError
from srlite.training.progress import Note


def contents(folder):
    return {p.relative_to(folder): (p.stat().st_mtime_ns, p.read_bytes()) for p in folder.rglob("*") if p.is_file()}


class Enough(Exception):
    """What was to be seen was seen."""


def until_taken_over(event):
    if isinstance(event, Note) and "taken over" in event.text:
        raise Enough(event.text)


@pytest.fixture
def first(data, trained, tmp_path, monkeypatch):
    """A process that trains in tmp_path / "run", stopped in its tracks after it has begun: alive, and taking no time."""
    monkeypatch.setenv("SRLITE_HOME", str(trained.parent / "home"))
    (tmp_path / "s.toml").write_text(tomli_w.dumps(SMALL))
    words = ["train", data / "items.csv", data / "videos", "--run", tmp_path / "run", "--preset", "tiny", "--quiet"]
    command = [sys.executable, "-m", "srlite.cli", *map(str, [*words, "--settings", tmp_path / "s.toml"])]
    child = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})
    while not (tmp_path / "run" / "config.toml").exists() and child.poll() is None:
        time.sleep(0.02)
    child.send_signal(signal.SIGSTOP)
    yield child
    child.kill()
    child.wait()


def test_a_second_train_in_the_same_folder_is_refused_and_a_killed_one_bars_no_way(first, data, tmp_path):
    run, records = tmp_path / "run", (data / "items.csv", data / "videos")
    before = contents(run)
    with pytest.raises(UsageError, match="the run folder is not empty") as caught:
        srlite.train(*records, run=run, preset="tiny", over=SMALL)
    assert caught.value.exit_code == 2 and "another --run DIR" in caught.value.remedy
    with pytest.raises(UsageError, match=f"another process is at work in this folder: process {first.pid} ") as caught:
        srlite.train(*records, run=run, resume=True)
    assert caught.value.exit_code == 2 and "another --run DIR" in caught.value.remedy
    assert contents(run) == before and first.poll() is None
    first.kill()
    first.wait()
    with pytest.raises(Enough, match=f"taken over from process {first.pid} "):
        srlite.train(*records, run=run, resume=True, tell=until_taken_over)


@pytest.mark.parametrize("place", ["finished run", "file", "videos", "own files"])
def test_a_folder_with_something_in_it_is_refused_and_left_alone(trained, data, tmp_path, place):
    shutil.copytree(data, tmp_path / "data")
    shutil.copytree(trained, tmp_path / "finished")
    (tmp_path / "thesis.txt").write_text("mine")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / ".hidden.txt").write_text("mine, too")
    run = {"finished run": "finished", "file": "thesis.txt", "videos": "data/videos", "own files": "mine"}[place]
    before = contents(tmp_path)
    with pytest.raises(UsageError) as caught:
        srlite.train(
            tmp_path / "data" / "items.csv", tmp_path / "data" / "videos", run=tmp_path / run, preset="tiny", over=SMALL
        )
    assert caught.value.exit_code == 2 and caught.value.where == str(tmp_path / run)
    assert "another --run DIR" in caught.value.remedy and ("--resume" in caught.value.remedy) == (tmp_path / run).is_dir()
    assert contents(tmp_path) == before
