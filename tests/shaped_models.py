"""Models of random weights by their shapes (srlite.models.shapes): the configuration, and a whole model folder."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    AutoConfig,
    AutoModelForImageTextToText,
    PreTrainedTokenizerFast,
    Qwen2_5_VLProcessor,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
    Qwen3VLProcessor,
    Qwen3VLVideoProcessor,
)

from srlite.models.shapes import Shape, TextShape

MARKED = {
    "image_token_id": "<|image_pad|>",
    "video_token_id": "<|video_pad|>",
    "vision_start_token_id": "<|vision_start|>",
    "vision_end_token_id": "<|vision_end|>",
}
END, PADDING = "<|im_end|>", "<|endoftext|>"
LONGEST = 32768


def configured(shape: Shape, family: str, **ids: int):
    """The configuration of transformers for a shape."""
    text, vision, newer = shape.text, shape.vision, family == "qwen3_vl"
    levels = [(1 + i) * vision.depth // (1 + vision.deepstack) - 1 for i in range(vision.deepstack)]
    return AutoConfig.for_model(
        family,
        tie_word_embeddings=text.tied,
        **ids,
        text_config=dict(
            **language_sizes(text),
            max_position_embeddings=LONGEST,
            rope_parameters=_rope(text.head_dim, newer),
            **({"head_dim": text.head_dim} if newer else {}),
        ),
        vision_config=dict(
            depth=vision.depth,
            hidden_size=vision.hidden,
            intermediate_size=vision.intermediate,
            num_heads=vision.heads,
            patch_size=vision.patch,
            out_hidden_size=vision.out,
            **(
                dict(deepstack_visual_indexes=levels, num_position_embeddings=vision.positions)
                if newer
                else dict(fullatt_block_indexes=[vision.depth - 1], tokens_per_second=2)
            ),
        ),
    )


def language_sizes(text: TextShape) -> dict:
    """As transformers names them."""
    return dict(
        hidden_size=text.hidden,
        num_hidden_layers=text.layers,
        num_attention_heads=text.heads,
        num_key_value_heads=text.kv_heads,
        intermediate_size=text.intermediate,
        vocab_size=text.vocabulary,
        tie_word_embeddings=text.tied,
    )


def _rope(head_dim: int, newer: bool) -> dict:
    half = head_dim // 2
    sides = 3 * half // 8
    sections = dict(rope_type="default", rope_theta=1e6, mrope_section=[half - 2 * sides, sides, sides])
    return sections | ({"mrope_interleaved": True} if newer else {})


def save_model(shape: Shape, family: str, folder: Path, *, dtype: torch.dtype) -> Path:
    """A model folder that srlite loads; a byte of text is a token."""
    tokenizer = byte_tokenizer()
    ids = {key: tokenizer.convert_tokens_to_ids(token) for key, token in MARKED.items()}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = AutoModelForImageTextToText.from_config(configured(shape, family, **ids), dtype=dtype)
    model.generation_config.eos_token_id = tokenizer.convert_tokens_to_ids([END, PADDING])
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.save_pretrained(folder)
    processor_of(shape, family, tokenizer).save_pretrained(folder)
    return folder


def processor_of(shape: Shape, family: str, tokenizer: PreTrainedTokenizerFast):
    if family == "qwen3_vl":
        return Qwen3VLProcessor(Qwen2VLImageProcessor(patch_size=shape.vision.patch), tokenizer, Qwen3VLVideoProcessor())
    return Qwen2_5_VLProcessor(Qwen2VLImageProcessor(), tokenizer, Qwen2VLVideoProcessor())


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """A byte a token, and the special tokens of the families."""
    letters = {letter: row for row, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    backend = Tokenizer(models.BPE(letters, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([PADDING, "<|im_start|>", END, "<|vision_pad|>", *MARKED.values()])
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=END, pad_token=PADDING, model_max_length=LONGEST)
