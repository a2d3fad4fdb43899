"""What the figures warn of, and what they do not."""

import pytest

from srlite.errors import ModelError
from srlite.training.alarms import alarms, refuse_broken, refuse_unscored
from srlite.training.update import Update
from srlite.types import Reward

FINE = dict(
    pairs=10,
    unreadable_pairs=0,
    zero_signal_share=0.5,
    unscored_share=0.0,
    cut_off_share=0.0,
    distinct_share=0.6,
    reward=2.0,
    length_tokens=20.0,
    vocabulary=60,
    steps=4,
    skipped_steps=0,
)


def test_ordinary_slices_are_left_alone():
    assert alarms([FINE]) == () and alarms([FINE] * 9) == ()
    assert alarms([FINE, FINE | {"reward": 2.5}]) == ()
    assert alarms([FINE, FINE | {"length_tokens": 5.0, "vocabulary": 5, "reward": 1.0}]) == ()
    assert alarms([FINE, FINE | {"vocabulary": None, "reward": 2.5}]) == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"pairs": 0, "unreadable_pairs": 10}, "100% of the pairs were left out"),
        ({"zero_signal_share": 1.0}, "100% of the groups gave no signal"),
        ({"unscored_share": 0.4}, "40% of the descriptions are unscored"),
        ({"cut_off_share": 0.5}, "50% of the descriptions were cut off"),
        ({"distinct_share": 0.1}, "90% of the descriptions repeat"),
        ({"steps": 3, "skipped_steps": 1}, "1 of 4 steps were left out: their gradient was not finite"),
        (
            {"reward": 2.6, "length_tokens": 7.0},
            "the reward rises (2.00 to 2.60) while the descriptions shrink (20 to 7 tokens)",
        ),
        ({"reward": 2.6, "vocabulary": 9}, "while the descriptions shrink (60 to 9 different words)"),
        ({"reward": 2.6, "vocabulary": 9, "length_tokens": 7.0}, "(20 to 7 tokens, 60 to 9 different words)"),
    ],
)
def test_each_alarm_by_itself(change, words):
    (said,) = alarms([FINE, FINE, FINE | change])
    assert words in said


def test_a_slice_without_a_score_raises_no_other_alarm():
    (said,) = alarms([FINE | {"reward": None}, FINE | {"reward": None, "unscored_share": 1.0, "length_tokens": 1.0}])
    assert "unscored" in said


def test_a_judge_that_does_not_answer_stops_the_run_above_the_limit():
    rewards = [[Reward(total=1.0), Reward(total=None)], [Reward(total=None), Reward(total=2.0)]]
    refuse_unscored(rewards, 0.5)
    refuse_unscored([], 0.0)
    with pytest.raises(ModelError, match="2 of 4 descriptions unscored"):
        refuse_unscored(rewards, 0.49)


def test_a_slice_without_one_finite_gradient_stops_the_run():
    update = lambda steps, skipped: Update(steps, skipped, 0, None, None, None, 16, 0)  # noqa: E731
    for fine in (update(0, 0), update(3, 0), update(1, 2)):
        refuse_broken(fine)
    with pytest.raises(ModelError, match="none of the slice's 3 steps"):
        refuse_broken(update(0, 3))
