"""A hub with the bundled models under the names of real ones, and a `srlite` that asks it."""

from hashlib import sha256

import pytest
from models.fake_hub import FakeHub

from srlite.models.lock import Lock, LockedFile, write_lock
from srlite.models.store import BUNDLED

DESCRIPTOR, JUDGE = "Qwen/Qwen3-VL-2B-Instruct", "Qwen/Qwen3-1.7B-GGUF"
JUDGE_FILE = "Qwen3-1.7B-Q8_0.gguf"
UNWANTED = {
    "README.md": b"# a card\n",
    ".gitattributes": b"*.bin filter=lfs\n",
    "pytorch_model.bin": b"\x80\x04 a pickle",
    "modeling_qwen.py": b"raise SystemExit('remote code')",
    "onnx/config.json": b"{}",
}


def refused(done, code, *words):
    """The message of a command that failed as it should."""
    assert done.returncode == code, done.stderr
    assert done.stdout == "" and "Traceback" not in done.stderr and "fault of srlite" not in done.stderr
    said = " ".join(done.stderr.split())
    for word in words:
        assert word in said, said
    return said


@pytest.fixture(scope="session")
def bundled() -> dict[str, bytes]:
    """The files of the bundled descriptor."""
    return {p.name: p.read_bytes() for p in (BUNDLED / "descriptor").iterdir()}


@pytest.fixture
def hub(bundled):
    """qwen3-vl-2b and qwen3-1.7b are published; the descriptor's repository holds more than srlite wants."""
    with FakeHub() as hub:
        hub.publish(DESCRIPTOR, {**bundled, **UNWANTED})
        hub.publish(JUDGE, {JUDGE_FILE: (BUNDLED / "judge.gguf").read_bytes(), "README.md": b"# a card\n"})
        yield hub


@pytest.fixture
def asking(hub, tmp_path):
    """Environment of a command that asks that hub, with no token of the user's."""
    return {"HF_ENDPOINT": hub.address(), "HF_HOME": str(tmp_path / "hf"), "NO_PROXY": "127.0.0.1", "COLUMNS": "200"}


@pytest.fixture
def models(run_cli, asking):
    """models(*words, env=) -> CompletedProcess of `srlite models ...` against that hub."""
    return lambda *words, env=None: run_cli("models", *words, env={**asking, **(env or {})})


@pytest.fixture
def placed(home, bundled):
    """The folder of qwen3-vl-2b, installed with a lock, as a pull leaves it; qwen3-1.7b beside it."""
    judge = {JUDGE_FILE: (BUNDLED / "judge.gguf").read_bytes()}
    for name, repository, files in (("qwen3-vl-2b", DESCRIPTOR, bundled), ("qwen3-1.7b", JUDGE, judge)):
        folder = home / "models" / name
        folder.mkdir(parents=True)
        for file, content in files.items():
            (folder / file).write_bytes(content)
        locked = (LockedFile(file, len(content), sha256(content).hexdigest()) for file, content in sorted(files.items()))
        write_lock(folder, Lock(name, repository, "c" * 40, tuple(locked)))
    return home / "models" / "qwen3-vl-2b"
