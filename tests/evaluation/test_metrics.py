"""Figures of an arm against counts made by hand and scipy's intervals."""

import pytest

from srlite.describing import Decided
from srlite.evaluation.metrics import arm_figures, item_figures, proportion
from srlite.types import Pair, Verdict


def decided(outcome, decision, item="30_1", relevant="yes"):
    verdict = Verdict(relevant, None, 1.0)
    return Decided(Pair("a.mp4", item, outcome), "words", 10, {"relevant": verdict}, decision)


def test_unable_and_unscored_are_misses_and_shown_apart():
    found = item_figures(
        [
            decided("pass", "pass"),
            decided("pass", "fail"),
            decided("pass", "unable_to_assess"),
            decided("pass", None),
            decided("fail", "pass"),
            decided("fail", "fail"),
            decided("fail", "unable_to_assess"),
            decided("fail", None),
        ]
    )
    assert (found.tp, found.fn, found.fp, found.tn) == (1, 1, 1, 1)
    assert (found.unable_pass, found.unable_fail, found.unscored, found.unscored_pass) == (1, 1, 2, 1)
    assert found.recall == pytest.approx(1 / 4)
    assert found.precision == pytest.approx(1 / 2)


def test_undefined_is_none_not_zero():
    found = item_figures([decided("fail", "fail")])
    assert found.recall is None and found.precision is None
    assert proportion([]).value is None


def test_accuracy_counts_matched_pairs_and_abstention_unrelated_ones():
    arm = arm_figures(
        [
            decided("pass", "pass"),
            decided("fail", None),
            decided(None, "unable_to_assess"),
            decided(None, "pass"),
            decided(None, None),
        ]
    )
    assert (arm.accuracy.value, arm.accuracy.n) == (0.5, 2)
    assert (arm.abstention.value, arm.abstention.n) == (pytest.approx(1 / 3), 3)
    assert arm.truth is None


def test_unscored_relevance_is_left_out():
    arm = arm_figures([decided("pass", "pass"), decided("pass", "pass", relevant="unscored")])
    assert (arm.relevance.value, arm.relevance.n) == (1.0, 1)


def test_items_above_half_are_counted_strictly():
    arm = arm_figures(
        [
            decided("pass", "pass", "A"),
            decided("pass", "fail", "A"),
            decided("pass", "pass", "B"),
            decided("fail", "fail", "C"),
        ]
    )
    assert arm.items_recall_above_half == 1


def test_wilson_interval_is_the_published_one():
    # Newcombe 1998, Statistics in Medicine 17: 81 of 263 gives 0.2553 to 0.3662
    found = proportion([True] * 81 + [False] * 182)
    assert (found.low, found.high) == (pytest.approx(0.2553, abs=1e-4), pytest.approx(0.3662, abs=1e-4))
