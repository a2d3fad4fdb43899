"""Mismatched pairs: unrelated by domain, by `related` in both directions, and by every record of the clip."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from srlite.errors import InputError
from srlite.records.catalogue import Catalogue
from srlite.records.mismatch import matched_pairs, mismatched_count, mismatched_pairs, most_mismatched
from srlite.records.spellings import DOMAINS
from srlite.types import Item, Pair, Record

# Twelve items over the five domains, as in the bundled examples: 3, 3, 2, 2, 2.
CODES = tuple(f"{24 + 6 * (n % 3)}_{n}" for n in range(12))
CATALOGUE = Catalogue(tuple(Item(code, f"Name {n}", "x", domain=DOMAINS[n % 5]) for n, code in enumerate(CODES)))


def records(count: int, seed: int = 0, per_clip: int = 1) -> list[Record]:
    dice = random.Random(seed)
    return [
        Record(
            f"{n}.mp4",
            code,
            dice.choice(("pass", "fail")),
            child=f"C{n % 20}",
            sex="male",
            age_months=30.5,
            site="S",
        )
        for n in range(count)
        for code in dice.sample(CODES, per_clip)
    ]


def check(pairs: tuple[Pair, ...], given: list[Record], catalogue: Catalogue) -> None:
    """The three rules, spelled out anew."""
    for pair in pairs:
        other = catalogue[pair.item]
        mine = [catalogue[r.item] for r in given if r.clip == pair.clip]
        assert mine and not pair.matched and pair.outcome is None
        for item in mine:
            assert item.code != other.code and item.domain != other.domain
            assert other.code not in item.related and item.code not in other.related
    assert len({pair.id for pair in pairs}) == len(pairs)


def test_matched_pairs_carry_the_record():
    given = records(3)
    pairs = matched_pairs(given)
    assert [p.id for p in pairs] == [f"{r.clip}::{r.item}" for r in given]
    assert pairs[0] == Pair(given[0].clip, given[0].item, given[0].outcome, 30.5, "C0", "male", "S")
    assert all(p.matched for p in pairs)


@pytest.mark.parametrize("per_clip", [1, 2])
def test_rules_evenness_and_whom_it_shows(per_clip):
    given = records(120, per_clip=per_clip)
    pairs = mismatched_pairs(given, CATALOGUE, count=40, seed=5)
    check(pairs, given, CATALOGUE)
    assert len(pairs) == 40
    uses = Counter(p.item for p in pairs)
    assert set(uses) == set(CODES) and max(uses.values()) - min(uses.values()) <= 1
    assert max(Counter(p.clip for p in pairs).values()) == 1
    assert {(p.age_months, p.sex, p.site) for p in pairs} == {(30.5, "male", "S")}
    assert all(p.child == f"C{int(p.clip.split('.')[0]) % 20}" for p in pairs)


def test_related_counts_in_both_directions():
    items = [
        replace(i, related=tuple(c for c in CODES if c != CODES[1])) if i.code == CODES[0] else i for i in CATALOGUE.values()
    ]
    catalogue = Catalogue(tuple(items))
    given = records(120)
    pairs = mismatched_pairs(given, catalogue, count=200, seed=1)
    check(pairs, given, catalogue)
    beside = {p.item: {r.item for r in given if r.clip == p.clip} for p in pairs}
    assert beside[CODES[0]] == {CODES[1]}


def test_records_of_the_other_sides_count():
    train = [Record("a.mp4", "g", "pass"), Record("b.mp4", "l", "pass")]
    catalogue = Catalogue((Item("g", "x", "y", domain="gross motor"), Item("l", "x", "y", domain="language")))
    assert {p.id for p in mismatched_pairs(train, catalogue, count=2, seed=0)} == {"a.mp4::l", "b.mp4::g"}
    with pytest.raises(InputError, match="2 mismatched pairs are wanted, 1 are possible"):
        mismatched_pairs(train, catalogue, count=2, seed=0, known=[Record("a.mp4", "l", "fail")])
    assert most_mismatched(train, catalogue, known=[Record("a.mp4", "l", "fail")]) == 1


def test_the_same_for_any_order_and_another_for_another_seed():
    given = records(60)
    shuffled = given[:]
    random.Random(3).shuffle(shuffled)
    turned = Catalogue(tuple(reversed(CATALOGUE.entries)))
    assert mismatched_pairs(given, CATALOGUE, count=20, seed=1) == mismatched_pairs(shuffled, turned, count=20, seed=1)
    assert mismatched_pairs(given, CATALOGUE, count=20, seed=1) != mismatched_pairs(given, CATALOGUE, count=20, seed=2)


def test_all_possible_pairs_can_be_asked_for_and_not_one_more():
    given = records(10)
    possible = sum(CATALOGUE[r.item].domain != CATALOGUE[code].domain for r in given for code in CODES)
    pairs = mismatched_pairs(given, CATALOGUE, count=possible, seed=1)
    check(pairs, given, CATALOGUE)
    assert len(pairs) == possible == most_mismatched(given, CATALOGUE)
    with pytest.raises(InputError, match=f"{possible} are possible"):
        mismatched_pairs(given, CATALOGUE, count=possible + 1, seed=1)


def test_items_without_records_are_used_only_when_the_others_do_not_suffice():
    two = [r for r in records(200) if r.item in (CODES[0], CODES[1])]
    assert {p.item for p in mismatched_pairs(two, CATALOGUE, count=len(two) // 2, seed=1)} <= {
        CODES[0],
        CODES[1],
    }
    one = [r for r in two if r.item == CODES[0]]
    pairs = mismatched_pairs(one, CATALOGUE, count=len(one), seed=1)
    check(pairs, one, CATALOGUE)


def test_impossible_is_said():
    bare = Catalogue(tuple(replace(item, domain="") for item in CATALOGUE.values()))
    with pytest.raises(InputError, match="0 are possible") as caught:
        mismatched_pairs(records(20), bare, count=1, seed=1)
    assert "domain" in caught.value.remedy
    one_domain = Catalogue(tuple(replace(item, domain="language") for item in CATALOGUE.values()))
    with pytest.raises(InputError, match="language"):
        mismatched_pairs(records(20), one_domain, count=1, seed=1)
    assert mismatched_pairs(records(20), one_domain, count=0, seed=1) == ()


def test_an_unknown_item_names_itself():
    with pytest.raises(InputError, match="'nope'"):
        mismatched_pairs([Record("a.mp4", "nope", "pass")], CATALOGUE, count=1, seed=1)


def test_a_quarter_of_all_pairs():
    assert mismatched_count(90, share=0.25) == 30
    assert mismatched_count(90, share=0) == 0
