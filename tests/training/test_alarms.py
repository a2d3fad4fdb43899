"""What the figures warn of, and what they do not."""

import pytest

from srlite.training.alarms import alarms

FINE = dict(zero_signal_share=0.5, unscored_share=0.0, cut_off_share=0.0, distinct_share=0.6, reward=2.0, length_tokens=20.0)


def test_ordinary_slices_are_left_alone():
    assert alarms([FINE]) == () and alarms([FINE] * 9) == ()
    assert alarms([FINE, FINE | {"reward": 2.5}]) == ()
    assert alarms([FINE, FINE | {"length_tokens": 5.0, "reward": 1.0}]) == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"zero_signal_share": 1.0}, "100% of the groups gave no signal"),
        ({"unscored_share": 0.4}, "40% of the descriptions are unscored"),
        ({"cut_off_share": 0.5}, "50% of the descriptions were cut off"),
        ({"distinct_share": 0.1}, "90% of the descriptions repeat"),
        ({"reward": 2.6, "length_tokens": 7.0}, "the reward rises (2.00 to 2.60) while the descriptions shrink (20 to 7"),
    ],
)
def test_each_alarm_by_itself(change, words):
    (said,) = alarms([FINE, FINE, FINE | change])
    assert words in said


def test_a_slice_without_a_score_raises_no_other_alarm():
    (said,) = alarms([FINE | {"reward": None}, FINE | {"reward": None, "unscored_share": 1.0, "length_tokens": 1.0}])
    assert "unscored" in said
