"""Write the tiny judge as a GGUF file that llama.cpp loads: float16 weights, the tokenizer, and the hash of its questions."""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import numpy as np

from srlite.judge.header import QUESTIONS_KEY
from srlite.judge.questions import questions_hash

NAME = "srlite-tiny-judge"


def write_gguf(model, tokenizer, path: Path) -> None:
    """`model`: a float32 Qwen3ForCausalLM with tied embeddings; `tokenizer`: byte-level BPE with Qwen's splitting."""
    config = model.config
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    writer = gguf.GGUFWriter(str(beside), "qwen3")
    writer.add_name(NAME)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_string(QUESTIONS_KEY, questions_hash())
    _add_tokenizer(writer, tokenizer)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN3, config.num_hidden_layers)
    for name, weight in model.state_dict().items():
        if name != "lm_head.weight":  # tied
            values = weight.float().numpy()
            # llama.cpp wants vectors (norms) in float32
            writer.add_tensor(
                names.get_name(name, try_suffixes=(".weight", ".bias")),
                values if values.ndim == 1 else values.astype(np.float16),
            )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    beside.rename(path)


def _add_tokenizer(writer: gguf.GGUFWriter, tokenizer) -> None:
    table = json.loads(tokenizer.backend_tokenizer.to_str())
    vocabulary = table["model"]["vocab"]
    tokens, types = [""] * len(tokenizer), [gguf.TokenType.NORMAL] * len(tokenizer)
    for token, at in vocabulary.items():
        tokens[at] = token
    for added in table["added_tokens"]:
        tokens[added["id"]], types[added["id"]] = added["content"], gguf.TokenType.CONTROL
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in table["model"]["merges"]])
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_pad_token_id(tokenizer.pad_token_id)
    writer.add_add_bos_token(False)
