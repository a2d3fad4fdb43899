"""What a run holds in the card's memory, term by term and phase by phase, worked out from shapes. Nothing is loaded.

Terms (bytes): P tokens of a prompt, G descriptions of C tokens, H, I, L, V as in models/shapes.py, A and K the widths of all
queries and of all keys of a layer.
The factors of the activation terms count the numbers that the forward and backward passes of one layer hold at their worst
moment, with the adapter in float32 and the rest in 16 bit; a test measures them against the allocator on tiny models, where
the layers' products are the same.
Contract: `Plan.peak` is the largest of the phases. Fragmentation and what the driver keeps are CONTEXT, an allowance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from srlite.models.shapes import ADAPTER_RANK, CHANNELS, MERGE, TEMPORAL, Shape, TextShape, VisionShape

HALF, SINGLE = 2, 4
NF4 = 0.5 + 1 / 64 + 4 / (64 * 256)
"""Bytes a weight: four bits, and double-quantised scales of blocks of 64 (QLoRA, section 3)."""
CONTEXT = 600_000_000
"""Allowance for a process on the card: driver, libraries' workspaces, fragmentation."""
STAYING = ("optimiser", "process")
"""What of the descriptor is on the card in the judge's turn, too."""
HEAD_NUMBERS = 1 << 25
"""Logits held at once where descriptions are scored, rows times vocabulary: 128 MiB of float32."""
HEAD_FORWARD, HEAD_BACKWARD, HEAD_SAMPLING = 8, 12, 20
"""Bytes a logit: in float32 with its log-softmax; with its gradient; with the sums in float64 that a token is drawn from."""
JUDGE_UBATCH = 512
"""Tokens that llama.cpp evaluates in one go (its own default), for all of which it reserves logits in float32."""


@dataclass(frozen=True, slots=True)
class Work:
    """What is run at once. prompt: P. group: G. tokens: C. pairs: groups sampled together. portion: descriptions learnt from in
    one row."""

    prompt: int
    vision_tokens: int
    group: int
    tokens: int
    pairs: int
    portion: int

    @property
    def patches(self) -> int:
        return MERGE**2 * self.vision_tokens


@dataclass(frozen=True, slots=True)
class JudgeMemory:
    """bytes: of the file. text: None where its shape is not known, then its window is not counted."""

    bytes: int
    text: TextShape | None
    n_ctx: int

    @property
    def terms(self) -> dict[str, int]:
        found = {"judge weights": self.bytes, "judge process": CONTEXT}
        if self.text:
            found["judge window"] = HALF * self.text.kv_per_token * self.n_ctx
            found["judge logits"] = SINGLE * self.text.vocabulary * JUDGE_UBATCH
        return found

    @property
    def total(self) -> int:
        return sum(self.terms.values())


@dataclass(frozen=True, slots=True)
class Plan:
    """rest: what the descriptor holds in every phase. phases: for each, what comes on top. Names and bytes."""

    rest: Mapping[str, int]
    phases: Mapping[str, Mapping[str, int]]
    judge: JudgeMemory
    resident: bool
    """Both models stay on the card; else the descriptor waits in main memory while the judge has its turn."""

    @property
    def resting(self) -> int:
        return sum(self.rest.values())

    @property
    def peaks(self) -> dict[str, int]:
        """Bytes on the card in each phase."""
        aside = self.judge.total if self.resident else 0
        found = {name: aside + self.resting + sum(terms.values()) for name, terms in self.phases.items()}
        return found | {"judge": self.judge.total + self.resting - self.parked}

    @property
    def peak(self) -> int:
        return max(self.peaks.values())

    @property
    def parked(self) -> int:
        """Bytes that wait in main memory during the judge's turn; the optimiser's stay."""
        return 0 if self.resident else sum(size for name, size in self.rest.items() if name not in STAYING)


