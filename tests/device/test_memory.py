"""The memory plan against the allocator: small models whose layers have the proportions of the real ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from shaped_models import save_model
from torch.profiler import ProfilerActivity, profile

from srlite.descriptor.features import encode
from srlite.descriptor.forward import read_prompt
from srlite.descriptor.generate import Ask, sample_groups
from srlite.descriptor.inputs import build_prompt
from srlite.descriptor.load import adapter_off, checkpointing, load_descriptor, trainable
from srlite.descriptor.logprobs import answer_logprobs, gradient_through
from srlite.device.memory import JudgeMemory, Work, memory_plan
from srlite.models.shapes import Shape, TextShape, VisionShape
from srlite.types import Frames

SHAPES = {
    "qwen3_vl": Shape(
        TextShape(hidden=256, layers=6, heads=8, kv_heads=2, intermediate=768, vocabulary=4096, tied=True, head_dim=32),
        VisionShape(depth=4, hidden=512, intermediate=1914, heads=8, patch=16, out=256, deepstack=3, positions=2304),
    ),
    "qwen2_5_vl": Shape(
        TextShape(
            hidden=256, layers=6, heads=8, kv_heads=2, intermediate=1376, vocabulary=4096, tied=False, biased=True, head_dim=32
        ),
        VisionShape(depth=4, hidden=512, intermediate=1368, heads=8, patch=14, out=256, gated=True),
    ),
}
FRAMES, SIDE = 8, 8
GROUP, TOKENS = 16, 33


@dataclass
class Peak:
    bytes: int = 0


@contextmanager
def measured() -> Iterator[Peak]:
    """The most memory that torch held at a time, beyond what it holds before."""
    peak = Peak()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as found:
        yield peak
    held = 0
    events = [e for e in found.profiler.kineto_results.events() if e.name() == "[memory]"]
    for event in sorted(events, key=lambda e: e.start_ns()):
        held += event.nbytes()
        peak.bytes = max(peak.bytes, held)


@pytest.fixture(scope="module", params=SHAPES)
def loaded(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    save_model(SHAPES[request.param], request.param, folder, dtype=torch.bfloat16)
    return load_descriptor(folder, adapter=None, device="cpu", quantise=True, dtype="bfloat16", seed=0), SHAPES[request.param]


@pytest.fixture
def prompt(loaded):
    descriptor, shape = loaded
    side = SIDE * 2 * shape.vision.patch
    images = np.random.default_rng(0).integers(0, 255, (FRAMES, side, side, 3), dtype=np.uint8)
    frames = Frames(images, tuple(i / 4 for i in range(FRAMES)), FRAMES / 4, FRAMES)
    return build_prompt(descriptor, frames, "x" * 300, system=None)


@pytest.fixture
def terms(loaded, prompt):
    """What each phase holds beyond the model, by the plan."""
    work = Work(len(prompt.input_ids), int(prompt.video_mask.sum()), GROUP, TOKENS, pairs=2, portion=GROUP)
    plan = memory_plan(loaded[1], work, JudgeMemory(0, None, 0), quantise=True, resident=False)
    return {phase: sum(found.values()) for phase, found in plan.phases.items()}


def completions(descriptor) -> list[tuple[int, ...]]:
    letters = descriptor.processor.tokenizer.encode("abcdefghijklmnopqrstuvwxyz")
    return [tuple((letters * 2)[i : i + TOKENS]) for i in range(GROUP)]


def within_a_tenth(found: Peak, planned: int) -> None:
    assert planned == pytest.approx(found.bytes, rel=0.1), f"planned {planned:,}, measured {found.bytes:,}"


def test_looking(loaded, prompt, terms):
    descriptor, shape = loaded
    with measured() as found:
        encode(descriptor, prompt)
    on_a_card_only = 2 * shape.vision.parameters + 4 * prompt.pixels.numel()  # here the tower and the pixels are there already
    within_a_tenth(found, terms["look"] - on_a_card_only)


@pytest.mark.slow
def test_sampling(loaded, prompt, terms):
    descriptor, _ = loaded
    features = encode(descriptor, prompt)
    asks = [Ask(prompt, features, tuple(range(i, i + GROUP))) for i in (0, GROUP)]
    with measured() as found:
        sample_groups(descriptor, asks, max_new_tokens=TOKENS, temperature=1.0, top_p=1.0)
    within_a_tenth(found, terms["sample"])


def test_the_reference(loaded, prompt, terms):
    descriptor, _ = loaded
    features = encode(descriptor, prompt)
    with measured() as found, torch.no_grad(), adapter_off(descriptor):
        answer_logprobs(descriptor, read_prompt(descriptor, prompt, features), completions(descriptor))
    within_a_tenth(found, terms["reference"])


@pytest.mark.slow
def test_the_update(loaded, prompt, terms):
    descriptor, _ = loaded
    features = encode(descriptor, prompt)
    for _, parameter in trainable(descriptor):
        parameter.grad = torch.zeros_like(parameter)
    with (
        measured() as found,
        checkpointing(descriptor),
        gradient_through(read_prompt(descriptor, prompt, features)) as read,
    ):
        torch.cat(answer_logprobs(descriptor, read, completions(descriptor))).sum().backward()
    within_a_tenth(found, terms["update"])
