"""What fetching, checking and copying models tell while they work: frozen events for whoever shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Moving:
    """`done_bytes` of `total_bytes` of a model are fetched, read or copied."""

    what: str
    done_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class Told:
    """Something to be read by a person."""

    text: str


Tell = Callable[[Moving | Told], None]


def from_here(tell: Tell, what: str, before: int, total: int) -> Callable[[int], None]:
    """Hears the bytes of one file and tells those of the model, `before` of which are done."""
    return lambda done: tell(Moving(what, before + done, total))


def nobody(_: Moving | Told) -> None:
    """For callers that want no progress."""


def readable(size_bytes: int) -> str:
    """`2.50 GB`, `11.4 MB`, `3 kB`."""
    if size_bytes >= 1e9:
        return f"{size_bytes / 1e9:.2f} GB"
    return f"{size_bytes / 1e6:.1f} MB" if size_bytes >= 1e6 else f"{-(-size_bytes // 1000)} kB"
