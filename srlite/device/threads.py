"""How many CPU threads a job may use. The descriptor and the judge take turns, so each may have all of them."""

from __future__ import annotations

import os


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def usable_threads(wanted: int) -> int:
    """`wanted`, or with 0 what the machine allows: OMP_NUM_THREADS where it is set, else the cores of this process."""
    if wanted:
        return wanted
    given = os.environ.get("OMP_NUM_THREADS", "")
    return int(given) if given.isdigit() and int(given) > 0 else cores()
