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


def two_at_once(words, env):
    """Two processes of the same command: the one that went on, and the one that ended first with what it said."""
    command = [sys.executable, "-m", "srlite.cli", *map(str, words)]
    both = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    deadline = time.monotonic() + 200
    while all(child.poll() is None for child in both) and time.monotonic() < deadline:
        time.sleep(0.02)
    second, first = sorted(both, key=lambda child: child.poll() is None)
    return first, second, second.communicate()


def test_of_two_trains_begun_at_once_one_goes_on(trained, data, tmp_path, monkeypatch):
    """Whoever comes second ends with exit code 2 and names the way out; a killed first one leaves nothing that bars the way."""
    shutil.copytree(trained.parent / "home", tmp_path / "home")
    (tmp_path / "s.toml").write_text(tomli_w.dumps(SMALL))
    run = tmp_path / "run"
    words = ["train", data / "items.csv", data / "videos", "--run", run, "--preset", "tiny", "--settings", tmp_path / "s.toml"]
    monkeypatch.setenv("SRLITE_HOME", str(tmp_path / "home"))
    first, second, (out, err) = two_at_once(words, {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"})
    try:
        assert second.returncode == 2 and out == "" and "Traceback" not in err, err
        assert f"another process is training in this folder: process {first.pid}" in err or "the run folder is not empty" in err
        assert "another --run DIR" in err and first.poll() is None
        while not (run / "config.toml").exists() and first.poll() is None:
            time.sleep(0.02)
        first.send_signal(signal.SIGSTOP)  # it is alive, and takes no time from what follows
        with pytest.raises(UsageError, match=f"training in this folder: process {first.pid} "):
            srlite.train(data / "items.csv", data / "videos", run=run, resume=True)
    finally:
        first.kill()
        first.communicate()
    with pytest.raises(Enough, match=f"taken over from process {first.pid}"):
        srlite.train(data / "items.csv", data / "videos", run=run, resume=True, tell=until_taken_over)


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
    assert "--resume" in caught.value.remedy and "another --run DIR" in caught.value.remedy
    assert contents(tmp_path) == before
