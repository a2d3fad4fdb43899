"""What differs between the families of vision-language models: Qwen2.5-VL and Qwen3-VL.

Contract: `read_family` looks at a loaded model and its processor and returns one frozen record; the rest of
the room asks that record and never tests for a model's name. A family that is not listed is refused.
Left out: sizes in memory and what fits on which card (the registry and the device plan know those).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from srlite.errors import ModelError

if TYPE_CHECKING:
    from transformers import GenerationConfig, PretrainedConfig, PreTrainedTokenizerBase, ProcessorMixin

# What stands for a clip in the text given to the processor. Qwen3-VL's processor writes the vision marks
# itself, around each layer; recent releases no longer remove a pair that surrounds the placeholder.
CLIP_MARKUP = {
    "qwen2_5_vl": "<|vision_start|><|video_pad|><|vision_end|>",
    "qwen3_vl": "<|video_pad|>",
}
FAMILIES = tuple(CLIP_MARKUP)
TURN_START = "<|im_start|>"
TURN_END = "<|im_end|>"
TEXT_END = "<|endoftext|>"


@dataclass(frozen=True, slots=True)
class Family:
    """The properties of one loaded model that the code depends on."""

    name: str
    deepstack: int
    """Feature levels that are added inside the language model; 0 in Qwen2.5-VL."""
    patch: int
    """Pixels along the side of one patch."""
    merge: int
    """Patches along the side of one merged token."""
    temporal: int
    """Frames that share one layer of tokens."""
    clip_markup: str
    """What stands for a clip in the text given to the processor."""
    positions_per_s: float | None
    """Temporal positions that one second takes; None where time marks tell the time."""
    video_token: int
    max_positions: int
    ends: tuple[int, ...]
    """Every token that ends the assistant's turn."""
    forbidden: tuple[int, ...]
    """Tokens that are never sampled: special and added ones that end nothing, and rows without a token."""

    @property
    def frame_multiple(self) -> int:
        """Height and width of a frame, in pixels, must be multiples of this."""
        return self.patch * self.merge

    def vision_tokens(self, frames: int, height: int, width: int) -> int:
        """Placeholder tokens of a clip: frames (count), height and width (pixels)."""
        per_layer = (height // self.frame_multiple) * (width // self.frame_multiple)
        return -(-frames // self.temporal) * per_layer


def known_family(model_type: object, where: str) -> str:
    """Return `model_type` if this code can drive it; raise ModelError otherwise."""
    if model_type in FAMILIES:
        return str(model_type)
    raise ModelError(
        f"models of the family {model_type!r} cannot be used as the descriptor",
        where=where,
        remedy=f"Choose a model of one of these families: {', '.join(FAMILIES)}.",
    )


def read_family(
    config: PretrainedConfig,
    generation: GenerationConfig,
    processor: ProcessorMixin,
    where: str,
) -> Family:
    """Describe a loaded model. Raises ModelError for an unknown family or parts that do not fit."""
    name = known_family(config.model_type, where)
    vision, tokenizer = config.vision_config, processor.tokenizer
    _check_processor(processor, vision, where)
    _check_attention(config.text_config, where)
    ends = _ends(tokenizer, generation, where)
    return Family(
        name=name,
        deepstack=len(getattr(vision, "deepstack_visual_indexes", None) or ()),
        patch=vision.patch_size,
        merge=vision.spatial_merge_size,
        temporal=vision.temporal_patch_size,
        clip_markup=CLIP_MARKUP[name],
        positions_per_s=getattr(vision, "tokens_per_second", None),
        video_token=config.video_token_id,
        max_positions=config.text_config.max_position_embeddings,
        ends=ends,
        forbidden=_forbidden(tokenizer, config.text_config.vocab_size, ends),
    )


def _check_processor(processor: ProcessorMixin, vision: PretrainedConfig, where: str) -> None:
    video = processor.video_processor
    of_processor = (video.patch_size, video.merge_size, video.temporal_patch_size)
    of_model = (vision.patch_size, vision.spatial_merge_size, vision.temporal_patch_size)
    if of_processor != of_model:
        raise ModelError(
            f"the video processor cuts patches as {of_processor}, the model expects {of_model} (patch, merge, temporal)",
            where=where,
            remedy="The folder mixes files of two models: fetch the model again.",
        )


def _check_attention(text: PretrainedConfig, where: str) -> None:
    # the attention here lets every token see the whole prompt
    if "sliding_attention" in (getattr(text, "layer_types", None) or ()):
        raise ModelError(
            "the language model uses sliding-window attention, which is not supported",
            where=where,
            remedy="Choose a model whose config.json has use_sliding_window = false.",
        )


def _ends(tokenizer: PreTrainedTokenizerBase, generation: GenerationConfig, where: str) -> tuple[int, ...]:
    vocabulary = tokenizer.get_vocab()
    missing = [t for t in (TURN_START, TURN_END, "<|vision_start|>", "<|video_pad|>") if t not in vocabulary]
    if missing:
        raise ModelError(
            f"the tokenizer has no {' '.join(missing)}",
            where=where,
            remedy="The folder's tokenizer belongs to another model: fetch the model again.",
        )
    configured = generation.eos_token_id
    ids = set(configured if isinstance(configured, Iterable) else [configured])
    ids |= {tokenizer.eos_token_id, vocabulary[TURN_END], vocabulary.get(TEXT_END)}
    return tuple(sorted(i for i in ids if i is not None))


def _forbidden(tokenizer: PreTrainedTokenizerBase, rows: int, ends: tuple[int, ...]) -> tuple[int, ...]:
    special = set(tokenizer.all_special_ids) | set(tokenizer.added_tokens_decoder)
    # output rows beyond the vocabulary pad the matrix and stand for nothing
    nothing = set(range(rows)) - set(tokenizer.get_vocab().values())
    return tuple(sorted(i for i in special | nothing if i < rows and i not in ends))
