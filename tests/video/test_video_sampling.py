from __future__ import annotations

import itertools
import math

import pytest

from srlite.video.sampling import choose, fit_size, sample_times


def test_samples_are_the_middles_of_equal_parts():
    assert sample_times(10.0, 4) == (1.25, 3.75, 6.25, 8.75)
    assert sample_times(0.0, 2) == (0.0, 0.0)
    with pytest.raises(ValueError, match="count"):
        sample_times(1.0, 0)


def test_nearest_frame_by_time_not_by_index():
    times = [0.0, 0.1, 0.2, 0.3, 5.0, 9.9]
    assert choose(times, (0.12, 4.0)) == (1, 4)
    assert choose(times, (5.0, 9.0)) == (4, 5)


def test_a_tie_goes_to_the_earlier_frame():
    assert choose([0.0, 1.0, 2.0, 3.0], (0.5, 2.5)) == (0, 2)


@pytest.mark.parametrize("have", [1, 2, 3, 9, 31, 32, 33, 100])
@pytest.mark.parametrize("count", [2, 8, 32])
def test_indexes_increase_are_distinct_and_even_in_number(have, count):
    for times in ([i / 25 for i in range(have)], [0.001 * i for i in range(have - 1)] + [60.0]):
        chosen = choose(times, sample_times(times[-1] + 0.04, count))
        real = min(have, count)
        assert len(chosen) == real + real % 2
        assert len(set(chosen)) == real
        assert list(chosen) == sorted(chosen)
        assert chosen[real:] == chosen[real - 1 : real] * (real % 2)


def test_an_odd_wish_is_padded_and_no_frames_is_an_error():
    assert choose([0.0, 1.0, 2.0, 3.0], (0.0, 1.0, 2.0)) == (0, 1, 2, 2)
    with pytest.raises(ValueError, match="no frames"):
        choose([], (0.0, 1.0))


SIDES = (1, 20, 63, 100, 320, 1080, 1920, 3840)


@pytest.mark.parametrize("multiple", [28, 32])
@pytest.mark.parametrize("cells", [1, 3, 16, 150])
def test_sizes_obey_the_grid_the_area_and_the_original(multiple, cells):
    limit = cells * multiple * multiple + 5
    for width, height in itertools.product(SIDES, SIDES):
        wide, high = fit_size(width, height, multiple=multiple, max_pixels=limit)
        assert wide % multiple == high % multiple == 0
        assert min(wide, high) >= multiple and wide * high <= limit
        assert wide <= max(multiple, round(width / multiple) * multiple)
        assert high <= max(multiple, round(height / multiple) * multiple)
        assert fit_size(height, width, multiple=multiple, max_pixels=limit) in ((high, wide), (wide, high))


@pytest.mark.parametrize(("width", "height"), [(1920, 1080), (1080, 1920), (640, 480), (720, 720)])
def test_the_aspect_ratio_is_nearly_kept_and_the_area_used(width, height):
    wide, high = fit_size(width, height, multiple=32, max_pixels=200_000)
    assert abs(math.log((wide / high) / (width / height))) < 0.08
    assert wide * high > 0.75 * 200_000


def test_known_sizes():
    assert fit_size(320, 256, multiple=32, max_pixels=1_000_000) == (320, 256)
    assert fit_size(640, 640, multiple=32, max_pixels=320 * 320) == (320, 320)
    assert fit_size(10, 10, multiple=32, max_pixels=10_000) == (32, 32)
    with pytest.raises(ValueError, match="cannot fit"):
        fit_size(640, 480, multiple=32, max_pixels=1000)
