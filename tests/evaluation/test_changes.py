"""Pictures in the place of a clip's own are what their names say."""

import random

import numpy as np
import pytest

from srlite.demo.draw import render
from srlite.demo.world import draw_action, draw_child
from srlite.evaluation.changes import GREY, blank, cut, halved, reversed_order, shuffled, until
from srlite.types import Frames
from srlite.video.sampling import sample_times


def clip(real, duration_s=4.0):
    """`real` pictures, the i-th of them filled with i, the last one repeated when their number is odd."""
    rows = [*range(real), *[real - 1] * (real % 2)]
    images = np.stack([np.full((4, 6, 3), i, np.uint8) for i in rows])
    own_s = sample_times(duration_s, real)
    return Frames(images, tuple(own_s[i] for i in rows), duration_s, real, ("a warning",))


def order(frames):
    return frames.images[:, 0, 0, 0].tolist()


def test_blank_shows_nothing_at_the_same_times():
    own = clip(5)
    found = blank(own)
    assert set(np.unique(found.images)) == {GREY}
    assert found.images.shape == own.images.shape and found.images.dtype == np.uint8
    assert (found.times_s, found.duration_s) == (own.times_s, own.duration_s)
    assert order(own) == [0, 1, 2, 3, 4, 4]


@pytest.mark.parametrize(("real", "expected"), [(1, [0, 0]), (4, [3, 2, 1, 0]), (5, [4, 3, 2, 1, 0, 0])])
def test_reversed_is_last_to_first_and_twice_is_as_before(real, expected):
    own = clip(real)
    found = reversed_order(own)
    assert order(found) == expected
    assert (found.times_s, found.duration_s, found.real) == (own.times_s, own.duration_s, own.real)
    assert order(reversed_order(found)) == order(own)


@pytest.mark.parametrize("real", [2, 3, 5, 8])
def test_shuffled_is_another_order_of_the_same_pictures(real):
    own = clip(real)
    found = [shuffled(own, seed) for seed in range(50)]
    for one in found:
        assert order(one)[:real] != order(own)[:real]
        assert sorted(order(one)[:real]) == list(range(real))
        assert order(one)[real:] == order(one)[real - 1 : real] * (real % 2)
        assert one.times_s == own.times_s
    assert order(shuffled(own, 7)) == order(found[7])
    assert real == 2 or len({tuple(order(one)) for one in found}) > 1


def test_one_picture_has_no_other_order():
    assert order(shuffled(clip(1), 0)) == [0, 0]


@pytest.mark.parametrize(("real", "kept"), [(1, [0, 0]), (2, [0, 0]), (3, [0, 0]), (6, [0, 1, 2, 2]), (8, [0, 1, 2, 3])])
def test_halved_is_the_first_half_by_time(real, kept):
    own = clip(real)
    found = halved(own)
    assert order(found) == kept
    assert found.times_s == tuple(own.times_s[i] for i in kept)
    assert len(found.times_s) % 2 == 0 and found.real == len(set(kept))
    assert all(t < 2.0 for t in found.times_s) or real == 1
    assert found.duration_s == 2.0


def test_half_is_by_time_not_by_number():
    own = Frames(clip(4).images, (0.1, 0.2, 0.3, 3.9), 4.0, 4)
    assert order(halved(own)) == [0, 1, 2, 2]


def test_cut_leaves_half_of_the_seconds_that_are_asked_for():
    found = cut(clip(8), 2.0)
    assert (order(found), found.duration_s) == ([0, 1], 1.0)


def test_a_first_picture_after_the_cut_stays_with_its_time():
    found = until(clip(2, duration_s=20.0), 1.0)
    assert (found.times_s, found.duration_s) == ((5.0, 5.0), 5.0)


def test_a_clip_that_ends_before_the_cut_stays_as_it_is():
    found = until(clip(4, duration_s=1.0), 3.0)
    assert (order(found), found.duration_s) == ([0, 1, 2, 3], 1.0)


def test_walking_backward_reversed_is_walking_forward():
    """In the drawn world a walk is symmetric in time, so the two differ in the swing of the legs only."""
    for seed in range(5):
        scenes = [
            draw_action("18_4", outcome, action, draw_child(seed, 3, 18), "clear", random.Random(seed))
            for outcome, action in (("pass", "walk_backward"), ("fail", "walk_forward"))
        ]
        backward, forward = (
            Frames(render(s, sample_times(s.duration_s, 8)), sample_times(s.duration_s, 8), s.duration_s, 8) for s in scenes
        )
        assert _apart(reversed_order(backward), forward) < 0.3 * _apart(backward, forward)


def _apart(one, other):
    """Share of the pixels that differ by more than the camera's noise."""
    return float((np.abs(one.images.astype(int) - other.images).max(-1) > 40).mean())
