"""Does a run fit on a card, in which turns, and what would make it fit. Arithmetic only; see memory.py for the terms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from srlite.config import Settings, merged, settings_from
from srlite.device.memory import HALF, NF4, SINGLE, JudgeMemory, Plan, Work, memory_plan
from srlite.models.shapes import MERGE, TEMPORAL, Shape, TextShape, VisionShape

BYTES_A_TOKEN = 3
"""Of a request's text, at least: it has more in English, and some Chinese."""
TIME_MARK_TOKENS = 12
"""In front of every pair of frames (Qwen3-VL)."""


@dataclass(frozen=True, slots=True)
class Models:
    """What the plan needs to know of the two models. judge_text: None where the judge's sizes are not known."""

    descriptor: Shape
    judge_bytes: int
    judge_text: TextShape | None


@dataclass(frozen=True, slots=True)
class Budget:
    """card: bytes that may be used. would_fit: settings with which the run fits, each with its peak; empty where it does."""

    plan: Plan
    work: Work
    card: int
    would_fit: tuple[tuple[str, int], ...]

    @property
    def fits(self) -> bool:
        return self.plan.peak <= self.card


def budget(models: Models, settings: Settings, *, text_bytes: int, card: int) -> Budget:
    """text_bytes: of the longest request. Both models stay on the card where that leaves room for every phase."""
    plan = _plan(models, settings, text_bytes, card)
    easier = [] if plan.peak <= card else list(_easier(models, settings, text_bytes, card))
    return Budget(plan, work_of(settings, models.descriptor, text_bytes), card, tuple(easier))


def _plan(models: Models, settings: Settings, text_bytes: int, card: int) -> Plan:
    work = work_of(settings, models.descriptor, text_bytes)
    judge = JudgeMemory(models.judge_bytes, models.judge_text, settings.judge.n_ctx)
    how = dict(quantise=settings.models.quantise, number=number_bytes(settings))
    both = memory_plan(models.descriptor, work, judge, resident=True, **how)
    turns = settings.models.turns
    if turns == "resident" or (turns == "auto" and both.peak <= card):
        return both
    return memory_plan(models.descriptor, work, judge, resident=False, **how)


def number_bytes(settings: Settings) -> int:
    """Of a weight that is not in 4 bit: a card computes in bfloat16, the CPU in float32. Presets for cards are in 4 bit."""
    return HALF if settings.models.quantise or settings.models.device == "cuda" else SINGLE


def work_of(settings: Settings, shape: Shape, text_bytes: int) -> Work:
    vision_tokens = clip_tokens(shape.vision, settings.video.frames, settings.video.max_pixels)
    marks = 0 if shape.vision.gated else TIME_MARK_TOKENS * settings.video.frames // TEMPORAL
    return Work(
        prompt=vision_tokens + marks + math.ceil(text_bytes / BYTES_A_TOKEN),
        vision_tokens=vision_tokens,
        group=settings.sampling.group,
        tokens=settings.sampling.max_new_tokens,
        pairs=settings.sampling.pairs,
        portion=settings.schedule.learnt_at_once or settings.sampling.group,
    )


def clip_tokens(vision: VisionShape, frames: int, max_pixels: int) -> int:
    """At most so many tokens of a prompt are the clip's."""
    return frames // TEMPORAL * (max_pixels // (vision.patch * MERGE) ** 2)


