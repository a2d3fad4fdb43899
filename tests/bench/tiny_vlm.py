"""A tiny Qwen2.5-VL of random weights, saved as a real model folder that transformers, TRL and srlite load.

Contract: `tiny_model(folder)` writes safetensors, configuration, processor and chat template; the same weights every time.
A still image of side S costs (S / 28)^2 + 2 tokens of the prompt (S a multiple of 28), a byte of text one token.
The vocabulary is small because TRL projects the positions of the prompt too when it runs on a CPU.
Left out: sense. The weights are noise; the model is for measuring time and counting tokens.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
)

VOCABULARY, HIDDEN, LAYERS, DEPTH, HEAD = 512, 256, 4, 4, 32
LONGEST = 8192
MARKED = {
    "image_token_id": "<|image_pad|>",
    "video_token_id": "<|video_pad|>",
    "vision_start_token_id": "<|vision_start|>",
    "vision_end_token_id": "<|vision_end|>",
}
END, PADDING = "<|im_end|>", "<|endoftext|>"
SPECIAL = (PADDING, "<|im_start|>", END, "<|vision_pad|>", *MARKED.values())
# by type alone: a data set of TRL gives every part the keys of all parts
TEMPLATE = (
    "{%- for message in messages -%}<|im_start|>{{ message['role'] }}\n"
    "{%- if message['content'] is string -%}{{ message['content'] }}{%- else -%}{%- for part in message['content'] -%}"
    "{%- if part['type'] in ('image', 'video') -%}<|vision_start|><|{{ part['type'] }}_pad|><|vision_end|>"
    "{%- else -%}{{ part['text'] }}{%- endif -%}{%- endfor -%}{%- endif -%}<|im_end|>\n{% endfor -%}"
    "{%- if add_generation_prompt -%}<|im_start|>assistant\n{% endif -%}"
)


def tiny_model(folder: Path) -> Path:
    tokenizer = byte_tokenizer()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Qwen2_5_VLForConditionalGeneration(configuration(tokenizer)).float()
    model.generation_config.eos_token_id = tokenizer.convert_tokens_to_ids([END, PADDING])
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.save_pretrained(folder)
    vision = Qwen2VLImageProcessor(), Qwen2VLVideoProcessor()
    Qwen2_5_VLProcessor(vision[0], tokenizer, vision[1], chat_template=TEMPLATE).save_pretrained(folder)
    return folder


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """A byte a token, and the special tokens of the family."""
    letters = {letter: row for row, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    backend = Tokenizer(models.BPE(letters, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(list(SPECIAL))
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token=END, pad_token=PADDING, padding_side="left", model_max_length=LONGEST
    )


def configuration(tokenizer: PreTrainedTokenizerFast) -> Qwen2_5_VLConfig:
    text = dict(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        intermediate_size=4 * HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HIDDEN // HEAD,
        num_key_value_heads=2,
        max_position_embeddings=LONGEST,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        tie_word_embeddings=True,
        rope_parameters=dict(rope_type="default", rope_theta=1e6, mrope_section=[4, 6, 6]),
    )
    vision = dict(
        depth=DEPTH,
        hidden_size=HIDDEN,
        intermediate_size=4 * HIDDEN,
        num_heads=HIDDEN // HEAD,
        out_hidden_size=HIDDEN,
        fullatt_block_indexes=[DEPTH - 1],
        window_size=112,
    )
    marks = {name: tokenizer.convert_tokens_to_ids(token) for name, token in MARKED.items()}
    return Qwen2_5_VLConfig(text_config=text, vision_config=vision, tie_word_embeddings=True, **marks)


if __name__ == "__main__":
    print(tiny_model(Path(sys.argv[1])))
