"""Groups by sex, age and domain: nobody is lost, and a group without examples is named."""

import pytest
from cases_by_hand import BASIS, ITEMS, case

from srlite.evaluation.figures import arm_figures
from srlite.evaluation.strata import by_age, by_domain, by_sex, strata
from srlite.types import Item


def pair(number, **about):
    return case("pass", number=number, adapted="pass", **about)


def test_a_sex_without_examples_is_named():
    arm = arm_figures([pair(0, sex="male"), pair(1, sex="male")], "adapted", BASIS)
    groups = arm.strata["sex"]
    assert set(groups) == {"female", "male"} and groups["male"].accuracy.n == 2
    assert (groups["female"].accuracy.value, groups["female"].accuracy.reason) == (None, "no valid examples")
    assert arm.items["18_4"].by_sex["female"].accuracy.reason == "no valid examples"
    assert arm.items["18_4"].by_sex["male"].sensitivity.value == 1.0


def test_who_is_of_no_known_sex_age_or_domain_is_counted_apart():
    groups = strata([pair(0), pair(1, item="99_9", sex="female", age=18)], ITEMS)
    assert [len(g["unknown"]) for g in (groups["sex"], groups["age"], groups["domain"])] == [1, 1, 1]
    assert "unknown" not in by_sex([pair(0, sex="female")])


@pytest.mark.parametrize(
    ("age", "group"), [(17.2, "18 months"), (18, "18 months"), (40, "18 months"), (6.5, "6 months"), (0, "6 months")]
)
def test_a_child_is_of_the_nearest_age_that_an_item_has(age, group):
    found = by_age([pair(0, age=age)], ITEMS)
    assert set(found) == {"6 months", "18 months"} and len(found[group]) == 1


def test_between_two_ages_it_is_of_the_younger():
    assert len(by_age([pair(0, age=12)], ITEMS)["6 months"]) == 1


def test_without_ages_of_items_there_are_bands_of_a_year():
    found = by_age([pair(0, age=5), pair(1, age=11.9), pair(2, age=12)], [Item("a", "a", "a")])
    assert {name: len(group) for name, group in found.items()} == {"0 to 11 months": 2, "12 to 23 months": 1}


def test_domains_are_those_of_the_items():
    found = by_domain([pair(0), pair(1, item="6_3"), pair(2, item="6_3")], ITEMS)
    assert {name: len(group) for name, group in found.items()} == {"fine motor": 2, "gross motor": 1}


def test_groups_hold_every_case_once():
    about = lambda i: {"sex": ("female", "male", None)[i % 3], "age": (None, 7, 17)[i % 3], "item": ("18_4", "6_3")[i % 2]}
    rows = [pair(i, **about(i)) for i in range(30)]
    for groups in strata(rows, ITEMS).values():
        assert sorted(c.clip for g in groups.values() for c in g) == [c.clip for c in rows]
