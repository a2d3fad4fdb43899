"""Resampling children, against scipy's bootstrap and against what must hold of it."""

import numpy as np
import pytest
from cases_by_hand import case
from scipy import stats

from srlite.evaluation.bootstrap import RESAMPLES, child_of, ratio


def world(seed, children=40):
    """Pairs of children that differ: each child has one to five pairs and a share of right ones of its own."""
    rng = np.random.default_rng(seed)
    hits, names = [], []
    for child in range(children):
        n, skill = rng.integers(1, 6), rng.random()
        hits += [bool(h) for h in rng.random(n) < skill]
        names += [f"c{child}"] * n
    return hits, names


@pytest.mark.parametrize("seed", range(3))
def test_the_interval_is_scipys(seed):
    """scipy's paired percentile bootstrap of the children's sums: the same but for the draws."""
    hits, names = world(seed)
    found = ratio(hits, [True] * len(hits), names, seed=1, of="pairs")
    right = [sum(h for h, n in zip(hits, names, strict=True) if n == child) for child in sorted(set(names))]
    pairs = [names.count(child) for child in sorted(set(names))]
    of_sums = lambda r, n, axis: r.sum(axis=axis) / n.sum(axis=axis)
    theirs = stats.bootstrap(
        (right, pairs), of_sums, paired=True, vectorized=True, method="percentile", n_resamples=20_000, random_state=2
    ).confidence_interval
    assert found.value == pytest.approx(sum(hits) / len(hits))
    assert (found.low, found.high) == (pytest.approx(theirs.low, abs=0.02), pytest.approx(theirs.high, abs=0.02))


def test_it_is_wider_than_an_interval_that_takes_clips_of_a_child_as_independent():
    """Twenty children, ten alike clips each: 200 pairs know no more than 20."""
    hits = [child % 2 == 0 for child in range(20) for _ in range(10)]
    names = [f"c{child}" for child in range(20) for _ in range(10)]
    by_child = ratio(hits, [True] * 200, names, seed=1, of="pairs")
    once = ratio(hits[::10], [True] * 20, names[::10], seed=1, of="pairs")
    by_clip = ratio(hits, [True] * 200, [str(i) for i in range(200)], seed=1, of="pairs")
    assert (by_child.low, by_child.high) == (once.low, once.high)
    assert by_child.high - by_child.low > 2.5 * (by_clip.high - by_clip.low)


def test_the_same_seed_gives_the_same_interval_in_any_order():
    hits, names = world(5)
    order = np.random.default_rng(0).permutation(len(hits))
    one = ratio(hits, [True] * len(hits), names, seed=3, of="pairs")
    other = ratio([hits[i] for i in order], [True] * len(hits), [names[i] for i in order], seed=3, of="pairs")
    assert one == other
    assert one != ratio(hits, [True] * len(hits), names, seed=4, of="pairs")


def test_one_rare_pair_among_370_has_no_interval():
    """(1 - 1/370)^370 = 0.367 of all resamples are without it."""
    names = [f"c{i}" for i in range(370)]
    counted = [i == 0 for i in range(370)]
    found = ratio(counted, counted, names, seed=1, of="pairs with outcome fail")
    assert (found.value, found.n, found.low, found.high) == (1.0, 1, None, None)
    share = float(found.reason.split("%")[0]) / 100
    assert share == pytest.approx(0.367, abs=4 * (0.367 * 0.633 / RESAMPLES) ** 0.5)
    assert found.reason.endswith("of the resamples of children have no pairs with outcome fail")


def test_a_figure_that_is_seldom_undefined_keeps_its_interval():
    """Six of forty children have such a pair: 0.0015 of the resamples have none."""
    counted = [i < 6 for i in range(40)]
    found = ratio([i < 3 for i in range(40)], counted, [f"c{i}" for i in range(40)], seed=1, of="pairs")
    assert found.value == 0.5 and 0 <= found.low < 0.5 < found.high <= 1 and found.reason is None


@pytest.mark.parametrize(
    ("hits", "names", "reason"),
    [
        ([True, False], ["c", "c"], "one child only"),
        ([True, True, True], ["a", "b", "c"], "no two children differ"),
        ([], [], "no pairs"),
    ],
)
def test_without_something_to_resample_there_is_a_reason_and_no_interval(hits, names, reason):
    found = ratio(hits, [True] * len(hits), names, seed=1, of="pairs")
    assert found.low is None and found.high is None and reason in found.reason


def test_a_child_is_one_in_any_spelling_and_a_clip_without_child_stands_for_itself():
    spelled = {child_of(case("pass", number=i, child=c, adapted="pass")) for i, c in enumerate((" C1", "c1", "C1"))}
    unnamed = {child_of(case("pass", number=i, adapted="pass")) for i in range(3)}
    assert len(spelled) == 1 and len(unnamed) == 3
    assert child_of(case("pass", child="7", adapted="pass")) != child_of(case("pass", child="007", adapted="pass"))
