"""What fits on which card, in which turns, and what the plan proposes where it does not."""

import tomllib

import pytest

from srlite.config import merged, settings_from
from srlite.device.budget import (
    Models,
    Rates,
    assess_cost,
    budget,
    clip_tokens,
    pair_cost,
    slice_length,
    suggested_rate,
    swap_seconds,
)
from srlite.device.memory import CONTEXT, NF4, STAYING, JudgeMemory, Work, memory_plan
from srlite.models.registry import registry
from srlite.training.job import settings_for

GB = 10**9
TEXT = 900
"""Bytes of a request, about that of the bundled items."""


def models(descriptor="qwen3-vl-8b", judge="qwen3-8b") -> Models:
    known = registry()
    return Models(known.descriptors[descriptor].shape, known.judges[judge].bytes, known.judges[judge].shape.text)


def of_preset(name, over=None):
    preset = registry().preset(name)
    settings = settings_for(name, over or {})[1]
    return budget(models(preset.descriptor, preset.judge), settings, text_bytes=TEXT, card=round(preset.card_gb * GB))


@pytest.mark.parametrize("name", ["8gb", "12gb", "16gb", "24gb"])
def test_every_preset_fits_on_its_card(name):
    found = of_preset(name)
    assert found.fits and found.would_fit == ()
    assert found.plan.peak == max(found.plan.peaks.values())


def test_a_large_card_keeps_both_models_and_a_small_one_swaps():
    assert of_preset("24gb").plan.resident and of_preset("24gb").plan.parked == 0
    small = of_preset("12gb").plan
    assert not small.resident
    assert small.parked == sum(size for name, size in small.rest.items() if name not in STAYING)
    assert small.peaks["judge"] == small.judge.total + small.rest["optimiser"] + CONTEXT


def test_the_turns_can_be_chosen():
    assert not of_preset("24gb", {"models": {"turns": "swapped"}}).plan.resident
    both = of_preset("12gb", {"models": {"turns": "resident"}})
    assert both.plan.resident and not both.fits


def test_the_largest_descriptor_fits_on_a_card_of_12_gb():
    """Design, section 6: Qwen3-VL-8B in 4 bit, P = 2000, C = 128, G = 16."""
    shape = registry().descriptors["qwen3-vl-8b"].shape
    work = Work(prompt=2000, vision_tokens=1600, group=16, tokens=128, pairs=1, portion=16)
    judge = JudgeMemory(5_030_000_000, registry().judges["qwen3-8b"].shape.text, 8192)
    assert memory_plan(shape, work, judge, quantise=True, resident=False).peak < 12 * GB


@pytest.mark.parametrize(("gigabytes", "proposals"), [(11, 2), (9, 1)])
def test_where_it_does_not_fit_the_changes_that_mend_it_are_named_and_do(gigabytes, proposals):
    swapped = {"models": {"turns": "swapped"}}
    found = budget(models(), settings_for("24gb", swapped)[1], text_bytes=TEXT, card=gigabytes * GB)
    assert not found.fits and len(found.would_fit) == proposals
    for change, peak in found.would_fit:
        given = tomllib.loads("\n".join(change.split(", ")))  # as a user would write them
        again = budget(models(), settings_for("24gb", merged(swapped, given))[1], text_bytes=TEXT, card=gigabytes * GB)
        assert again.fits and again.plan.peak == peak <= gigabytes * GB


def test_where_nothing_mends_it_nothing_is_proposed():
    settings = settings_for("24gb", {})[1]
    assert budget(models(), settings, text_bytes=TEXT, card=4 * GB).would_fit == ()


def test_terms_follow_from_the_shapes():
    """Worked by hand for Qwen3-VL-8B: 36 layers of 4096, of 6.95 G weights in linear maps."""
    rest = of_preset("24gb").plan.rest
    linear = 36 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 12288)
    assert rest["weights, 4 bit"] == round(linear * NF4)
    adapter = 36 * 16 * (2 * (4096 + 4096) + 2 * (4096 + 1024) + 3 * (4096 + 12288))
    assert rest["adapter"] == 4 * adapter and rest["optimiser"] == 12 * adapter
    assert rest["embeddings and head"] == pytest.approx(2 * 2 * 151936 * 4096, rel=0.001)


def test_tokens_of_a_clip():
    vision = registry().descriptors["qwen3-vl-8b"].shape.vision
    assert clip_tokens(vision, 32, 448 * 448) == 16 * 14 * 14
    assert clip_tokens(vision, 16, 448 * 448) == 8 * 14 * 14


def test_half_the_frames_and_twice_the_card_save_time():
    rates = Rates(25e12, 360e9)
    settings = settings_for("12gb", {})[1]
    cost = lambda frames, rates: (
        pair_cost(models(), Work(160 + 98 * frames, 98 * frames, 16, 128, 4, 16), settings, rates).total
    )
    assert cost(16, rates) < cost(32, rates)
    assert cost(16, Rates(50e12, 720e9)) == pytest.approx(cost(16, rates) / 2)


def test_a_slice_is_as_long_as_keeps_swapping_small_and_no_longer_than_is_good_for_learning():
    assert slice_length(0.0, 10.0, 8) == slice_length(5.0, 20.0, 8) == 64
    assert slice_length(20.0, 10.0, 8) == 104  # 20 s of 1,060 s
    assert slice_length(20.0, 1.0, 8) == 256
    assert slice_length(0.0, 10.0, 10) == 70


def test_swapping_costs_by_what_goes_over_the_bus_and_nothing_where_both_stay():
    small, large = of_preset("12gb").plan, of_preset("24gb").plan
    assert swap_seconds(large, models()) == 0
    assert swap_seconds(small, models()) == pytest.approx(2 * small.parked / 10e9 + 5.03e9 / 2e9)


def test_a_clip_is_assessed_in_seconds_on_a_card_and_minutes_without():
    settings, work = settings_for("12gb", {})[1], of_preset("12gb").work
    on_card = assess_cost(models("qwen3-vl-4b"), work, settings, Rates(25e12, 360e9))
    without = assess_cost(models("qwen3-vl-4b"), work, settings, Rates(0.2e12, 20e9))
    assert 2 < on_card < 20 and without > 60


def test_a_learning_rate_for_fewer_steps_than_the_paper_took():
    assert suggested_rate(16_000) is None and suggested_rate(4_000) is None
    assert suggested_rate(1_600) == pytest.approx(1e-4)
    assert suggested_rate(100) == 2e-4 and suggested_rate(0) == 2e-4


def test_descriptions_learnt_from_at_once_are_a_setting():
    settings = settings_from({"schedule": {"learnt_at_once": 4}}, where="")
    less = budget(models(), settings, text_bytes=TEXT, card=100 * GB)
    more = budget(models(), settings_from({}, where=""), text_bytes=TEXT, card=100 * GB)
    assert less.work.portion == 4 and more.work.portion == 16
    assert sum(less.plan.phases["update"].values()) < sum(more.plan.phases["update"].values())
