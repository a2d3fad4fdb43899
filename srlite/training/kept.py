"""What a run keeps that may be read without torch: which models it belongs to, and its figures."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from srlite.errors import InputError, ModelError


@dataclass(frozen=True, slots=True)
class Lock:
    """Which models and texts a run belongs to, and with how many threads it was begun (lock.json)."""

    descriptor: str
    descriptor_sha256: str
    judge: str
    judge_sha256: str
    questions_sha256: str
    prompts_sha256: str
    demonstration: bool
    threads: int


def read_lock(path: Path) -> Lock:
    """Raises ModelError when the file is not there or cannot be read."""
    try:
        return Lock(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(
            f"it cannot be told which models the run belongs to: {error}",
            where=str(path),
            remedy="Restore the file from a copy of the run, or begin a new run.",
        ) from None


def read_metrics(path: Path) -> list[dict[str, object]]:
    """The lines of metrics.jsonl; a last line that a power cut left unfinished is not one. Raises InputError."""
    lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    try:
        return [json.loads(line) for line in lines[:-1]]
    except ValueError as error:
        said, remedy = f"the figures cannot be read: {error}", "Restore the file from a copy of the run."
        raise InputError(said, where=str(path), remedy=remedy) from None
