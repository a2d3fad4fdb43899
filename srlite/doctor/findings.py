"""What was looked at, how it is, and what to do: one record each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "note", "fault"]


@dataclass(frozen=True, slots=True)
class Finding:
    """level: ok; note, worth knowing; fault, keeps srlite from working as it should. remedy: a command, where there is one."""

    subject: str
    level: Level
    words: str
    remedy: str | None = None
