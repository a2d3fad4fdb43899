"""Time slicing: which of the two models owns the card.

    resident   both stay; the judge's process goes on from turn to turn
    swapped    the descriptor waits in main memory while the judge has its turn, and the judge's process ends with it (only
               then is its memory certainly back)

Contract of a swapped turn: before the judge may load, and before the descriptor comes back, the memory that each needs is seen
to be free. On the CPU both stay.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from srlite.errors import DeviceError

_PATIENCE_S = 10.0
"""The driver gives a process's memory back a moment after its end."""


class Closable(Protocol):
    def close(self) -> None: ...


@contextmanager
def judge_turn(
    judge: Closable, *, aside: AbstractContextManager[None], free: Callable[[], int], judge_bytes: int, descriptor_bytes: int
) -> Iterator[None]:
    """A swapped turn of the judge. aside: in it the descriptor waits elsewhere. free: bytes of the card that are free now.

    Raises DeviceError when memory that is needed does not come free.
    """
    with aside:
        _wait_for(judge_bytes, free, "the judge")
        try:
            yield
        finally:
            judge.close()
        _wait_for(descriptor_bytes, free, "the descriptor")


def _wait_for(needed: int, free: Callable[[], int], who: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while (found := free()) < needed:
        if time.monotonic() > deadline:
            raise DeviceError(
                f"{who} needs {needed / 1e9:.1f} GB of the card for its turn, and {found / 1e9:.1f} GB are free",
                remedy="Close other programs that use the card, or choose smaller models (plan: srlite train --dry-run).",
            )
        time.sleep(0.1)
