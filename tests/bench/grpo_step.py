"""srlite's optimiser step on the tiny random model, for grpo_vs_trl.py and scaling.py: real clips, real caches, no judge.

A step is what training does with one pair: read the clip's frames (from the disk, as after the first reading), the vision tower
where its features are not kept yet, sample the group, take the reference, update. Rewards are free and never all the same. The
ends of turn are never sampled, so that every completion has the full length.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import av
import numpy as np
import torch

from srlite.config import settings_from
from srlite.describing import prepare, sample
from srlite.descriptor.generate import Ask
from srlite.descriptor.prompts import training_prompt
from srlite.training.update import optimiser_for, update_slice
from srlite.types import Group, Item, Pair, Reward
from srlite.workbench import Workbench, open_workbench

LEARNING_RATE = 1e-5


@dataclass
class Cost:
    """Of one step: seconds by phase, tokens through the language model by phase, patches through the tower."""

    phases: dict[str, float] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    patches: int = 0
    calls: int = 0

    @property
    def seconds(self) -> float:
        return sum(self.phases.values())


def write_clips(folder: Path, *, count: int, frames: int, side: int) -> list[str]:
    """Clips of noise, every picture twice (two frames share a layer of tokens); their names."""
    folder.mkdir(parents=True)
    names = [f"{i:03d}.mp4" for i in range(count)]
    for seed, name in enumerate(names):
        rng = np.random.default_rng(seed)
        with av.open(str(folder / name), "w") as container:
            stream = container.add_stream("libx264", rate=4)
            stream.width = stream.height = side
            stream.pix_fmt = "yuv420p"
            for _ in range(frames):
                picture = av.VideoFrame.from_ndarray(rng.integers(0, 256, (side, side, 3), dtype=np.uint8), format="rgb24")
                for _ in range(2):
                    container.mux(stream.encode(picture))
            container.mux(stream.encode(None))
    return names


@contextmanager
def bench(model: Path, videos: Path, *, frames: int, side: int, group: int, completion: int) -> Iterator[Workbench]:
    """The workbench of a job; only the tiny random model, and that no sample ends by itself, are the benchmark's."""
    over = {
        "models": {"descriptor": str(model), "judge": "tiny", "device": "cpu"},
        "video": {"frames": 2 * frames, "max_pixels": side * side},
        "sampling": {"group": group, "max_new_tokens": completion, "pairs": 1},
        "schedule": {"epochs": 1, "batch_pairs": 1, "learning_rate": LEARNING_RATE},
    }
    item = Item(code="1_1", name="waves", criterion="The child waves a hand.", age_months=12, domain="language")
    with open_workbench(settings_from(over, where="bench"), {item.code: item}, videos=videos, adapter=None) as opened:
        penalty = opened.descriptor.penalty.clone()
        penalty[list(opened.descriptor.family.ends)] = float("-inf")
        yield replace(opened, descriptor=replace(opened.descriptor, penalty=penalty))


def text_of(opened: Workbench) -> str:
    return training_prompt(opened.catalogue["1_1"], 12.0, 0)


class Stepper:
    """Takes steps, and counts what they push through the model."""

    def __init__(self, opened: Workbench):
        self._bench = opened
        self._optimiser = optimiser_for(opened.descriptor, LEARNING_RATE)
        self._phase, self._cost = "sample", Cost()
        core = opened.descriptor.core
        core.language_model.register_forward_hook(self._language)
        core.visual.register_forward_hook(self._tower)

    def step(self, clip: str, seed: int) -> Cost:
        self._cost, self._phase, began = Cost(), "sample", time.perf_counter()
        pair = Pair(clip, "1_1", "pass", 12.0)
        prompt, features, _, _ = prepare(self._bench, clip, text_of(self._bench))
        group = self._bench.settings.sampling.group
        (rollouts,) = sample(self._bench, [Ask(prompt, features, tuple(range(seed * group, (seed + 1) * group)))])
        rewards = [[Reward(total=i % 4 / 3) for i in range(group)]]
        began = self._enter("reference", began)

        def tick(done: int, total: int) -> None:  # after the reference, then after the update
            nonlocal began
            began = self._enter("update", began)

        update_slice(
            self._bench, self._optimiser, [Group(pair, 0, rollouts)], rewards, seed=0, portion=group, tick=tick, note=print
        )
        return self._cost

    def _enter(self, phase: str, began: float) -> float:
        now = time.perf_counter()
        self._cost.phases[self._phase] = self._cost.phases.get(self._phase, 0.0) + now - began
        self._phase = phase
        return now

    def _language(self, _module, _arguments, output) -> None:
        self._cost.tokens[self._phase] = self._cost.tokens.get(self._phase, 0) + output.last_hidden_state.shape[1]

    def _tower(self, _module, arguments, _output) -> None:
        self._cost.patches += arguments[0].shape[0]
        self._cost.calls += 1


def prompt_length(opened: Workbench, clip: str) -> int:
    return len(prepare(opened, clip, text_of(opened))[0].input_ids)


def matrix_rate(rows: int, hidden: int) -> float:
    """Floating-point operations a second of a product of the model's own shape: (rows, hidden) by (hidden, 4 hidden)."""
    left, right = torch.randn(rows, hidden), torch.randn(hidden, 4 * hidden)
    times = []
    for _ in range(30):
        began = time.perf_counter()
        left @ right
        times.append(time.perf_counter() - began)
    return 8 * rows * hidden * hidden / sorted(times)[len(times) // 2]


def operations(opened: Workbench, *, prompt: int, group: int, completion: int, patches: int) -> float:
    """Multiplications and additions that a step needs: what is multiplied with the weights, and attention.

    Forward passes of sampling, reference and update; the update's backward pass, which needs no gradient of frozen weights;
    the vision tower once. A token whose successor is not predicted is not counted.
    """
    core, head = opened.descriptor.core, opened.descriptor.head
    answers = group * (completion - 1)
    linear = sum(p.numel() for n, p in core.language_model.named_parameters() if p.dim() == 2 and "embed" not in n)
    tower = sum(p.numel() for p in core.visual.parameters() if p.dim() >= 2)
    text = core.language_model.config
    width = text.num_hidden_layers * text.hidden_size
    attention = 4 * width * (prompt**2 / 2 + answers * (prompt + completion / 2))
    forward, backward = 2 * linear * (prompt + answers) + attention, 2 * linear * (prompt + answers) + 2 * attention
    words = 4 * 2 * head.weight.numel() * group * completion
    return 3 * forward + backward + words + 2 * tower * patches
