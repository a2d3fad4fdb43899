"""What this machine has: memory of its card and its own, and how fast it is, measured."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from srlite.device.budget import Rates

_MEMORY = Path("/proc/meminfo")


@dataclass(frozen=True, slots=True)
class Card:
    """A CUDA card: bytes in all and free now. bfloat16: it computes in that format, without emulation."""

    name: str
    total: int
    free: int
    capability: str
    bfloat16: bool


def has_driver() -> bool:
    """Whether NVIDIA's driver is here: asked before torch is imported for nothing."""
    return Path("/proc/driver/nvidia").exists() or shutil.which("nvidia-smi") is not None


def card() -> Card | None:
    """The first CUDA card that torch can use."""
    import torch

    if not torch.cuda.is_available():
        return None
    free, total = torch.cuda.mem_get_info(0)
    properties = torch.cuda.get_device_properties(0)
    bfloat16 = torch.cuda.is_bf16_supported(including_emulation=False)
    return Card(properties.name, total, free, f"{properties.major}.{properties.minor}", bfloat16)


def usable_device(wanted: str) -> str:
    """ "cuda" or "cpu"; "auto" is the card where there is one."""
    if wanted != "auto":
        return wanted
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def free_memory() -> int:
    """Bytes of main memory that may be taken without swapping."""
    if _MEMORY.exists():
        lines = dict(line.split(":") for line in _MEMORY.read_text().splitlines())
        return int(lines["MemAvailable"].split()[0]) * 1024
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def measured_rates(device: str) -> Rates:
    """In about a second: products of matrices and copies, in the number format that is computed in."""
    import torch

    on_card = device == "cuda"
    size, number = (4096, torch.bfloat16) if on_card else (1024, torch.float32)
    a = torch.randn(size, size, device=device).to(number)
    b = torch.empty(1 << (28 if on_card else 26), dtype=torch.uint8, device=device)
    wait = torch.cuda.synchronize if on_card else lambda: None
    return Rates(2 * size**3 / _fastest(lambda: a @ a, wait), 2 * b.numel() / _fastest(lambda: b.clone(), wait))


def _fastest(work, wait, times: int = 5) -> float:
    """Seconds of the fastest of some runs: what else the machine does only makes it slower."""
    found = []
    for _ in range(1 + times):
        began = time.perf_counter()
        work()
        wait()
        found.append(time.perf_counter() - began)
    return min(found[1:])
