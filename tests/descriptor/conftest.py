"""Tiny random models of both families, saved as real model folders, and clips of noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch  # noqa: E402
from tokenizers import (  # noqa: E402
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,  # noqa: E402
)
from transformers import (  # noqa: E402
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    Qwen3VLProcessor,
    Qwen3VLVideoProcessor,
)

# before the libraries, because it keeps them offline
from srlite.descriptor.load import Descriptor, load_descriptor, trainable
from srlite.types import Frames  # noqa: E402

SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
ROWS = 300  # a few more than there are tokens, as in the real models
STEP = {"qwen2_5_vl": 28, "qwen3_vl": 32}


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    vocabulary = {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    for left, right in ("th", "he", "an", "Ġa"):
        vocabulary[left + right] = len(vocabulary)
    backend = Tokenizer(models.BPE(vocabulary, [("t", "h"), ("h", "e"), ("a", "n"), ("Ġ", "a")]))
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(list(SPECIAL))
    backend.add_tokens([AddedToken("<think>", special=False)])  # added, but not special: as in Qwen3
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|im_end|>", pad_token="<|endoftext|>")


def _config(family: str, ids: dict[str, int], end: int):
    text = dict(
        vocab_size=ROWS,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        initializer_range=0.12,
        eos_token_id=end,
        pad_token_id=0,
        bos_token_id=None,
        tie_word_embeddings=True,
    )
    vision = dict(depth=2, hidden_size=32, num_heads=2, out_hidden_size=64, intermediate_size=64, initializer_range=0.12)
    if family == "qwen2_5_vl":
        text["rope_parameters"] = dict(rope_type="default", rope_theta=1e6, mrope_section=[2, 3, 3])
        vision |= dict(fullatt_block_indexes=[1], window_size=56, tokens_per_second=2)
        return Qwen2_5_VLConfig(text_config=text, vision_config=vision, tie_word_embeddings=True, **ids)
    text |= dict(
        head_dim=16,
        rope_parameters=dict(rope_type="default", rope_theta=1e6, mrope_section=[2, 3, 3], mrope_interleaved=True),
    )
    vision |= dict(patch_size=16, deepstack_visual_indexes=[0, 1], num_position_embeddings=64)
    return Qwen3VLConfig(text_config=text, vision_config=vision, tie_word_embeddings=True, **ids)


def save_tiny(family: str, folder: Path) -> Path:
    """Write a model folder of random weights without a chat template."""
    tokenizer = tiny_tokenizer()
    names = dict(
        image_token_id="<|image_pad|>",
        video_token_id="<|video_pad|>",
        vision_start_token_id="<|vision_start|>",
        vision_end_token_id="<|vision_end|>",
    )
    ids = {key: tokenizer.convert_tokens_to_ids(token) for key, token in names.items()}
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    torch.manual_seed(7)
    if family == "qwen2_5_vl":
        model = Qwen2_5_VLForConditionalGeneration(_config(family, ids, end))
        processor = Qwen2_5_VLProcessor(Qwen2VLImageProcessor(), tokenizer, Qwen2VLVideoProcessor())
    else:
        model = Qwen3VLForConditionalGeneration(_config(family, ids, end))
        processor = Qwen3VLProcessor(Qwen2VLImageProcessor(patch_size=16), tokenizer, Qwen3VLVideoProcessor())
    model.generation_config.eos_token_id = [end, tokenizer.convert_tokens_to_ids("<|endoftext|>")]
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def load_tiny(folder: Path, **changes) -> Descriptor:
    settings = dict(adapter=None, device="cpu", quantise=False, dtype="float32", seed=3)
    return load_descriptor(folder, **(settings | changes))


def noise_clip(family: str, times_s=(0.0, 0.3, 0.8, 1.0, 1.9, 2.4), duration_s=3.0, seed=0) -> Frames:
    step = STEP[family]
    shape = (len(times_s), 2 * step, 3 * step, 3)
    images = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    return Frames(images, tuple(times_s), duration_s, real=len(times_s))


def shake(descriptor: Descriptor, scale: float = 0.3) -> None:
    """Give a fresh adapter weights that matter, always the same ones."""
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, parameter in trainable(descriptor):
            if "lora_B" in name:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * scale)


@pytest.fixture(scope="session", params=["qwen2_5_vl", "qwen3_vl"])
def family(request) -> str:
    return request.param


@pytest.fixture(scope="session")
def folders(tmp_path_factory) -> dict[str, Path]:
    return {name: save_tiny(name, tmp_path_factory.mktemp(name)) for name in STEP}


@pytest.fixture(scope="session")
def folder(folders, family) -> Path:
    return folders[family]


@pytest.fixture
def descriptor(folder) -> Descriptor:
    """A fresh adapter: the model writes as the base does."""
    return load_tiny(folder)


@pytest.fixture
def adapted(descriptor) -> Descriptor:
    """An adapter that changes the model."""
    shake(descriptor)
    return descriptor


@pytest.fixture
def clip(family) -> Frames:
    return noise_clip(family)


@pytest.fixture
def make():
    """The builders above, for tests that need another model or clip."""

    class Builders:
        save = staticmethod(save_tiny)
        load = staticmethod(load_tiny)
        noise = staticmethod(noise_clip)
        shake = staticmethod(shake)

    return Builders
