"""Ctrl-C, once and twice, in a real process."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import tomli_w
from small_clinic import SMALL

from srlite.interrupt import gentle_interrupt
from srlite.training.progress import Note, Progress, Reading, SliceDone
from srlite.training.run import Run

UPDATING, SAMPLING = (Progress(phase, 1, 1, 1, 1, 1, 2) for phase in ("update", "sample"))


@pytest.fixture
def process(data, tmp_path, home):
    """`srlite train` on the small clinic, in a process group of its own; its stderr is read as it comes."""
    with_group = {**SMALL, "sampling": SMALL["sampling"] | {"group": 16}}  # long enough to be caught in
    (tmp_path / "srlite.toml").write_text(tomli_w.dumps(with_group))
    command = ["train", data / "items.csv", data / "videos", "--run", tmp_path / "run", "--preset", "tiny"]
    child = subprocess.Popen(
        [sys.executable, "-m", "srlite.cli", *map(str, command), "--settings", str(tmp_path / "srlite.toml")],
        env={**os.environ, "OMP_NUM_THREADS": "1", "SRLITE_HOME": str(home)},
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield child
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def wait_for(path, child):
    deadline = time.monotonic() + 200
    while not path.exists() and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert path.exists()


def test_once_stops_where_nothing_is_lost(process, tmp_path):
    unfinished = tmp_path / "run" / "rounds" / "001" / "0001" / "rollouts.unfinished.jsonl"
    wait_for(unfinished, process)
    os.killpg(process.pid, signal.SIGINT)
    said = process.stderr.read()
    assert process.wait() == 130
    assert "Ctrl-C again quits at once" in said and "Traceback" not in said
    (command,) = [line.strip() for line in said.splitlines() if line.startswith("  srlite train ")]  # on one line, to be copied
    assert command.endswith(f"--run {tmp_path}/run --resume")
    run = Run(tmp_path / "run")
    whole = [line for path in run.folder.rglob("rollouts*.jsonl") for line in path.read_text().splitlines()]
    assert whole and all(json.loads(line)["rollouts"] for line in whole)
    assert not (run.folder / ".owner").exists()


def test_in_an_update_the_checkpoint_comes_first():
    heard, said = [], []
    with pytest.raises(KeyboardInterrupt), gentle_interrupt(heard.append, note=said.append) as tell:
        signal.raise_signal(signal.SIGINT)
        for event in (UPDATING, Note("a sentence"), UPDATING, SliceDone({}, 0.0), SAMPLING):
            tell(event)
    assert heard == [UPDATING, Note("a sentence"), UPDATING, SliceDone({}, 0.0)] and len(said) == 1


@pytest.mark.parametrize("event", [SAMPLING, Reading("read clips", 1, 9), Progress("judge", 1, 1, 1, 1, 1, 2)], ids=str)
def test_elsewhere_it_stops_at_the_next_thing_done(event):
    with pytest.raises(KeyboardInterrupt), gentle_interrupt(lambda e: None, note=lambda text: None) as tell:
        tell(event)  # nothing was asked for yet
        signal.raise_signal(signal.SIGINT)
        tell(event)


def test_twice_quits_at_once_and_the_handler_of_before_comes_back():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), gentle_interrupt(lambda e: None, note=lambda text: None):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
