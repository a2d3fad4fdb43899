"""One process at a time writes in a run: `.lock` is held meanwhile, `.owner` says by whom."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from srlite.errors import UsageError
from srlite.files import private_folder, write_private


@contextmanager
def sole_owner(folder: Path) -> Iterator[str | None]:
    """Hold the folder's lock. Yields a sentence about the process before, where that one was killed.

    The lock itself never goes stale: the system takes it back when its process ends, however it ends. Raises UsageError, which
    names the process, when another one works here.
    """
    from filelock import FileLock, Timeout

    lock, owner = FileLock(private_folder(folder) / ".lock", mode=0o600, timeout=0), folder / ".owner"
    try:
        lock.acquire()
    except Timeout:
        raise UsageError(
            f"another process is at work in this folder: {_owner(owner)}",
            where=str(folder),
            remedy="Wait for it, stop it, or give another --run DIR.",
        ) from None
    try:
        left = f"taken over from {_owner(owner)}, which was ended from outside" if owner.exists() else None
        write_private(owner, f"process {os.getpid()} on {platform.node()}\n")
        yield left
    finally:
        owner.unlink(missing_ok=True)
        lock.release()


def _owner(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return "a process that has not said its name yet"
