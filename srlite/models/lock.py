"""srlite-lock.json, beside the files of an installed model: where they come from, and the length and sha256 of each.

Contract: a folder with a lock was complete and verified when the lock was written, which is the last thing that happens before
the folder gets its name. The lock guards against damage and mixing up, not against somebody who may write to the folder.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from srlite.errors import ModelError
from srlite.files import file_sha256, write_private
from srlite.models.registry import ModelEntry

NAME = "srlite-lock.json"
SCHEMA = "srlite.lock/1"
_LONGEST_BYTES = 1 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class LockedFile:
    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Lock:
    """`id` is the name in models.toml; `commit` what its revision stood for on the day of the pull."""

    id: str
    repository: str
    commit: str
    files: tuple[LockedFile, ...]

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)


def read_lock(folder: Path) -> Lock | None:
    """None where there is none. Raises ModelError for one that says nothing that can be used."""
    path = folder / NAME
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return _lock_from(json.loads(file.read(_LONGEST_BYTES)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"the lock cannot be read: {error}", where=str(path), remedy=_AGAIN) from error


def write_lock(folder: Path, lock: Lock) -> None:
    """Raises DeviceError."""
    write_private(folder / NAME, json.dumps({"schema": SCHEMA, **asdict(lock)}, indent=2) + "\n")


def check_lock(lock: Lock, entry: ModelEntry, folder: Path) -> None:
    """Raises ModelError when the lock is not one of this model, or names files that a model has no use for."""
    if (lock.id, lock.repository) != (entry.id, entry.repository):
        found, expected = f"{lock.id} of {lock.repository}", f"{entry.id} of {entry.repository}"
        raise ModelError(f"the lock is that of {found}, not of {expected}", where=str(folder), remedy=_AGAIN)
    names = [file.name for file in lock.files]
    if odd := [name for name in names if not entry.owns(name)]:
        raise ModelError(f"the lock names files that belong to no model: {', '.join(odd)}", where=str(folder), remedy=_AGAIN)
    if len(set(names)) < len(names):
        raise ModelError("the lock names a file twice", where=str(folder), remedy=_AGAIN)


def wrong_with(path: Path, locked: LockedFile, heard: Callable[[int], None]) -> str | None:
    """What is wrong with an installed file, in words; None when it is the one that was locked."""
    if said := short_of(path, locked):
        return said
    found = file_sha256(path, heard)
    return None if found == locked.sha256 else f"its sha256 is {found[:12]}... where the lock says {locked.sha256[:12]}..."


def short_of(path: Path, locked: LockedFile) -> str | None:
    """The same by its length only, which costs nothing."""
    if not path.is_file():
        return "is missing"
    size = path.stat().st_size
    return None if size == locked.bytes else f"has {size:,} bytes where the lock says {locked.bytes:,}"


_AGAIN = "Pull the model again, or export it again where it came from."


def _lock_from(document: Mapping) -> Lock:
    if document["schema"] != SCHEMA:
        raise ValueError(f"its schema is {document['schema']!r}, not {SCHEMA!r}")
    files = tuple(LockedFile(str(f["name"]), int(f["bytes"]), str(f["sha256"])) for f in document["files"])
    if not files or any(f.bytes < 0 or not _SHA256.fullmatch(f.sha256) for f in files):
        raise ValueError("no files, or no lengths and sha256 of them")
    return Lock(str(document["id"]), str(document["repository"]), str(document["commit"]), files)
