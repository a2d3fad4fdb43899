"""The card, the memory, the cores and the disk."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

from srlite.device.machine import Card, card, free_memory
from srlite.device.threads import usable_threads
from srlite.doctor.findings import Finding
from srlite.files import free_bytes
from srlite.models.store import home

_LEAST_DISK = 20 * 10**9
_LEAST_MEMORY = 8 * 10**9
CPU_TORCH = "Without a card, `--preset cpu` and `--preset tiny` work."


def look_at_hardware() -> Iterator[Finding]:
    yield from _card(card(), _driver())
    free = free_memory()
    words = f"{free / 1e9:.1f} GB of main memory are free, {usable_threads(0)} threads are used"
    yield Finding("memory", "ok" if free >= _LEAST_MEMORY else "note", words)
    disk = free_bytes(home())
    remedy = "SRLITE_HOME=FOLDER puts models and caches on another disk." if disk < _LEAST_DISK else None
    yield Finding("disk", "note" if remedy else "ok", f"{disk / 1e9:.1f} GB are free in {home()}", remedy)


def _card(found: Card | None, driver: str | None) -> Iterator[Finding]:
    if found is None:
        if driver is None:
            yield Finding("card", "note", "no CUDA card and no driver of one", CPU_TORCH)
        else:
            remedy = "pip install --force-reinstall torch torchvision (a build for CUDA), or a newer driver"
            yield Finding("card", "fault", f"torch cannot use the card (driver {driver})", remedy)
        return
    words = f"{found.name}, {found.free / 1e9:.1f} of {found.total / 1e9:.1f} GB free, capability {found.capability}"
    yield Finding("card", "ok", f"{words}, driver {driver or 'unknown'}")
    if not found.bfloat16:
        words = "the card has no bfloat16; the models overflow in float16"
        yield Finding("number format", "fault", words, "A card of compute capability 8.0 or later, or --preset cpu.")
    if found.free < 0.8 * found.total:
        yield Finding("card memory", "note", "other programs use the card", "nvidia-smi lists them")


def _driver() -> str | None:
    """Version of NVIDIA's driver, as its own tool tells it."""
    tool = shutil.which("nvidia-smi")
    if not tool:
        return None
    command = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    return done.stdout.splitlines()[0].strip() if done.returncode == 0 and done.stdout else None
