"""Every record is somewhere in the flow, once."""

import random

import pytest
from cases_by_hand import case, data_of

from srlite.evaluation.flow import flow_of, sums_that_fail

DECISIONS = ("pass", "fail", "unable_to_assess", None)
ARMS = ("base", "adapted")


def random_cases(rng):
    out = []
    for number in range(rng.randrange(1, 40)):
        outcome = rng.choice(("pass", "fail", None))
        if rng.random() < 0.2:
            out.append(case(outcome, number=number, unreadable="no video"))
        else:
            out.append(case(outcome, number=number, **{arm: rng.choice(DECISIONS) for arm in ARMS}))
    return out


@pytest.mark.parametrize("seed", range(100))
def test_the_counts_add_up_whatever_happened(seed):
    rng = random.Random(seed)
    found = random_cases(rng)
    more = {name: rng.randrange(5) for name in ("no_outcome", "repeated", "train", "validation")}
    flow = flow_of(*data_of(found, **more), found, ARMS)
    assert sums_that_fail(flow) == ()
    unread = sum(c.unreadable is not None for c in found)
    assert flow.test_pairs + flow.unrelated_pairs + flow.unreadable_pairs == len(found) and flow.unreadable_pairs == unread
    assert flow.rows == flow.records + more["no_outcome"] + more["repeated"]
    for arm in ARMS:
        assert flow.unscored[arm] == sum(c.arms[arm].decision is None for c in found if c.arms)
        assert flow.decisions[arm]["pass"] == sum(c.matched and c.arms[arm].decision == "pass" for c in found if c.arms)


@pytest.mark.parametrize(
    "change",
    [
        {"train": 1},
        {"test_pairs": 3},
        {"unreadable_matched": 1},
        {"unrelated_pairs": 5},
        {"unscored": {"base": 0, "adapted": 9}},
        {"records": 100},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_count_that_was_lost_is_noticed(change):
    found = [case("pass", number=i, base="pass", adapted=None) for i in range(4)]
    flow = flow_of(*data_of(found, train=2), found, ARMS)
    assert sums_that_fail(flow) == ()
    assert sums_that_fail(flow.model_copy(update=change))


def test_what_fails_is_said_in_words():
    found = [case("pass", number=i, base="pass", adapted="pass") for i in range(4)]
    flow = flow_of(*data_of(found, train=2), found, ARMS).model_copy(update={"records": 7})
    assert sums_that_fail(flow) == ("records by side: 7 is not 2 + 0 + 4",)
