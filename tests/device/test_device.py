"""Threads and turns."""

import os

import pytest

from srlite.device import turns
from srlite.device.threads import usable_threads
from srlite.device.turns import judge_turn
from srlite.errors import DeviceError


class Worker:
    closed = 0

    def close(self):
        self.closed += 1


def test_threads_follow_what_the_machine_allows(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert usable_threads(0) == 3
    assert usable_threads(5) == 5
    for nonsense in ("", "0", "many"):
        monkeypatch.setenv("OMP_NUM_THREADS", nonsense)
        assert usable_threads(0) == len(os.sched_getaffinity(0))


class Aside:
    """Stands for the descriptor's place elsewhere: notes when it goes and comes back."""

    def __init__(self):
        self.log = []

    def __enter__(self):
        self.log.append("gone")

    def __exit__(self, *_):
        self.log.append("back")


def turn(worker, aside, free):
    return judge_turn(worker, aside=aside, free=free, judge_bytes=5, descriptor_bytes=7)


def test_in_a_swapped_turn_the_judge_ends_and_the_descriptor_comes_back_whatever_happens():
    worker, aside = Worker(), Aside()
    with pytest.raises(RuntimeError), turn(worker, aside, lambda: 10):
        assert aside.log == ["gone"] and worker.closed == 0
        raise RuntimeError
    assert worker.closed == 1 and aside.log == ["gone", "back"]


def test_memory_is_waited_for(monkeypatch):
    """The driver gives it back a moment after the process has ended."""
    found = iter([0, 3, 5, 6, 7])
    worker = Worker()
    with turn(worker, Aside(), lambda: next(found)):
        pass
    assert worker.closed == 1 and next(found, None) is None


@pytest.mark.parametrize(("free", "who"), [(4, "the judge"), (6, "the descriptor")])
def test_memory_that_does_not_come_free_is_told(monkeypatch, free, who):
    monkeypatch.setattr(turns, "_PATIENCE_S", 0.0)
    aside = Aside()
    with pytest.raises(DeviceError, match=f"{who} needs .* GB are free"), turn(Worker(), aside, lambda: free):
        pass
    assert aside.log == ["gone", "back"]
