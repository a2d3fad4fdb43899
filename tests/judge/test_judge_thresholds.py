"""Thresholds that suit a judge which leans to one side."""

import pytest

from srlite.judge.thresholds import LEAST, chosen, youden

LEANS_TO_NO = [(0.2 + 0.01 * i, True) for i in range(20)] + [(0.01 + 0.002 * i, False) for i in range(30)]


def test_between_the_last_no_and_the_first_yes():
    threshold = chosen(LEANS_TO_NO, 0.5)
    assert 0.068 < threshold <= 0.2
    assert youden(LEANS_TO_NO, 0.5) == 0.0 and youden(LEANS_TO_NO, threshold) == 1.0


def test_the_present_one_stays_unless_another_is_better():
    fair = [(0.9, True)] * 12 + [(0.1, False)] * 12
    assert chosen(fair, 0.5) is None
    assert chosen([(0.5, True)] * 12 + [(0.5, False)] * 12, 0.5) is None
    assert chosen(fair, 0.95) == pytest.approx(0.5)


def test_the_best_of_several_is_the_nearest_to_the_present_one():
    scored = [(0.2, False), (0.4, True), (0.6, False), (0.8, True)] * LEAST
    assert youden(scored, 0.3) == youden(scored, 0.7) == 0.5
    assert chosen(scored, 0.9) == pytest.approx(0.71, abs=0.01)
    assert chosen(scored, 0.1) == pytest.approx(0.29, abs=0.01)


def test_too_few_of_one_answer_tell_nothing():
    assert chosen(LEANS_TO_NO[: LEAST - 1] + LEANS_TO_NO[20:], 0.5) is None
    assert chosen(LEANS_TO_NO[20:], 0.5) is None and chosen([], 0.5) is None


def test_certainties_are_no_fault():
    threshold = chosen([(1.0, True)] * 10 + [(0.0, False)] * 10 + [(0.001, True)] * 5, 0.5)
    assert 0 < threshold < 0.001
