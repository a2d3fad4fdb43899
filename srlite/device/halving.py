"""Out of memory is no end: the same work is done again in parts half as large, down to one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from srlite.errors import DeviceError

_Done = TypeVar("_Done")
_Part = TypeVar("_Part")
# How PyTorch words it on the CPU and inside the libraries of a card, where it has no exception of its own.
_WORDS = ("out of memory", "can't allocate memory", "not enough memory", "ALLOC_FAILED")


def is_out_of_memory(error: BaseException) -> bool:
    import torch

    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _WORDS)


def halving(work: Callable[[int], _Done], size: int, *, told: Callable[[int], None]) -> tuple[_Done, int]:
    """What `work(size)` gave, and the size that was small enough. `told(size)` is called with each smaller one.

    `work` must be such that it may be begun again. Raises DeviceError when a size of 1 does not fit either.
    """
    import torch

    while True:
        try:
            return work(size), size
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            if size == 1:
                raise DeviceError(
                    "out of memory with a single description at once",
                    remedy="Use a smaller model, fewer or smaller frames, or a card with more memory.",
                ) from error
        # outside of the handler: its traceback holds the tensors that are to be freed
        size = (size + 1) // 2
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        told(size)


def portions(items: Sequence[_Part], size: int) -> Iterator[Sequence[_Part]]:
    """The items in order, `size` at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
