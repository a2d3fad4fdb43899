"""The base's language model as a GGUF file: what llama.cpp wants to know of it, its tokenizer, its weights.

Contract: the keys are those that llama.cpp asks of the architectures qwen2vl and qwen3vl; the vision tower is not in it
(gguf_tower.py). The tokenizer must be a byte-level BPE that splits text as Qwen's does: whoever writes a file compares its
tokens with the tokenizer's own afterwards.
Left out: stretched positions (YaRN), which no model of the two families has switched on. Of the 64 axes of a
text's positions in Qwen3-VL llama.cpp leaves two unturned, too slow ones to matter.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import gguf

from srlite.descriptor.gguf_parts import Part, architecture, language_name, name_map, part, write_parts
from srlite.descriptor.weights import Stored
from srlite.errors import ModelError

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase

_LANGUAGE = ("model.language_model.", "lm_head.")


def write_head(config: PretrainedConfig, tokenizer: PreTrainedTokenizerBase, path: Path) -> None:
    """A file without weights: enough for llama.cpp to say whether it knows the architecture and how it splits text."""
    write_parts(_writer(config, tokenizer), [], path, tick=lambda done, total: None)


def write_language_model(
    config: PretrainedConfig,
    tokenizer: PreTrainedTokenizerBase,
    parts: list[Part],
    path: Path,
    *,
    tick: Callable[[int, int], None],
) -> None:
    """Raises ModelError or DeviceError."""
    write_parts(_writer(config, tokenizer), parts, path, tick=tick)


def language_parts(config: PretrainedConfig, stored: Mapping[str, Stored]) -> list[Part]:
    """The tensors of the language model. Raises ModelError for one that llama.cpp has no place for."""
    names = name_map(architecture(config.model_type), config.text_config.num_hidden_layers)
    # a head that is the embedding is not stored again: llama.cpp takes the embedding where there is none
    left_out = {"lm_head.weight"} if config.text_config.tie_word_embeddings else set()
    own = [t for name, t in stored.items() if name.startswith(_LANGUAGE) and name not in left_out]
    return [part(language_name(names, t.name), t) for t in own]


def _writer(config: PretrainedConfig, tokenizer: PreTrainedTokenizerBase) -> gguf.GGUFWriter:
    writer = gguf.GGUFWriter(None, architecture(config.model_type))
    writer.add_type(gguf.GGUFType.MODEL)
    _add_sizes(writer, config)
    _add_tokenizer(writer, tokenizer, config.text_config.vocab_size)
    return writer


def _add_sizes(writer: gguf.GGUFWriter, config: PretrainedConfig) -> None:
    text, rope = config.text_config, config.text_config.rope_parameters
    if rope.get("rope_type", "default") not in ("default", "mrope"):
        raise ModelError(f"positions of the kind {rope['rope_type']!r} are not written to GGUF", remedy="Use --to merged.")
    width = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    writer.add_context_length(text.max_position_embeddings)
    writer.add_embedding_length(text.hidden_size)
    writer.add_block_count(text.num_hidden_layers)
    writer.add_feed_forward_length(text.intermediate_size)
    writer.add_head_count(text.num_attention_heads)
    writer.add_head_count_kv(text.num_key_value_heads)
    writer.add_key_length(width)
    writer.add_value_length(width)
    writer.add_rope_freq_base(rope["rope_theta"])
    writer.add_rope_dimension_sections([*rope["mrope_section"], 0])  # time, height, width, and a fourth that is not used
    writer.add_layer_norm_rms_eps(text.rms_norm_eps)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    if levels := getattr(config.vision_config, "deepstack_visual_indexes", None):
        writer.add_num_deepstack_layers(len(levels))


def _add_tokenizer(writer: gguf.GGUFWriter, tokenizer: PreTrainedTokenizerBase, rows: int) -> None:
    table = json.loads(tokenizer.backend_tokenizer.to_str())
    tokens, types = _vocabulary(table, rows)
    writer.add_tokenizer_model("gpt2")  # llama.cpp's word for byte-level BPE
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in table["model"]["merges"]])
    writer.add_eos_token_id(tokenizer.eos_token_id)
    if tokenizer.pad_token_id is not None:
        writer.add_pad_token_id(tokenizer.pad_token_id)
    writer.add_add_bos_token(False)
    if isinstance(tokenizer.chat_template, str):
        writer.add_chat_template(tokenizer.chat_template)


def _vocabulary(table: Mapping, rows: int) -> tuple[list[str], list[gguf.TokenType]]:
    """Texts and kinds of all rows of the embedding; rows beyond the vocabulary pad the matrix."""
    tokens, types = [f"[PAD{row}]" for row in range(rows)], [gguf.TokenType.UNUSED] * rows
    for token, at in table["model"]["vocab"].items():
        tokens[at], types[at] = token, gguf.TokenType.NORMAL
    for added in table["added_tokens"]:
        kind = gguf.TokenType.CONTROL if added["special"] else gguf.TokenType.USER_DEFINED
        tokens[added["id"]], types[added["id"]] = added["content"], kind
    return tokens, types
