"""The figures of a slice: what is cut off, without signal, unscored or alike is counted."""

from dataclasses import replace

import pytest

from srlite.training.schedule import Slice
from srlite.training.summary import _vocabulary, figures_of
from srlite.training.update import Update
from srlite.types import Group, Pair, Reward, Rollout


def rollout(text, length, finished=True):
    return Rollout((7,) * length, (-0.5,) * length, text, finished)


MATCHED, UNRELATED = Pair("a.mp4", "30_1", "pass"), Pair("a.mp4", "18_3", None)
GROUPS = (
    Group(MATCHED, 0, (rollout("walks", 3), rollout("walks", 3), rollout("and then", 8, finished=False))),
    Group(UNRELATED, 1, (rollout("", 1), rollout("hidden", 2), rollout("hidden from", 3))),
)
REWARDS = (
    (Reward(outcome=1.0, total=3.0, abstained=False),) * 2 + (Reward(outcome=0.0, total=1.0, abstained=True),),
    (Reward(total=None),) + (Reward(unrelated=1.0, total=2.0, abstained=True),) * 2,
)


@pytest.fixture
def figures():
    part = Slice(1, 2, 3, (MATCHED, UNRELATED, UNRELATED), (0, 1, 0))
    update = Update(steps=2, skipped_steps=1, zero_signal=1, kl=0.1, clipped=0.0, gradient_norm=1.0, portion=3, tokens=14)
    return figures_of(part, GROUPS, REWARDS, update)


def test_what_carries_no_signal_and_what_was_left_out(figures):
    assert (figures["zero_signal_share"], figures["steps"], figures["skipped_steps"]) == (0.5, 2, 1)
    assert (figures["pairs"], figures["unreadable_pairs"], figures["descriptions"]) == (2, 1, 6)


def test_lengths_and_ends(figures):
    assert figures["length_tokens"] == pytest.approx(20 / 6)
    assert figures["cut_off_share"] == pytest.approx(1 / 6)
    assert figures["distinct_share"] == pytest.approx(5 / 6)


def test_vocabulary_is_counted_over_as_many_pairs_in_every_slice(figures):
    assert figures["vocabulary"] is None  # two pairs are too few to compare
    many = [replace(GROUPS[0], rollouts=(rollout(f"Walks {i % 3}", 2), rollout("not counted", 2))) for i in range(20)]
    assert _vocabulary(many) == _vocabulary(many[:16]) == 4 and _vocabulary(many[:15]) is None


def test_means_are_over_what_is_scored(figures):
    assert figures["reward"] == pytest.approx((3 + 3 + 1 + 2 + 2) / 5)
    assert (figures["outcome"], figures["unrelated"], figures["relevance"]) == (pytest.approx(2 / 3), 1.0, None)
    assert figures["unscored_share"] == pytest.approx(1 / 6)
    assert (figures["abstention_matched"], figures["abstention_mismatched"]) == (pytest.approx(1 / 3), 1.0)
