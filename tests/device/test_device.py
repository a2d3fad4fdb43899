"""Threads and turns."""

import os

import pytest

from srlite.device.threads import usable_threads
from srlite.device.turns import judge_turn


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


def test_on_a_card_the_judge_ends_with_its_turn_whatever_happens():
    worker = Worker()
    with judge_turn(worker, on_card=False):
        pass
    assert worker.closed == 0
    with pytest.raises(RuntimeError), judge_turn(worker, on_card=True):
        raise RuntimeError
    assert worker.closed == 1
