"""Time slicing: which of the two models owns the card.

On a card the judge's process ends with its turn (only then is its memory certainly back), and what the descriptor's
allocator holds in reserve is given back before the judge loads. On the CPU both stay. Parking the descriptor in main memory
where both do not fit is not built yet: such a card is told so by llama.cpp's own failure to load.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Closable(Protocol):
    def close(self) -> None: ...


@contextmanager
def judge_turn(judge: Closable, *, on_card: bool) -> Iterator[None]:
    """The judge's turn."""
    if on_card:
        import torch

        torch.cuda.empty_cache()
    try:
        yield
    finally:
        if on_card:
            judge.close()
