"""The shapes of the tiny models: a real `qwen3_vl` and a real Qwen3, small enough to learn on two cores.

A clip is 8 pictures of 128 x 128, which the vision tower turns into 4 x 16 tokens (patch 16, 2 pictures in time, 2 x 2
merged), as Qwen3-VL does. Weights are kept in bfloat16; the descriptor has about 4 million of them, the judge 2.
"""

from __future__ import annotations

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM, Qwen3VLConfig, Qwen3VLForConditionalGeneration
from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLVisionConfig
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLVisionModel

FRAMES, SIZE = 8, 128
PATCH, MERGE, TEMPORAL = 16, 2, 2
GRID = (FRAMES // TEMPORAL, SIZE // PATCH, SIZE // PATCH)
VISION_TOKENS = GRID[0] * GRID[1] * GRID[2] // MERGE**2
HIDDEN = 192

VISION = dict(
    depth=4,
    hidden_size=128,
    intermediate_size=512,
    num_heads=4,
    patch_size=PATCH,
    spatial_merge_size=MERGE,
    temporal_patch_size=TEMPORAL,
    out_hidden_size=HIDDEN,
    num_position_embeddings=64,
    deepstack_visual_indexes=[1, 2],
)
TEXT = dict(
    hidden_size=HIDDEN,
    intermediate_size=576,
    num_hidden_layers=4,
    num_attention_heads=6,
    num_key_value_heads=2,
    head_dim=32,
    max_position_embeddings=4096,
    tie_word_embeddings=True,
)


def vision_tower() -> Qwen3VLVisionModel:
    return Qwen3VLVisionModel(Qwen3VLVisionConfig(**VISION)).float()


def descriptor(tokenizer) -> Qwen3VLForConditionalGeneration:
    """A fresh descriptor, float32, random weights."""
    token = tokenizer.convert_tokens_to_ids
    rope = dict(rope_type="default", rope_theta=10000.0, mrope_section=[6, 5, 5], mrope_interleaved=True)
    config = Qwen3VLConfig(
        text_config=dict(
            TEXT,
            vocab_size=len(tokenizer),
            rope_parameters=rope,
            pad_token_id=token("<|endoftext|>"),
            eos_token_id=token("<|im_end|>"),
        ),
        vision_config=VISION,
        tie_word_embeddings=True,
        image_token_id=token("<|image_pad|>"),
        video_token_id=token("<|video_pad|>"),
        vision_start_token_id=token("<|vision_start|>"),
        vision_end_token_id=token("<|vision_end|>"),
    )
    config._attn_implementation = "sdpa"
    return Qwen3VLForConditionalGeneration(config).float()


def judge(tokenizer) -> Qwen3ForCausalLM:
    """A fresh judge, float32, random weights."""
    rope = dict(rope_type="default", rope_theta=10000.0)
    config = Qwen3Config(**dict(TEXT, max_position_embeddings=2048), vocab_size=len(tokenizer), rope_parameters=rope)
    config._attn_implementation = "sdpa"
    return Qwen3ForCausalLM(config).float()


def patchify(pictures: torch.Tensor) -> torch.Tensor:
    """uint8 (B, F, H, W, 3) -> float32 (B * patches, 3 * 2 * 16 * 16), as Qwen3-VL's video processor lays them out."""
    x = pictures.permute(0, 1, 4, 2, 3).float() / 127.5 - 1  # (B, F, 3, H, W)
    (b, f, c, h, w), p, m, t = x.shape, PATCH, MERGE, TEMPORAL
    x = x.reshape(b, f // t, t, c, h // (p * m), m, p, w // (p * m), m, p)
    return x.permute(0, 1, 4, 7, 5, 8, 3, 2, 6, 9).reshape(-1, c * t * p * p)


def grid(batch: int) -> torch.Tensor:
    """(B, 3): time, height, width of each clip in patches."""
    return torch.tensor([GRID]).repeat(batch, 1)
