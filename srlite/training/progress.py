"""What a training run tells while it works: frozen events for whoever shows them (console, notebook, a test)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Phase = Literal["sample", "judge", "update", "validate"]


@dataclass(frozen=True, slots=True)
class Reading:
    """`done` of `total` clips were read, or looked at by the vision tower, before anything is learnt."""

    what: Literal["read clips", "look at clips"]
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` units of a phase; rounds and slices count from 1."""

    phase: Phase
    round: int
    rounds: int
    slice: int
    slices: int
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class SliceDone:
    """A slice is on disk. `figures` is the line that metrics.jsonl got; `left_s` the estimated rest of the run."""

    figures: Mapping[str, object]
    left_s: float


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence for the user."""

    text: str


Event = Reading | Progress | SliceDone | Note
Tell = Callable[[Event], None]


def silent(event: Event) -> None:
    """For callers that do not watch."""
