"""The dry run: what is planned follows from records, settings and shapes, whether or not the models are installed."""

import io
import json

import pytest
from rich.console import Console

from srlite.console import Screen
from srlite.console.machine import show_plan
from srlite.models.registry import registry
from srlite.models.store import find_descriptor
from srlite.records.dataset import catalogue_of
from srlite.sizing import installed_shape, longest_request, models_of
from srlite.training.job import settings_for
from srlite.training.planning import plan_json, plan_run


@pytest.fixture
def planned(examples):
    def plan(preset, over=None):
        rows = (examples / "items.csv", examples / "videos")
        return plan_json(plan_run(*rows, preset=preset, catalogue=None, over=over or {}))

    return plan


def test_the_bundled_pair_is_planned_from_its_own_files(planned):
    plan = planned("tiny")
    assert plan["not_installed"] == [] and plan["memory"]["fits"]
    shape = installed_shape(find_descriptor("tiny"))
    assert 3e6 < shape.parameters < 5e6
    assert plan["memory"]["rest"]["adapter"] == 4 * shape.text.adapter_parameters(16)
    assert plan["time"]["on"] == "this machine" and plan["time"]["hours"] > 0


def test_models_that_are_not_installed_are_planned_from_the_registry(planned):
    plan = planned("12gb")
    assert plan["not_installed"] == ["qwen3-vl-4b", "qwen3-8b"]
    assert plan["memory"]["available"] == 12 * 10**9 and "12 GB" in plan["memory"]["on"]
    assert plan["time"]["on"] == "an RTX 3060, by count"
    shape = registry().descriptors["qwen3-vl-4b"].shape
    clips = 108  # of the examples, less those whose outcome is empty
    assert plan["disk"]["features"] % (8 * (448 // 32) ** 2 * 4 * shape.text.hidden * 2) == 0
    assert 0 < plan["disk"]["features"] <= clips * 8 * (448 // 32) ** 2 * 4 * shape.text.hidden * 2


def test_the_learning_rate_of_a_short_run_is_spoken_of(planned):
    assert planned("12gb")["learning_rate_suggested"] == 2e-4
    assert planned("12gb", {"schedule": {"rounds": 200}})["learning_rate_suggested"] is None


def test_fewer_frames_and_a_smaller_group_take_less_of_everything(planned):
    whole, less = planned("12gb"), planned("12gb", {"video": {"frames": 8}, "sampling": {"group": 8}})
    assert less["prompt_tokens_at_most"] < whole["prompt_tokens_at_most"]
    assert less["time"]["hours"] < whole["time"]["hours"]
    assert less["memory"]["peaks"]["update"] < whole["memory"]["peaks"]["update"]
    assert less["disk"]["frames"] == whole["disk"]["frames"] // 2


def test_what_less_would_save_is_what_a_plan_with_less_says(planned):
    told = {s["change"]: s["hours"] for s in planned("12gb")["time"]["sooner"]}
    half = {"schedule": {"rounds": 2}}, {"video": {"frames": 8}}, {"sampling": {"group": 8}}
    assert list(told) == [f"{part}.{name} = {n}" for change in half for part, s in change.items() for name, n in s.items()]
    assert list(told.values()) == pytest.approx([planned("12gb", change)["time"]["hours"] for change in half])
    least = {"schedule": {"rounds": 1}, "sampling": {"group": 2}}
    assert [s["change"] for s in planned("12gb", least)["time"]["sooner"]] == ["video.frames = 8"]


def test_the_longest_request_is_that_of_the_catalogue():
    catalogue = catalogue_of(None)
    longest = longest_request(catalogue)
    assert any(item.criterion in longest for item in catalogue.values()) and 300 < len(longest) < 3000


def test_sizes_of_models_in_the_registry_and_in_files():
    tiny, missing = models_of(settings_for("tiny", {})[1])
    assert missing == () and tiny.judge_text.layers == 4 and tiny.judge_bytes < 10_000_000
    large, missing = models_of(settings_for("24gb", {})[1])
    assert missing == ("qwen3-vl-8b", "qwen3-8b") and large.descriptor == registry().descriptors["qwen3-vl-8b"].shape


@pytest.mark.parametrize("width", [60, 100])
def test_the_page_says_what_is_missing_and_what_to_do(planned, width):
    screen = Screen()
    out = io.StringIO()
    screen.out = Console(file=out, width=width, highlight=False)
    show_plan(screen, planned("16gb", {"models": {"turns": "resident"}}))
    said = " ".join(out.getvalue().split())
    assert "does not fit" in said and "what would fit: " in said
    assert "srlite models pull --preset 16gb" in said
    assert "schedule.learning_rate = 0.0002" in said and "to be done sooner: schedule.rounds = 2 (" in said
    assert max(len(line) for line in out.getvalue().splitlines()) <= width


def test_the_document_is_strict_json(planned):
    assert json.loads(json.dumps(planned("8gb"), allow_nan=False))["schema"] == "srlite.plan/1"
