"""Out of memory: the same work in smaller parts, for real where the machine lets a test run out."""

import subprocess
import sys

import pytest
import torch

from srlite.device.halving import halving, is_out_of_memory, portions
from srlite.errors import DeviceError


def short_of(limit, raised):
    def work(size):
        if size > limit:
            raise raised
        return size

    return work


ENDINGS = [
    MemoryError(),
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory"),
]


@pytest.mark.parametrize("raised", ENDINGS, ids=lambda e: type(e).__name__)
def test_halves_until_it_fits_and_tells_each_size(raised):
    told = []
    assert halving(short_of(3, raised), 16, told=told.append) == (2, 2)
    assert told == [8, 4, 2]


def test_what_fits_is_not_told():
    assert halving(short_of(16, MemoryError()), 16, told=pytest.fail) == (16, 16)


def test_one_that_does_not_fit_is_an_error_of_the_device():
    with pytest.raises(DeviceError, match="single description"):
        halving(short_of(0, MemoryError()), 4, told=lambda size: None)


def test_other_errors_are_let_through():
    with pytest.raises(RuntimeError, match="shapes"):
        halving(short_of(0, RuntimeError("shapes do not match")), 4, told=pytest.fail)
    assert not is_out_of_memory(RuntimeError("shapes do not match"))


def test_a_real_allocation_that_fails_is_known():
    """In a process whose address space is limited; the memory of the failed attempt is free again for the next."""
    code = """
import resource, torch
from srlite.device.halving import halving
torch.zeros(8)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 300_000_000,) * 2)
def work(size):
    first = torch.zeros(size * 10_000_000 // 2)  # half of size * 40 MB
    return (torch.zeros(size * 10_000_000 // 2) + first[0]).sum().item()
told = []
print(halving(work, 16, told=told.append), told)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    result, told = found.stdout.split(") ")
    assert result.startswith("(0.0, ") and told.strip() in ("[8]", "[8, 4]", "[8, 4, 2]"), found.stdout


def test_portions_keep_the_order():
    assert list(map(list, portions(range(5), 2))) == [[0, 1], [2, 3], [4]]
