"""Intervals against the worked examples of the papers that proposed or compared them."""

import pytest

from srlite.evaluation.intervals import exact_share, mean_of_two, proportion, share

# Newcombe 1998, Statistics in Medicine 17:857-872, table I: methods 3 (Wilson) and 5 (Clopper-Pearson).
NEWCOMBE = [
    (81, 263, (0.2553, 0.3662), (0.2527, 0.3676)),
    (15, 148, (0.0624, 0.1605), (0.0578, 0.1617)),
    (0, 20, (0.0000, 0.1611), (0.0000, 0.1684)),
    (1, 29, (0.0061, 0.1718), (0.0009, 0.1776)),
]


@pytest.mark.parametrize(("hits", "n", "wilson", "exact"), NEWCOMBE)
def test_intervals_are_the_published_ones(hits, n, wilson, exact):
    for found, (low, high) in ((share(hits, n, of="pairs"), wilson), (exact_share(hits, n, of="pairs"), exact)):
        assert (found.value, found.n, found.reason) == (hits / n, n, None)
        assert (found.low, found.high) == (pytest.approx(low, abs=6e-5), pytest.approx(high, abs=6e-5))


def test_one_of_one_is_anything_but_certain():
    found = exact_share(1, 1, of="pairs")
    assert (found.low, found.high) == (pytest.approx(0.025), 1.0)


def test_of_nothing_is_undefined_and_says_of_what():
    for found in (share(0, 0, of="pairs"), exact_share(0, 0, of="pairs")):
        assert (found.value, found.low, found.high, found.n, found.reason) == (None, None, None, 0, "no pairs")
    assert proportion([]).reason == "no cases"


def test_square_and_add_is_the_published_one():
    """Newcombe 1998, Statistics in Medicine 17:873-890, table II, method 10: 56/70 - 48/80 lies in 0.0524 to 0.3339.

    With 1 - 48/80 in the place of 48/80 the difference is 2 * mean - 1.
    """
    found = mean_of_two(share(56, 70, of="pairs"), share(32, 80, of="pairs"))
    assert 2 * found.value - 1 == pytest.approx(0.2)
    assert (2 * found.low - 1, 2 * found.high - 1) == (pytest.approx(0.0524, abs=6e-5), pytest.approx(0.3339, abs=6e-5))


def test_the_mean_of_two_is_undefined_where_one_of_them_is():
    found = mean_of_two(exact_share(3, 4, of="passes"), exact_share(0, 0, of="fails"))
    assert (found.value, found.low, found.n, found.reason) == (None, None, 4, "no fails")
