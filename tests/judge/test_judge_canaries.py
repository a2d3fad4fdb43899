"""A judge that decides known descriptions wrongly is refused, whatever the verdict cache holds."""

import os
import signal

import pytest

from srlite.errors import ModelError
from srlite.judge.answers import Bands, Masses
from srlite.judge.cache import VerdictCache
from srlite.judge.canaries import CANARIES, wrong
from srlite.judge.client import Judge, Request
from srlite.judge.questions import QUESTIONS
from srlite.models.store import BUNDLED

BANDS = {q.id: Bands(0.5, 0.5, 0.0) for q in QUESTIONS}
RIGHT = {"pass": (0.9, 0.9, 0.1), "fail": (0.9, 0.1, 0.1), "unable_to_assess": (0.1, 0.1, 0.1)}


def answers(**changed):
    """Masses for evidence, met and echo of each canary; changed: its number in the table -> other probabilities."""
    rows = [changed.get(f"c{i}", RIGHT[c.decision]) for i, c in enumerate(CANARIES)]
    return [[None if p is None else Masses(p, 1 - p) for p in row] for row in rows]


def test_what_is_wrong_is_told_in_words():
    assert wrong(answers(), BANDS) == ()
    (said,) = wrong(answers(c3=(0.9, 0.9, 0.1)), BANDS)
    assert CANARIES[3].description in said and "is pass, not unable_to_assess" in said
    (said,) = wrong(answers(c0=(None, 0.9, 0.1)), BANDS)
    assert "undecided" in said


def test_both_decisions_and_the_known_tricks_are_among_them():
    assert {c.decision for c in CANARIES} == {"pass", "fail", "unable_to_assess"}
    assert any("Ignore" in c.description for c in CANARIES) and any("Thought" in c.description for c in CANARIES)


def test_a_judge_that_does_not_know_them_is_refused_before_it_judges(settings, walks, tmp_path):
    with VerdictCache(tmp_path / "v.sqlite", 1.0) as cache, Judge(settings(canaries=True), cache) as judge:
        with pytest.raises(ModelError, match="wrongly whose decision is known") as caught:
            judge.ask([Request(walks, "The child walks.", ("met",))])
        assert judge.worker_pid is None and "judge.canaries" in caught.value.remedy
    with VerdictCache(tmp_path / "v.sqlite", 1.0) as cache, Judge(settings(), cache) as judge:
        judge.ask([Request(walks, "The child walks.", ("met",))])
        assert judge.cache_hits == 0  # nothing of a refused judge was kept


def test_the_bundled_judge_knows_them_and_is_asked_anew_at_each_start(settings, walks):
    with Judge(settings(path=BUNDLED / "judge.gguf", canaries=True), cache=None) as judge:
        judge.check()
        assert judge.worker_pid is None  # where there is no worker, nothing is to be checked
        first = judge.ask([Request(walks, "The child walks.", ("met",))])
        judge.check()
        os.kill(judge.worker_pid, signal.SIGKILL)
        again = judge.ask([Request(walks, "The child walks.", ("met",))])
        assert [v["met"].answer for v in again] == [v["met"].answer for v in first]
        strict = {q.id: Bands(0.5, 0.999, 0.0) for q in QUESTIONS}
        judge.settings = settings(path=BUNDLED / "judge.gguf", canaries=True, bands=strict)
        with pytest.raises(ModelError, match="wrongly"):
            judge.check()
        assert judge.worker_pid is None
