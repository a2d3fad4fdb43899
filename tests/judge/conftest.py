"""A small random Qwen3-architecture judge as a real GGUF file, with its torch twin."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import gguf
import pytest
import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from srlite.judge.answers import Bands
from srlite.judge.client import JudgeSettings
from srlite.judge.questions import QUESTIONS, RULES, SYSTEM
from srlite.types import Item

CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
USER_DEFINED = ["<think>", "</think>"]
QWEN2_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
ANSWERS = "Yes\n Yes\nyes\n yes\nYES\nNo\n No\nno\n no\n是\n否\nYesterday\nEyes\nnope\nＹｅｓ\n不是\n"


@dataclass(frozen=True)
class TinyJudge:
    path: Path
    tokenizer: PreTrainedTokenizerFast
    model: Qwen3ForCausalLM

    def written(self, path: Path, **oddities: object) -> Path:
        """The same model in another file; for the keyword arguments see `export`."""
        return export(path, self.tokenizer, self.model, **oddities)


def make_tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN2_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    corpus = [
        SYSTEM,
        RULES,
        *(question.text for question in QUESTIONS),
        *[ANSWERS] * 5,
        "system user assistant child",
    ]
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=CONTROL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus, trainer)
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in USER_DEFINED])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")


def make_model(vocabulary: int) -> Qwen3ForCausalLM:
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=2048,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        tie_word_embeddings=True,
        initializer_range=0.07,  # large enough that texts differ, small enough for the cache's 16-bit floats
    )
    return Qwen3ForCausalLM(config).eval()


def export(
    path: Path,
    tokenizer: PreTrainedTokenizerFast,
    model: Qwen3ForCausalLM,
    *,
    architecture: str = "qwen3",
    add_bos: bool = False,
    extra: dict[str, str] | None = None,
    vocabulary: bool = True,
) -> Path:
    """Write the model as GGUF; the keyword arguments make the odd files of the tests."""
    writer = gguf.GGUFWriter(path, architecture)
    config = model.config
    writer.add_name("tiny test judge")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for key, value in (extra or {}).items():
        writer.add_string(key, value)
    if vocabulary:
        add_vocabulary(writer, tokenizer, add_bos)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN3, config.num_hidden_layers)
    for name, tensor in model.state_dict().items():
        if name != "lm_head.weight":
            writer.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")), tensor.float().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def add_vocabulary(writer: gguf.GGUFWriter, tokenizer: PreTrainedTokenizerFast, add_bos: bool) -> None:
    state = json.loads(tokenizer.backend_tokenizer.to_str())
    tokens = dict(state["model"]["vocab"]) | {added["content"]: added["id"] for added in state["added_tokens"]}
    ordered = sorted(tokens, key=tokens.__getitem__)
    kinds = dict.fromkeys(CONTROL, gguf.TokenType.CONTROL) | dict.fromkeys(USER_DEFINED, gguf.TokenType.USER_DEFINED)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(ordered)
    writer.add_token_types([kinds.get(text, gguf.TokenType.NORMAL) for text in ordered])
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in state["model"]["merges"]])
    writer.add_bos_token_id(tokens["<|endoftext|>"])
    writer.add_eos_token_id(tokens["<|im_end|>"])
    writer.add_pad_token_id(tokens["<|endoftext|>"])
    writer.add_add_bos_token(add_bos)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyJudge:
    tokenizer = make_tokenizer()
    model = make_model(len(tokenizer))
    path = export(tmp_path_factory.mktemp("judge") / "tiny.gguf", tokenizer, model)
    return TinyJudge(path, tokenizer, model)


@pytest.fixture
def settings(tiny: TinyJudge) -> Callable[..., JudgeSettings]:
    """Settings for the tiny judge, with changes by keyword."""

    def make(**changes: object) -> JudgeSettings:
        values = {
            "path": tiny.path,
            "sha256": None,
            "family": "qwen3",
            "threads": 1,
            "n_ctx": 1024,
            "n_batch": 256,
            "n_seq_max": 64,
            "gpu_layers": 0,
            "extra_buffers": True,
            "bands": {q.id: Bands(min_mass=0.0, threshold=0.5, unsure=0.0) for q in QUESTIONS},
            "time_limit_s": 60.0,
            "canaries": False,  # its weights are random
        }
        return JudgeSettings(**(values | changes))

    return make


@pytest.fixture
def walks() -> Item:
    return Item("18_4", "walks backward", "The child takes at least two steps backward.")


@pytest.fixture
def pours() -> Item:
    return Item("18_3", "pours a bead out of a bottle", "The child tilts the bottle so that the bead falls out.")
