"""What each phase of a job costs: wall-clock seconds, and the most memory that was in use meanwhile."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # proc(5): begin the peak of the resident set anew


class Clock:
    """Figures by phase: `NAME_s`, and `NAME_peak_mb` of main memory, `NAME_card_peak_mb` where there is a card."""

    def __init__(self, *, on_card: bool) -> None:
        self._on_card = on_card
        self.figures: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        _begin_peak()
        if self._on_card:
            import torch

            torch.cuda.reset_peak_memory_stats()
        yield
        self.figures[f"{name}_s"] = round(time.monotonic() - began, 3)
        self.figures[f"{name}_peak_mb"] = round(_peak_bytes() / 1e6)
        if self._on_card:
            self.figures[f"{name}_card_peak_mb"] = round(torch.cuda.max_memory_allocated() / 1e6)


def _begin_peak() -> None:
    """Where the system cannot do this, a phase's peak is that of the process up to its end."""
    with suppress(OSError):
        _CLEAR.write_text(_RESET_PEAK)


def _peak_bytes() -> int:
    if _STATUS.exists():
        lines = (line.split() for line in _STATUS.read_text().splitlines())
        return next(int(words[1]) * 1024 for words in lines if words[0] == "VmHWM:")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
