"""The second judge: agreement by hand, kappa against a published table, and the warning of reward hacking."""

import warnings

import pytest
from cases_by_hand import NAMED, case, said

from srlite.evaluation.second import SAME, kappa, second_judge_of


def test_kappa_is_the_published_one():
    """Fleiss, Levin and Paik 2003, table 18.1: two raters, 100 subjects, kappa 0.68."""
    table = {"psychotic": (75, 1, 4), "neurotic": (5, 4, 1), "organic": (0, 0, 10)}
    pairs = [(a, b) for a, row in table.items() for b, n in zip(table, row, strict=True) for _ in range(n)]
    value, reason = kappa(*zip(*pairs, strict=True))
    assert value == pytest.approx((0.89 - 0.66) / (1 - 0.66)) and reason is None


def test_one_rater_that_always_says_the_same_agrees_by_chance_only():
    """F4: 369 to 1, and always the common answer."""
    assert kappa(["pass"] * 369 + ["fail"], ["pass"] * 370) == (pytest.approx(0.0), None)


def test_kappa_is_undefined_where_both_say_one_thing():
    """F3: 12 negatives told negative."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        said_once = "both said fail throughout: there is nothing to agree on beyond chance"
        assert kappa(["fail"] * 12, ["fail"] * 12) == (None, said_once)
        assert kappa([], []) == (None, "nothing was rated")


def pairs(*rows):
    """(outcome, base, adapted), each of these (first judge, second judge)."""
    told = lambda decisions: said(decisions[0], second=decisions[1])
    return [case(outcome, number=i, base=told(b), adapted=told(a)) for i, (outcome, b, a) in enumerate(rows)]


def test_agreement_is_of_decisions_and_accuracy_by_the_second_judge():
    rows = pairs(
        ("pass", ("pass", "pass"), ("pass", "fail")),
        ("fail", ("pass", "fail"), ("fail", "fail")),
        (None, ("unable_to_assess", "unable_to_assess"), (None, None)),
    )
    found = second_judge_of(rows, ("base", "adapted"), NAMED, first_sha256="f" * 64)
    assert found.judge == NAMED
    base, adapted = found.arms["base"], found.arms["adapted"]
    assert (base.agreement.value, base.agreement.n) == (pytest.approx(2 / 3), 3)
    assert (adapted.agreement.value, adapted.agreement.n) == (pytest.approx(2 / 3), 3)  # unscored by both is agreement
    assert (base.accuracy.value, base.accuracy.n) == (1.0, 2) and adapted.accuracy.value == 0.5
    assert base.kappa == pytest.approx((2 / 3 - 3 / 9) / (1 - 3 / 9))  # by hand: 2 of 3 alike, 3 of 9 by chance


WRONG, RIGHT = ("fail", "fail"), ("pass", "pass")


@pytest.mark.parametrize(
    ("base", "adapted", "warned"),
    [
        (WRONG, ("pass", "fail"), True),
        (WRONG, RIGHT, False),
        (("fail", "pass"), ("pass", "fail"), True),
        (RIGHT, WRONG, False),
        (RIGHT, RIGHT, False),
    ],
)
def test_better_for_the_training_judge_only_is_warned_of(base, adapted, warned):
    found = second_judge_of(pairs(("pass", base, adapted)), ("base", "adapted"), NAMED, first_sha256="f" * 64)
    assert bool(found.warnings) == warned
    assert not warned or ("reward hacking" in found.warnings[0] and "0.000 to 1.000" in found.warnings[0])


def test_the_judge_that_trained_the_run_is_no_second_one():
    rows = pairs(("pass", RIGHT, RIGHT))
    assert second_judge_of(rows, ("base", "adapted"), NAMED, first_sha256=NAMED.sha256).warnings == (SAME,)


def test_without_a_base_there_is_nothing_to_rise_from():
    found = second_judge_of([case("pass", adapted=said("pass", second="fail"))], ("adapted",), NAMED, first_sha256="f" * 64)
    assert found.warnings == () and found.arms["adapted"].agreement.value == 0.0
