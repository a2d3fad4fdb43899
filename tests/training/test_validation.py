"""The validation score and how far it can be trusted."""

import math

import pytest

from srlite.training.validation import score_of


def test_matched_and_unrelated_pairs_count_alike_whatever_their_numbers():
    score = score_of([[True] * 30 + [False] * 10, [True] * 2 + [False] * 2])
    assert score.value == pytest.approx((0.75 + 0.5) / 2)
    expected = math.sqrt((31 / 42) * (11 / 42) / 42 + 0.5 * 0.5 / 6) / 2
    assert score.error == pytest.approx(expected)


def test_all_right_is_not_certain_and_more_pairs_make_it_surer():
    few, many = score_of([[True] * 5]), score_of([[True] * 500])
    assert few.value == many.value == 1.0 and 0 < many.error < few.error < 0.2
