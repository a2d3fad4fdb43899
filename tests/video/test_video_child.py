"""The child process: it can hang, die or be missing a library without taking the caller along."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import srlite
from srlite.errors import InputError
from srlite.video.reader import ClipReader

WISH = {"count": 8, "multiple": 32, "max_pixels": 320 * 256}
ROOT = Path(srlite.__path__[0]).parent


def test_a_hanging_child_is_killed_replaced_and_the_clip_named(plain):
    """A stopped process answers neither INT nor TERM, like one stuck in native code; only KILL ends it."""
    with ClipReader(limit_s=2.0) as reader:
        reader.probe(plain)
        stuck = reader.child_pid
        os.kill(stuck, signal.SIGSTOP)
        with pytest.raises(InputError, match="more than 2 s") as caught:
            reader.read(plain, **WISH)
        assert caught.value.where == str(plain)
        with pytest.raises(ProcessLookupError):
            os.kill(stuck, 0)
        assert reader.read(plain, **WISH).real == 8
        assert reader.child_pid != stuck


def test_work_beyond_the_limit_is_stopped(plain):
    with ClipReader(limit_s=0.001) as reader, pytest.raises(InputError, match="was stopped"):
        reader.read(plain, **WISH)


def test_a_child_that_dies_over_a_clip_is_told_by_its_signal(plain):
    with ClipReader(limit_s=60.0) as reader:
        reader.probe(plain)
        os.kill(reader.child_pid, signal.SIGSTOP)  # it cannot answer first, nor die before it is asked
        os.waitid(os.P_PID, reader.child_pid, os.WSTOPPED | os.WNOWAIT)
        os.kill(reader.child_pid, signal.SIGSEGV)
        waker = subprocess.Popen(["/bin/sh", "-c", f"sleep 1; kill -CONT {reader.child_pid}"])
        with pytest.raises(InputError, match="crashed on this file.*SIGSEGV") as caught:
            reader.read(plain, **WISH)
        waker.wait()
        assert caught.value.where == str(plain)
        assert reader.read(plain, **WISH).real == 8


def test_a_child_that_died_between_clips_is_replaced_without_a_word(plain):
    with ClipReader(limit_s=60.0) as reader:
        reader.probe(plain)
        os.kill(reader.child_pid, signal.SIGKILL)
        os.waitid(os.P_PID, reader.child_pid, os.WEXITED | os.WNOWAIT)
        assert reader.read(plain, **WISH).real == 8


def test_one_child_serves_many_clips_and_ends_with_the_reader(plain):
    with ClipReader(limit_s=60.0) as reader:
        assert reader.child_pid is None
        reader.probe(plain)
        child = reader.child_pid
        reader.read(plain, **WISH)
        with pytest.raises(InputError):
            reader.probe(plain.parent / "missing.mp4")
        assert reader.child_pid == child
        with open(f"/proc/{child}/maps") as maps:
            assert "libtorch" not in maps.read()
    assert reader.child_pid is None
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


PROGRAM = """
import sys
from srlite.video.reader import ClipReader
with ClipReader(limit_s=60.0) as reader:
    for path in sys.argv[1:]:
        try:
            frames = reader.read(path, count=4, multiple=32, max_pixels=128 * 96)
            print(frames.images.shape, bool(frames.warnings))
        except Exception as error:
            print(type(error).__name__)
print([name for name in ("av", "decord", "torch", "multiprocessing") if name in sys.modules])
"""


def run_from_stdin(folder, *paths):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-", *map(str, paths)],
        input=PROGRAM,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
    )


def test_from_standard_input_nothing_is_loaded_or_printed(plain, tmp_path):
    """A caller without a main file; damaged clips that native code complains of; an odd name."""
    data = plain.read_bytes()
    odd = tmp_path / "child 01 走路 é [left] \udce9.MP4"
    odd.write_bytes(data)
    (tmp_path / "cut.mp4").write_bytes(data[: len(data) * 7 // 10])
    (tmp_path / "junk.mp4").write_bytes(data[:40] + bytes(2000))
    done = run_from_stdin(tmp_path, odd, tmp_path / "cut.mp4", tmp_path / "junk.mp4")
    assert done.stderr == "" and done.returncode == 0
    assert done.stdout.splitlines() == [
        "(4, 96, 128, 3) False",
        "(4, 96, 128, 3) True",
        "InputError",
        "[]",
    ]


@pytest.mark.parametrize("wrong", [{"count": 0}, {"max_pixels": 100}])
def test_wishes_that_cannot_be_meant(reader, plain, wrong):
    with pytest.raises(ValueError, match="cannot read"):
        reader.read(plain, **{**WISH, **wrong})
    with pytest.raises(ValueError, match="positive"):
        ClipReader(limit_s=0)
