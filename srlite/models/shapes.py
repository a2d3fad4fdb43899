"""The shapes of a model, and the numbers of parameters that follow from them.

A descriptor is a vision tower with a merger in front of a language model (Qwen2.5-VL, Qwen3-VL); a judge is a language model.
Contract: `parameters` counts what transformers makes of a configuration of these shapes (a test compares them).
Words: H hidden size, I intermediate size, L layers, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

MERGE = 2
"""Side of the square of patches that becomes one token."""
TEMPORAL = 2
"""Frames in a patch."""
CHANNELS = 3
ADAPTER_RANK = 16
"""Of LoRA."""


@dataclass(frozen=True, slots=True)
class TextShape:
    """A language model. `tied`: the output head is the embedding. `biased`: q, k and v have biases (Qwen2, Qwen2.5);
    else q and k are normed head by head (Qwen3)."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    intermediate: int
    vocabulary: int
    tied: bool
    biased: bool = False
    head_dim: int = 128

    @property
    def projections(self) -> tuple[tuple[int, int], ...]:
        """(in, out) of the seven linear maps of a layer: q, k, v, o, gate, up, down."""
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        attention = ((self.hidden, queries), (self.hidden, keys), (self.hidden, keys), (queries, self.hidden))
        return (
            *attention,
            (self.hidden, self.intermediate),
            (self.hidden, self.intermediate),
            (self.intermediate, self.hidden),
        )

    @property
    def linear_parameters(self) -> int:
        """Weights of the layers' linear maps: what 4 bit makes smaller."""
        return self.layers * sum(inside * out for inside, out in self.projections)

    @property
    def small_parameters(self) -> int:
        """Norms and biases."""
        heads = (self.heads + 2 * self.kv_heads) * self.head_dim if self.biased else 2 * self.head_dim
        return self.layers * (2 * self.hidden + heads) + self.hidden

    @property
    def embedding_parameters(self) -> int:
        """The embedding, and the output head where it is another matrix."""
        return self.vocabulary * self.hidden * (1 if self.tied else 2)

    @property
    def kv_per_token(self) -> int:
        """Numbers that a token leaves in the key-value cache."""
        return 2 * self.layers * self.kv_heads * self.head_dim

    def adapter_parameters(self, rank: int) -> int:
        """Of LoRA on the seven linear maps."""
        return self.layers * sum(rank * (inside + out) for inside, out in self.projections)

    @property
    def parameters(self) -> int:
        return self.linear_parameters + self.small_parameters + self.embedding_parameters


@dataclass(frozen=True, slots=True)
class VisionShape:
    """A vision tower with its merger. `gated`: a gated feed-forward and RMS norms (Qwen2.5-VL); else a plain one and layer
    norms, with learnt positions and `deepstack` further mergers (Qwen3-VL). `out`: hidden size of the language model."""

    depth: int
    hidden: int
    intermediate: int
    heads: int
    patch: int
    out: int
    gated: bool = False
    deepstack: int = 0
    positions: int = 0

    @property
    def parameters(self) -> int:
        attention = 4 * self.hidden**2 + 4 * self.hidden
        if self.gated:
            forward = 3 * self.hidden * self.intermediate + 2 * self.intermediate + self.hidden
            norms = 2 * self.hidden
        else:
            forward = 2 * self.hidden * self.intermediate + self.intermediate + self.hidden
            norms = 4 * self.hidden
        inputs = self._embedding + self.positions * self.hidden
        return inputs + self.depth * (attention + forward + norms) + (1 + self.deepstack) * self._merger + self._merger_norms

    @property
    def _embedding(self) -> int:
        weights = CHANNELS * TEMPORAL * self.patch**2 * self.hidden
        return weights if self.gated else weights + self.hidden

    @property
    def _merger(self) -> int:
        """Two linear maps with biases, from four patches to a token."""
        inside = MERGE**2 * self.hidden
        return inside**2 + inside + inside * self.out + self.out

    @property
    def _merger_norms(self) -> int:
        """The first merger norms a patch, the deepstack ones four at once."""
        if self.gated:
            return self.hidden
        return 2 * self.hidden + self.deepstack * 2 * MERGE**2 * self.hidden

    def features_per_token(self) -> int:
        """Numbers that the tower leaves for a token of the prompt."""
        return (1 + self.deepstack) * self.out


@dataclass(frozen=True, slots=True)
class Shape:
    """`vision` None: a judge."""

    text: TextShape
    vision: VisionShape | None = None

    @property
    def parameters(self) -> int:
        return self.text.parameters + (self.vision.parameters if self.vision else 0)


def shape_from(table: Mapping[str, Mapping[str, object]]) -> Shape:
    """From the `shape` table of models.toml."""
    vision = table.get("vision")
    return Shape(TextShape(**table["text"]), VisionShape(**vision) if vision else None)


def shape_of_config(config: Mapping, family: Literal["qwen2_5_vl", "qwen3_vl"]) -> Shape:
    """Of a model folder's config.json."""
    text, vision, old = config["text_config"], config["vision_config"], family == "qwen2_5_vl"
    tied = config.get("tie_word_embeddings", text.get("tie_word_embeddings", False))
    return Shape(
        TextShape(
            hidden=text["hidden_size"],
            layers=text["num_hidden_layers"],
            heads=text["num_attention_heads"],
            kv_heads=text["num_key_value_heads"],
            intermediate=text["intermediate_size"],
            vocabulary=text["vocab_size"],
            tied=tied,
            biased=old,
            head_dim=text.get("head_dim") or text["hidden_size"] // text["num_attention_heads"],
        ),
        VisionShape(
            depth=vision["depth"],
            hidden=vision["hidden_size"],
            intermediate=vision["intermediate_size"],
            heads=vision["num_heads"],
            patch=vision["patch_size"],
            out=vision["out_hidden_size"],
            gated=old,
            deepstack=0 if old else len(vision["deepstack_visual_indexes"]),
            positions=0 if old else vision["num_position_embeddings"],
        ),
    )
