"""Writing files that hold something about a child: complete or not there, and readable by their owner only.

A file is written beside its place, flushed to the disk, and renamed into it, so that a power cut leaves the old or the
new content and never half of one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from srlite.errors import DeviceError

BLOCK_BYTES = 1 << 22
"""Read and hashed at a time."""


def private_folder(folder: Path) -> Path:
    """Make the folder, and those of its parents that are missing, with mode 0700. Raises DeviceError."""
    try:
        for missing in reversed([p for p in (folder, *folder.parents) if not p.exists()]):
            missing.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(exist_ok=True)  # says so when the name is taken by a file
    except OSError as error:
        raise _cannot_write(folder, 0, error) from error
    return folder


def write_private(path: Path, content: str | bytes) -> None:
    """Replace the file's content, mode 0600. Raises DeviceError naming the path and the bytes."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    private_folder(path.parent)
    part = None
    try:
        handle, part = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)  # mode 0600
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        sync_folder(path.parent)
    except OSError as error:
        if part:
            Path(part).unlink(missing_ok=True)
        raise _cannot_write(path, len(data), error) from error


def append_private(path: Path, text: str) -> None:
    """Add to the end of a file, which is made with mode 0600, and flush it to the disk. Raises DeviceError."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _cannot_write(path, len(text.encode()), error) from error


def file_sha256(path: Path, heard: Callable[[int], None] = lambda done: None) -> str:
    """Hexadecimal, of the file's bytes, streamed. `heard` gets the bytes read so far. Raises OSError."""
    digest, done = hashlib.sha256(), 0
    with path.open("rb") as stream:
        while block := stream.read(BLOCK_BYTES):
            digest.update(block)
            done += len(block)
            heard(done)
    return digest.hexdigest()


def is_full(error: OSError) -> bool:
    """The disk has no room, or the user's share of it has none, or a file may not be that large."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def free_bytes(folder: Path) -> int:
    """On the disk of a folder, which need not be there yet."""
    there = next(p for p in (folder.absolute(), *folder.absolute().parents) if p.exists())
    return shutil.disk_usage(there).free


def require_space(folder: Path, needed_bytes: int) -> None:
    """Raises DeviceError saying how much is missing when the disk of `folder` has less than that free."""
    free = free_bytes(folder)
    if free < needed_bytes:
        raise DeviceError(
            f"the disk is full: {needed_bytes:,} bytes are to be written and {needed_bytes - free:,} of them are missing",
            where=str(folder),
            remedy="Free some space and go on; what was written before is whole.",
        )


def remove_for_good(path: Path) -> None:
    """Delete a file, if it is there; after a power cut, too, it is not there any more. Raises DeviceError."""
    try:
        path.unlink(missing_ok=True)
        sync_folder(path.parent)
    except OSError as error:
        remedy = "Check the folder and its permissions."
        raise DeviceError(f"cannot be removed: {error.strerror or error}", where=str(path), remedy=remedy) from error


def remove_leftovers(folder: Path) -> None:
    """Delete what a killed `write_private` left beside its files. Only for a folder that nobody else writes to."""
    for part in folder.rglob(".*.part"):
        if part.is_file():
            part.unlink()


def sync_folder(folder: Path) -> None:
    """Flush the folder's own entry, so that a rename in it survives a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _cannot_write(path: Path, size_bytes: int, error: OSError) -> DeviceError:
    remedy = "Free some space and start again." if is_full(error) else "Check the folder and its permissions."
    return DeviceError(f"cannot write {size_bytes:,} bytes: {error.strerror or error}", where=str(path), remedy=remedy)
