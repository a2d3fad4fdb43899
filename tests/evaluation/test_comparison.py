"""Two arms on the same pairs, against published examples, scipy, and counts by hand."""

import pytest
from cases_by_hand import case, cases
from scipy.stats import binom

from srlite.evaluation.comparison import compare, comparisons, mcnemar


def both(base, adapted):
    return {"base": base, "adapted": adapted}


def test_mcnemar_is_the_published_one():
    """Airway hyper-responsiveness before and after stem cell transplantation (Bentur et al. 2009), 7 against 1 of 21 children;
    Fagerland, Lydersen and Laake 2013 (BMC Medical Research Methodology 13:91) give the exact conditional p as 0.070."""
    assert mcnemar(1, 7) == mcnemar(7, 1) == pytest.approx(0.0703, abs=5e-5)


@pytest.mark.parametrize(("one", "other"), [(0, 5), (3, 3), (6, 16), (40, 12)])
def test_mcnemar_is_twice_the_smaller_tail(one, other):
    assert mcnemar(one, other) == pytest.approx(min(1.0, 2 * binom.cdf(min(one, other), one + other, 0.5)))


def test_arms_that_are_right_alike_do_not_differ():
    found = compare(cases(*[("pass", both("pass", "pass"))] * 4), "base", "adapted", seed=1)
    assert (found.p, found.p_reason, found.difference.value) == (1.0, None, 0.0)
    assert found.difference.low is None and "no two children differ" in found.difference.reason


def test_the_paired_table_and_the_differences():
    rows = cases(
        ("pass", both("pass", "pass")),
        ("pass", both("fail", "pass")),
        ("fail", both("pass", "fail")),
        ("fail", both(None, "fail")),
        ("fail", both("fail", "unable_to_assess")),
        ("pass", both("unable_to_assess", "fail")),
        (None, both("pass", "unable_to_assess")),
        (None, both("unable_to_assess", "unable_to_assess")),
    )
    found = compare(rows, "base", "adapted", seed=1)
    assert (found.n, found.both_right, found.only_before, found.only_after, found.neither) == (6, 1, 1, 3, 1)
    assert found.p == pytest.approx(0.625)  # 2 * P(at most 1 of 4)
    assert (found.difference.value, found.difference.n) == (pytest.approx(2 / 6), 6)
    assert (found.abstention_difference.value, found.abstention_difference.n) == (0.5, 2)
    assert found.difference.low < 2 / 6 < found.difference.high <= 1


def test_a_child_brings_both_arms_along():
    """Ten children, each better by the same half of its pairs: whichever are drawn, the difference is the same."""
    rows = [
        case("pass", number=2 * child + i, child=f"c{child}", **both("fail" if i else "pass", "pass"))
        for child in range(10)
        for i in range(2)
    ]
    found = compare(rows, "base", "adapted", seed=1)
    assert found.difference.value == 0.5 and "no two children differ" in found.difference.reason


def test_items_are_gained_and_lost():
    rows = cases(("pass", both("fail", "pass")), item="A") + cases(("pass", both("pass", "fail")), item="B")
    rows += cases(("pass", both("pass", "pass")), item="C")
    found = compare(rows, "base", "adapted", seed=1)
    assert (found.items_gained, found.items_lost) == (("A",), ("B",))


def test_without_pairs_there_is_a_reason_and_no_p():
    found = compare(cases((None, both("pass", "pass"))), "base", "adapted", seed=1)
    assert (found.n, found.p, found.p_reason) == (0, None, "no valid examples")
    assert (found.difference.value, found.difference.reason) == (None, "no valid examples")


def test_only_pairs_that_both_arms_spoke_of_are_compared():
    rows = cases(("pass", both("pass", "pass")), ("pass", {"adapted": "pass"}))
    assert compare(rows, "base", "adapted", seed=1).n == 1


@pytest.mark.parametrize(
    ("arms", "found"),
    [
        (("adapted",), []),
        (("generic", "base", "adapted"), [("base", "adapted"), ("generic", "base")]),
        (("ablated", "adapted"), [("ablated", "adapted")]),
    ],
)
def test_what_is_compared(arms, found):
    rows = cases(("pass", dict.fromkeys(arms, "pass")))
    assert [(c.before, c.after) for c in comparisons(rows, arms, seed=1)] == found