def _easier(models: Models, settings: Settings, text_bytes: int, card: int) -> Iterator[tuple[str, int]]:
    """Single changes with which it fits, those first that take nothing from what is learnt; else the fewest together."""
    s, quarter = settings, max(1, settings.sampling.group // 4)
    changes = {
        f"schedule.learnt_at_once = {quarter}": {"schedule": {"learnt_at_once": quarter}},
        "sampling.pairs = 1": {"sampling": {"pairs": 1}},
        "models.quantise = true": {"models": {"quantise": True}},
        "judge.n_ctx = 4096": {"judge": {"n_ctx": min(4096, s.judge.n_ctx)}},
        f"video.frames = {s.video.frames // 4 * 2}": {"video": {"frames": s.video.frames // 4 * 2}},
        f"video.max_pixels = {s.video.max_pixels // 2}": {"video": {"max_pixels": s.video.max_pixels // 2}},
    }
    changes = {name: change for name, change in changes.items() if _changed(s, change) != s}
    peak = lambda change: _plan(models, _changed(s, change), text_bytes, card).peak
    alone = [(name, found) for name, change in changes.items() if (found := peak(change)) <= card]
    yield from alone
    together: dict[str, object] = {}
    for count, change in enumerate(() if alone else changes.values(), start=1):
        together = merged(together, change)
        if (found := peak(together)) <= card:
            yield ", ".join(list(changes)[:count]), found
            return


def _changed(settings: Settings, change: dict[str, object]) -> Settings:
    return settings_from(merged(settings.model_dump(), change), where="the plan")


# ---- time ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rates:
    """What a machine does in a second: arithmetic operations in matrix products, bytes read from the model's memory."""

    operations: float
    bytes: float


PAPER_STEPS, PAPER_RATE, HIGHEST_RATE = 16_000, 1e-5, 2e-4
JUDGE_TOKENS = 350
"""Of an item's text, a description and six questions."""
BUS, LOADING = 10e9, 2e9
"""Bytes a second, about: pinned memory over PCIe; a file in the disk's cache into a card."""
EFFICIENCY = 0.4
"""Of the matrix rate, what a training step reaches (tests/bench/grpo_vs_trl.py: 0.32 to 0.45 on a CPU)."""


@dataclass(frozen=True, slots=True)
class PairCost:
    """Seconds that a pair of a round takes, phase by phase."""

    sample: float
    judge: float
    reference: float
    update: float

    @property
    def total(self) -> float:
        return self.sample + self.judge + self.reference + self.update


def pair_cost(models: Models, work: Work, settings: Settings, rates: Rates) -> PairCost:
    """An estimate: every group carries a signal, every description has all its tokens, no verdict is in the cache."""
    text = models.descriptor.text
    whole = work.prompt + work.group * work.tokens
    rate = EFFICIENCY * rates.operations
    forward = _operations(text, work, whole) / rate
    passes = 1 + 2  # forward; computed again and back, where the weights are frozen
    growing = max(
        _operations(text, work, work.group * work.tokens) / rate,
        work.tokens * _weight_bytes(text, settings) / work.pairs / rates.bytes,
    )
    judged = 0.0
    if models.judge_text:
        tokens = 150 + work.group * (work.tokens + 4 * 12)
        judged = 2 * models.judge_text.linear_parameters * tokens / rate
    return PairCost(
        sample=_operations(text, work, work.prompt) / rate + growing,
        judge=judged,
        reference=forward,
        update=settings.schedule.epochs * passes * forward,
    )


def assess_cost(models: Models, work: Work, settings: Settings, rates: Rates) -> float:
    """Seconds for one clip: the tower, the prompt, one description of all its tokens one by one, and the judge."""
    text, vision = models.descriptor.text, models.descriptor.vision
    looked = 2 * vision.parameters * work.patches + _operations(text, work, work.prompt)
    written = work.tokens * _weight_bytes(text, settings) / rates.bytes
    judged = 2 * models.judge_text.linear_parameters * JUDGE_TOKENS if models.judge_text else 0
    return (looked + judged) / (EFFICIENCY * rates.operations) + written


def swap_seconds(plan: Plan, models: Models) -> float:
    """Of a turn: the descriptor goes and comes back over the bus, the judge is loaded from the disk's cache."""
    return 0.0 if plan.resident else 2 * plan.parked / BUS + models.judge_bytes / LOADING


SLICE_PAIRS, MOST_SLICE_PAIRS, MOST_SWAPPING = 64, 256, 0.02
"""Pairs of a slice, and what share of the time swapping may take before a slice gets longer."""


def slice_length(swap_s: float, pair_s: float, batch: int) -> int:
    """Pairs of a slice, a multiple of `batch` from SLICE_PAIRS on: as few as keep swapping within MOST_SWAPPING of the time.

    No more than MOST_SLICE_PAIRS: the later in a slice a group is learnt from, the older is the adapter that described it.
    """
    wanted = swap_s * (1 / MOST_SWAPPING - 1) / pair_s
    return batch * math.ceil(min(max(wanted, SLICE_PAIRS), MOST_SLICE_PAIRS) / batch)


def _weight_bytes(text: TextShape, settings: Settings) -> float:
    """Read for every token that is written alone."""
    number = number_bytes(settings)
    return text.linear_parameters * (NF4 if settings.models.quantise else number) + number * text.vocabulary * text.hidden


def _operations(text: TextShape, work: Work, tokens: int) -> float:
    """Of so many tokens through the language model: its linear maps, and attention to half of a prompt."""
    return 2 * text.linear_parameters * tokens + 2 * text.layers * text.heads * text.head_dim * tokens * work.prompt


def suggested_rate(steps: int) -> float | None:
    """A learning rate for a run of far fewer steps than the paper's 16,000 at 1e-5: as much way in all, 2e-4 at most."""
    return None if steps >= PAPER_STEPS / 4 else min(HIGHEST_RATE, round(PAPER_RATE * PAPER_STEPS / max(1, steps), 6))
