"""Ask llama.cpp what it makes of exported files, in a process of its own (child.py): native code may crash.

Contract: whatever goes wrong there is a ModelError with the last lines of llama.cpp's own words; nothing is left running, and
the process's memory is free afterwards.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from srlite.errors import ModelError

_LOG_LINES = 6
_LIMIT_S = 3600.0  # a large model on few cores takes minutes


@dataclass(frozen=True, eq=False)
class Request:
    """ids: a text's tokens, whose logits are wanted; none: only how `texts` are split. picture: (height, width, 3) uint8."""

    model: Path
    texts: tuple[str, ...]
    ids: tuple[int, ...] = ()
    adapter: Path | None = None
    tower: Path | None = None
    picture: np.ndarray | None = None
    threads: int = 1


@dataclass(frozen=True, eq=False)
class Answer:
    """What was not asked for is None."""

    tokens: tuple[tuple[int, ...], ...]
    plain_TV: np.ndarray | None
    adapted_TV: np.ndarray | None
    features_NH: np.ndarray | None


def read_again(request: Request) -> Answer:
    """Raises ModelError when llama.cpp cannot use a file, or dies of it."""
    with tempfile.TemporaryDirectory(prefix="srlite-readback-") as made:
        folder = Path(made)
        (folder / "request.json").write_text(json.dumps(_document(request)), encoding="utf-8")
        if request.picture is not None:
            np.save(folder / "picture.npy", request.picture)
        _run(folder, request)
        with np.load(folder / "answer.npz") as found:
            return _answer(dict(found), len(request.texts))


def _document(request: Request) -> dict[str, object]:
    paths = {name: path and str(path.absolute()) for name, path in _paths(request).items()}
    return paths | {"texts": list(request.texts), "ids": list(request.ids), "threads": request.threads}


def _paths(request: Request) -> dict[str, Path | None]:
    return {"model": request.model, "adapter": request.adapter, "tower": request.tower}


def _answer(found: Mapping[str, np.ndarray], texts: int) -> Answer:
    tokens = tuple(tuple(found[f"tokens_{i}"].tolist()) for i in range(texts))
    return Answer(tokens, found.get("plain"), found.get("adapted"), found.get("features"))


def _run(folder: Path, request: Request) -> None:
    # -P: nothing in the working directory may pose as a module
    command = [sys.executable, "-P", "-m", "srlite.readback.child", str(folder)]
    try:
        done = subprocess.run(
            command, env=_environment(request.threads), stdin=subprocess.DEVNULL, capture_output=True, timeout=_LIMIT_S
        )
    except subprocess.TimeoutExpired as error:
        raise ModelError(f"llama.cpp has not answered within {_LIMIT_S:.0f} s", remedy="Close other programs.") from error
    if done.returncode == 0:
        return
    said = "\n".join(done.stderr.decode("utf-8", "replace").strip(" .\n").splitlines()[-_LOG_LINES:])
    how = f"died ({signal.Signals(-done.returncode).name})" if done.returncode < 0 else "refuses the files"
    raise ModelError(
        f"llama.cpp (llama-cpp-python {version('llama-cpp-python')}) {how}:\n{said}",
        where=", ".join(path.name for path in _paths(request).values() if path),
        remedy="Nothing is left of the export. pip install -U llama-cpp-python gguf, or use --to merged.",
    )


def _environment(threads: int) -> dict[str, str]:
    """The child finds this same srlite; its threads sleep while they wait."""
    root = str(Path(__file__).parents[2])
    inherited = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(part)]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([root, *inherited]),
        "OMP_WAIT_POLICY": "passive",
        "OMP_NUM_THREADS": str(threads),
    }
