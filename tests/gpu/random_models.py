"""Models of random weights in their true shapes, made where they run: no file of 17 GB is written, none is loaded.

A descriptor's language layers are quantised one matrix at a time, so that the memory never holds more than the model; it has
the modules, number formats and adapter of one that srlite.descriptor.load reads from a folder. A judge is a GGUF file of
random Q4_0 blocks with the bundled judge's tokenizer, filled up to the true number of tokens.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from shaped_models import MARKED, byte_tokenizer, configured, processor_of  # noqa: E402

from srlite.descriptor import adapter, attention  # noqa: E402
from srlite.descriptor.families import read_family  # noqa: E402
from srlite.descriptor.load import Descriptor  # noqa: E402
from srlite.models.shapes import Shape, TextShape  # noqa: E402

SPREAD = 0.02
PROJECTIONS = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
"""llama.cpp's names, in the order of TextShape.projections."""


def random_descriptor(shape: Shape, family: str, device: str) -> Descriptor:
    """In 4 bit, computing in bfloat16."""
    import torch
    from transformers import AutoModelForImageTextToText, GenerationConfig

    tokenizer = byte_tokenizer()
    ids = {key: tokenizer.convert_tokens_to_ids(token) for key, token in MARKED.items()}
    config = configured(shape, family, **ids)
    attention.register()
    config.text_config._attn_implementation = attention.NAME
    with torch.device("meta"):
        model = AutoModelForImageTextToText.from_config(config, dtype=torch.bfloat16)
    _fill(model, device)
    config.text_config._attn_implementation = attention.NAME
    model.generation_config = GenerationConfig(eos_token_id=tokenizer.convert_tokens_to_ids(["<|im_end|>", "<|endoftext|>"]))
    processor = processor_of(shape, family, tokenizer)
    known = read_family(model.config, model.generation_config, processor, "random weights")
    adapted = adapter.attach_adapter(model, seed=0, where="random weights").eval()
    penalty = torch.zeros(shape.text.vocabulary, dtype=torch.float32)
    penalty[list(known.forbidden)] = float("-inf")
    return Descriptor(
        model=adapted,
        processor=processor,
        family=known,
        device=torch.device(device),
        dtype=torch.bfloat16,
        base_sha256="0" * 64,
        vision_sha256="0" * 64,
        adapted=len(adapter.adapted_modules(adapted)),
        penalty=penalty.to(device),
    )


def _fill(model, device: str) -> None:
    """Give every module of a model on `meta` weights: layers in 4 bit on the device, the tower in main memory."""
    import torch

    language = model.model.language_model
    for parent, name, linear in list(_linears(language.layers)):
        setattr(parent, name, _quantised(linear, device))
    for module in model.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            if parameter.is_meta:
                place = "cpu" if any(module is m for m in model.model.visual.modules()) else device
                fresh = torch.empty(parameter.shape, dtype=parameter.dtype, device=place).normal_(0, SPREAD)
                setattr(module, name, torch.nn.Parameter(fresh, requires_grad=False))
    language.rotary_emb = type(language.rotary_emb)(model.config.text_config).to(device)
    tower = model.model.visual
    for name, child in list(tower.named_children()):
        if "rotary" in name:
            setattr(tower, name, _fresh_rotary(tower, child))
    model.tie_weights()


def _fresh_rotary(tower, rotary):
    import torch

    with torch.device("cpu"):
        try:
            return type(rotary)(tower.config)
        except TypeError:  # older releases take the size of half a head
            return type(rotary)(tower.config.hidden_size // tower.config.num_heads // 2)


def _linears(layers) -> Iterator[tuple]:
    import torch

    for parent in layers.modules():
        for name, child in list(parent.named_children()):
            if isinstance(child, torch.nn.Linear):
                yield parent, name, child


def _quantised(linear, device: str):
    import bitsandbytes
    import torch

    made = bitsandbytes.nn.Linear4bit(
        linear.in_features, linear.out_features, linear.bias is not None, torch.bfloat16, quant_type="nf4", device="meta"
    )
    weights = torch.empty(linear.out_features, linear.in_features, dtype=torch.bfloat16, device=device).normal_(0, SPREAD)
    made.weight = bitsandbytes.nn.Params4bit(
        weights, requires_grad=False, quant_type="nf4", compress_statistics=True, module=made
    ).to(device)
    if linear.bias is not None:
        made.bias = torch.nn.Parameter(
            torch.zeros(linear.out_features, dtype=torch.bfloat16, device=device), requires_grad=False
        )
    if hasattr(made, "support_avx512bf16_for_cpu"):
        made.support_avx512bf16_for_cpu = False  # as in srlite.descriptor.load
    return made


# ---- the judge ----------------------------------------------------------------------------------------------------------


def random_judge(shape: TextShape, path: Path, bundled: Path) -> Path:
    """A Qwen3 of random Q4_0 blocks, 18 bytes for 32 weights."""
    from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, TokenType

    fields = GGUFReader(bundled).fields
    listed = lambda key: [fields[f"tokenizer.ggml.{key}"].parts[i] for i in fields[f"tokenizer.ggml.{key}"].data]
    words, merges = ([bytes(part).decode() for part in listed(key)] for key in ("tokens", "merges"))
    kinds = [int(part[0]) for part in listed("token_type")]
    spare = shape.vocabulary - len(words)
    writer = GGUFWriter(path, "qwen3")
    writer.add_context_length(32768)
    writer.add_embedding_length(shape.hidden)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.intermediate)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e6)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(words + [f"[spare {i}]" for i in range(spare)])
    writer.add_token_types(kinds + [int(TokenType.UNUSED)] * spare)
    writer.add_token_merges(merges)
    writer.add_eos_token_id(words.index("<|im_end|>"))
    writer.add_add_bos_token(False)
    rng = np.random.default_rng(0)
    names = dict(
        zip(("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"), shape.projections, strict=True)
    )
    matrices = [("token_embd.weight", (shape.hidden, shape.vocabulary))]
    matrices += [] if shape.tied else [("output.weight", (shape.hidden, shape.vocabulary))]
    matrices += [(f"blk.{i}.{name}.weight", size) for i in range(shape.layers) for name, size in names.items()]
    for name, (inside, out) in matrices:
        writer.add_tensor(name, _blocks(inside, out, rng), raw_dtype=GGMLQuantizationType.Q4_0)
    norms = [("output_norm.weight", shape.hidden)]
    for i in range(shape.layers):
        norms += [(f"blk.{i}.attn_norm.weight", shape.hidden), (f"blk.{i}.ffn_norm.weight", shape.hidden)]
        norms += [(f"blk.{i}.attn_q_norm.weight", shape.head_dim), (f"blk.{i}.attn_k_norm.weight", shape.head_dim)]
    for name, size in norms:
        writer.add_tensor(name, np.ones(size, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _blocks(inside: int, out: int, rng: np.random.Generator) -> np.ndarray:
    """(out, bytes of a row): each block a scale in float16, then 32 numbers of 4 bits."""
    count = out * inside // 32
    blocks = np.tile(rng.integers(0, 256, (4096, 18), dtype=np.uint8), (count // 4096 + 1, 1))[:count]
    blocks[:, :2] = np.frombuffer(np.float16(SPREAD / 4).tobytes(), np.uint8)
    return np.ascontiguousarray(blocks).reshape(out, inside // 32 * 18)
