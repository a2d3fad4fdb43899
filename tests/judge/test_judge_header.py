"""Files that cannot be a judge are told apart before anything is loaded."""

from __future__ import annotations

import importlib.metadata
import struct
from pathlib import Path

import pytest

from srlite.errors import ModelError
from srlite.judge.header import QUESTIONS_KEY, check_header
from srlite.judge.questions import questions_hash
from srlite.judge.scaffold import family_named


def message_for(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        check_header(path, "qwen3")
    assert caught.value.exit_code == 4
    assert caught.value.where == str(path)
    assert caught.value.remedy
    return str(caught.value)


def test_a_good_file(tiny) -> None:
    assert check_header(tiny.path, "qwen3") == check_header(tiny.path, None) == family_named("qwen3")


@pytest.mark.parametrize("missing", [32, 1000])  # up to 32 bytes at the end may be padding
def test_a_file_without_its_last_bytes(tiny, tmp_path: Path, missing: int) -> None:
    path = tmp_path / "short.gguf"
    path.write_bytes(tiny.path.read_bytes()[:-missing])
    assert "cut short" in message_for(path)


def test_a_family_without_template_names_those_that_have_one(tiny, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="'llama'.*no judge template") as caught:
        check_header(tiny.written(tmp_path / "l.gguf", architecture="llama"), None)
    assert "qwen2, qwen3" in caught.value.remedy


def test_an_unknown_architecture_names_it_and_the_installed_version(tiny, tmp_path: Path) -> None:
    message = message_for(tiny.written(tmp_path / "new.gguf", architecture="qwen99"))
    assert "'qwen99'" in message
    assert importlib.metadata.version("llama-cpp-python") in message


def test_another_familys_file(tiny) -> None:
    with pytest.raises(ModelError, match="architecture is 'qwen3'.*'qwen2'"):
        check_header(tiny.path, "qwen2")


def test_a_vision_projector(tiny, tmp_path: Path) -> None:
    path = tiny.written(tmp_path / "mmproj.gguf", architecture="clip", vocabulary=False)
    assert "vision projector" in message_for(path)


def test_no_vocabulary(tiny, tmp_path: Path) -> None:
    path = tiny.written(tmp_path / "bare.gguf", vocabulary=False)
    assert "no vocabulary" in message_for(path)


def test_no_chat_markers(tiny, tmp_path: Path) -> None:
    data = tiny.path.read_bytes().replace(b"<|im_start|>", b"<|im_begin|>")
    path = tmp_path / "other.gguf"
    path.write_bytes(data)
    assert "<|im_start|>" in message_for(path)


@pytest.mark.parametrize("kept", [0.9, 0.1, 0.0001])
def test_truncated(tiny, tmp_path: Path, kept: float) -> None:
    data = tiny.path.read_bytes()
    path = tmp_path / "cut.gguf"
    path.write_bytes(data[: int(len(data) * kept)])
    assert "cut short" in message_for(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"version https://git-lfs.example/spec/v1\noid sha256:00\nsize 4\n", "Git LFS pointer"),
        (struct.pack("<Q", 20) + b'{"__metadata__":{}}   ', "safetensors"),
        (b"", "not a GGUF file"),
        (b"<html>not found</html>", "not a GGUF file"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1 << 60), "damaged"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 60), "damaged"),
        (b"GGUF" + struct.pack("<IQQ", 0x03000000, 0, 0), "damaged"),
    ],
)
def test_other_things_named_gguf(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "judge.gguf"
    path.write_bytes(content)
    assert words in message_for(path)


def test_missing_or_a_folder(tmp_path: Path) -> None:
    assert "cannot be read" in message_for(tmp_path / "none.gguf")
    assert "cannot be read" in message_for(tmp_path)


def test_a_judge_trained_on_other_texts_names_the_command_that_remakes_it(tiny, tmp_path: Path) -> None:
    now = tiny.written(tmp_path / "now.gguf", extra={QUESTIONS_KEY: questions_hash()})
    assert check_header(now, "qwen3").name == "qwen3"
    stale = tiny.written(tmp_path / "stale.gguf", extra={QUESTIONS_KEY: "0" * 64})
    assert "python -m srlite.demo.make" in message_for(stale)
