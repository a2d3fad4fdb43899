"""Slices: complete, fresh mismatched pairs, and nothing but the seed decides."""

import random
from collections import Counter

from srlite.config import settings_from
from srlite.demo.world import clinic
from srlite.records.dataset import catalogue_of
from srlite.training.schedule import planned_steps, seed_of, slices, turns
from srlite.types import Record

CATALOGUE = catalogue_of(None)
RECORDS = [
    Record(f"{i}.mp4", s.item, s.outcome, child=s.child.id) for i, s in enumerate(clinic(3, 4, children=4, unseen_share=0.0))
]
SETTINGS = settings_from({"schedule": {"rounds": 2, "slice_pairs": 20}, "seed": 5}, where="test")


def test_a_round_goes_over_all_training_pairs_and_a_quarter_is_mismatched():
    for number in (1, 2):
        pairs = [p for part in slices(RECORDS, RECORDS, CATALOGUE, SETTINGS) if part.round == number for p in part.pairs]
        assert sorted(p.clip for p in pairs if p.matched) == sorted(r.clip for r in RECORDS)
        assert sum(not p.matched for p in pairs) == len(RECORDS) // 3


def test_mismatched_pairs_come_from_another_domain_and_are_not_related():
    item_of = {r.clip: CATALOGUE[r.item] for r in RECORDS}
    for part in slices(RECORDS, RECORDS, CATALOGUE, SETTINGS):
        for pair in part.pairs:
            if not pair.matched:
                one, two = item_of[pair.clip], CATALOGUE[pair.item]
                assert one.domain != two.domain
                assert two.code not in one.related and one.code not in two.related


def test_the_order_of_the_rows_does_not_matter_and_the_seed_does():
    shuffled = random.Random(1).sample(RECORDS, len(RECORDS))
    assert slices(RECORDS, RECORDS, CATALOGUE, SETTINGS) == slices(shuffled, shuffled, CATALOGUE, SETTINGS)
    other = SETTINGS.model_copy(update={"seed": 6})
    assert slices(RECORDS, RECORDS, CATALOGUE, SETTINGS) != slices(RECORDS, RECORDS, CATALOGUE, other)


def test_lopsided_items_are_evened_out_and_over_the_rounds_nobody_is_left_out():
    settings = settings_from({"schedule": {"rounds": 6, "max_imbalance": 1.5}, "seed": 5}, where="test")
    records = [Record(f"p{i}.mp4", "18_4", "pass") for i in range(10)] + [Record(f"f{i}.mp4", "18_4", "fail") for i in range(3)]
    records += [Record(f"o{i}.mp4", "30_1", "pass") for i in range(4)]
    taken = {n: turns(records, settings.schedule.max_imbalance, seed=5, number=n) for n in range(1, 7)}
    for found in taken.values():
        counts = Counter((r.item, r.outcome) for r in found)
        assert counts == {("18_4", "fail"): 3, ("18_4", "pass"): 5, ("30_1", "pass"): 4}  # 3 * 1.5, rounded up; nothing to even
        assert len({r.clip for r in found}) == len(found)
    uses = Counter(r.clip for found in taken.values() for r in found if r.clip.startswith("p"))
    assert uses == dict.fromkeys(uses, 3) and len(uses) == 10
    assert sorted(turns(records, None, seed=5, number=1), key=str) == sorted(records, key=str)
    assert turns(records, 1.5, seed=5, number=1) != turns(records, 1.5, seed=6, number=1)


def test_all_wordings_of_an_item_are_used():
    used = {w for part in slices(RECORDS, RECORDS, CATALOGUE, SETTINGS) for w in part.wordings}
    assert used == {0, 1, 2}


def test_planned_steps_count_partial_batches():
    parts = slices(RECORDS, RECORDS, CATALOGUE, SETTINGS)
    sizes = [len(p.pairs) for p in parts]
    assert sizes == [20, 20, 20, 4] * 2
    assert planned_steps(parts, SETTINGS) == 2 * (3 + 3 + 3 + 1) * 2


def test_seeds_depend_on_every_part():
    assert len({seed_of(1, "a"), seed_of(1, "b"), seed_of(2, "a"), seed_of("1a"), seed_of(1, "a", 0)}) == 5
