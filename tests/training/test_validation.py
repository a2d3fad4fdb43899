"""The validation score and how far it can be trusted."""

import math

import pytest

from srlite.config import settings_from
from srlite.errors import InputError
from srlite.records.sides import Split
from srlite.training.validation import score_of, validation_pairs
from srlite.types import Item, Record

CATALOGUE = {c: Item(c, "walks", "The child walks.", domain=d) for c, d in (("g", "gross motor"), ("l", "language"))}


class Bench:
    """What the choice of pairs reads of a workbench."""

    catalogue, settings = CATALOGUE, settings_from({}, where="test")


def kinds(*validation):
    pairs = validation_pairs(Bench, Split((), tuple(Record(clip, item, "pass") for clip, item in validation), ()))
    return sum(p.matched for p in pairs), sum(not p.matched for p in pairs)


def test_as_many_unrelated_pairs_as_matched_ones_or_all_there_are():
    assert kinds(("a.mp4", "g"), ("b.mp4", "l"), ("c.mp4", "l")) == (3, 3)
    assert kinds(("a.mp4", "g"), ("a.mp4", "l"), ("b.mp4", "l")) == (3, 1)  # nothing is unrelated to the first clip
    with pytest.raises(InputError, match="1 mismatched pairs are wanted, 0 are possible"):
        kinds(("a.mp4", "g"), ("a.mp4", "l"))


def test_matched_and_unrelated_pairs_count_alike_whatever_their_numbers():
    score = score_of([[True] * 30 + [False] * 10, [True] * 2 + [False] * 2])
    assert score.value == pytest.approx((0.75 + 0.5) / 2)
    expected = math.sqrt((31 / 42) * (11 / 42) / 42 + 0.5 * 0.5 / 6) / 2
    assert score.error == pytest.approx(expected)


def test_all_right_is_not_certain_and_more_pairs_make_it_surer():
    few, many = score_of([[True] * 5]), score_of([[True] * 500])
    assert few.value == many.value == 1.0 and 0 < many.error < few.error < 0.2