def memory_plan(shape: Shape, work: Work, judge: JudgeMemory, *, quantise: bool, resident: bool, number: int = HALF) -> Plan:
    """number: bytes of a weight that is not in 4 bit; the CPU computes in float32."""
    text, vision = shape.text, shape.vision
    phases = {
        "look": _look(vision, work),
        "sample": _sample(text, work),
        "reference": _reference(text, work),
        "update": _update(text, work),
        "step": {"optimiser's sums": SINGLE * text.adapter_parameters(ADAPTER_RANK)},
    }
    return Plan(_rest(text, quantise, number), phases, judge, resident)


def _rest(text: TextShape, quantise: bool, number: int) -> dict[str, int]:
    adapter = SINGLE * text.adapter_parameters(ADAPTER_RANK)
    return {
        "weights, 4 bit" if quantise else "weights": round(text.linear_parameters * (NF4 if quantise else number)),
        "embeddings and head": number * (text.embedding_parameters + text.small_parameters),
        "adapter": adapter,
        "optimiser": 3 * adapter,  # gradient and two moments
        "process": CONTEXT,
    }


def _look(vision: VisionShape, work: Work) -> dict[str, int]:
    """The vision tower on one clip, without gradients. A patch comes in float32 and is made 16 bit."""
    values = CHANNELS * TEMPORAL * vision.patch**2
    if vision.gated:
        layer = max(35 * vision.hidden, 6 * vision.intermediate + 7 * vision.hidden)
    else:
        layer = max(42 * vision.hidden, 4 * vision.intermediate + 11 * vision.hidden)
    return {
        "vision tower": HALF * vision.parameters,
        "tower activations": work.patches * ((SINGLE + HALF) * values + layer),
    }


def _kv(text: TextShape, tokens: int) -> int:
    return HALF * text.kv_per_token * tokens


def _reading(text: TextShape) -> int:
    """Bytes a token of a prompt that is read without gradients."""
    return 14 * text.hidden + 12 * text.intermediate


def _sample(text: TextShape, work: Work) -> dict[str, int]:
    """Prompts are read one after the other; then all samples grow a token a step over their keys and values."""
    strand = _kv(text, work.prompt + work.group * (work.tokens - 1))
    reading = work.prompt * _reading(text) - strand  # the last prompt's strand is made when it has been read
    logits = HEAD_SAMPLING * text.vocabulary * work.group * work.pairs
    return {
        "keys and values": work.pairs * strand,
        "sampling": max(reading, logits, _kv(text, work.prompt), _dequantised(text)),
    }


def _dequantised(text: TextShape) -> int:
    """The largest matrix of a layer, in 16 bit for the time of its product."""
    return HALF * max(inside * out for inside, out in text.projections)


def _row(text: TextShape, work: Work) -> int:
    return work.portion * (work.tokens - 1)


def _mask(text: TextShape, work: Work) -> int:
    """Which of the row's tokens sees which: booleans, and the numbers that the attention kernel makes of them."""
    return (1 + HALF) * _row(text, work) * (work.prompt + _row(text, work))


def _reference(text: TextShape, work: Work) -> dict[str, int]:
    row = _row(text, work)
    head = HEAD_FORWARD * min(HEAD_NUMBERS, row * text.vocabulary)
    return {
        "prompt's keys and values": _kv(text, work.prompt),
        "reference": max(work.prompt * _reading(text), row * _reading(text) + _mask(text, work), head),
    }


def _update(text: TextShape, work: Work) -> dict[str, int]:
    """Layers keep their inputs and are computed again, one at a time, on the way back: through the row, then the prompt."""
    queries, keys = text.heads * text.head_dim, text.kv_heads * text.head_dim
    layer = 34 * text.hidden + 14 * text.intermediate + 12 * queries + 8 * keys
    kept = HALF * text.layers * text.hidden
    row, gradients = _row(text, work), _kv(text, work.prompt)
    head = HEAD_BACKWARD * min(HEAD_NUMBERS, row * text.vocabulary)
    answers = kept * row + _mask(text, work) + max(head, layer * row + 3 * HALF * keys * (work.prompt + row))
    return {
        "prompt's keys and values": _kv(text, work.prompt),
        "their gradients": gradients,
        "layers' inputs": kept * work.prompt,
        "backward": max(answers, layer * work.prompt),
    }
