"""How a folder becomes an installed model: put together out of sight, then named at once. One process at a time.

Files that a person added to a model's folder stay there when the model is replaced.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from srlite.errors import DeviceError
from srlite.files import is_full, private_folder, sync_folder
from srlite.models import lock
from srlite.models.registry import ModelEntry
from srlite.models.store import coming_of, folder_of, models_folder
from srlite.models.telling import Tell, Told

PART = ".part"


@contextmanager
def one_at_a_time(tell: Tell) -> Iterator[None]:
    """Hold the models' folder, which is made; waits for another process that does. Raises DeviceError."""
    from filelock import FileLock, Timeout

    models = private_folder(models_folder())
    holder = FileLock(models / ".lock", mode=0o600)
    with disk_told(models):
        try:
            holder.acquire(timeout=0)
        except Timeout:
            tell(Told("another process is changing the models; waiting for it"))
            holder.acquire()
    try:
        yield
    finally:
        holder.release()


@contextmanager
def disk_told(where: Path) -> Iterator[None]:
    """What the file system refuses becomes a DeviceError."""
    try:
        yield
    except OSError as error:
        raise DeviceError(
            f"cannot write: {error.strerror or error}",
            where=str(error.filename or where),
            remedy="Free some space and start again: what is complete is kept."
            if is_full(error)
            else "Check the folder and its permissions; SRLITE_HOME chooses another one.",
        ) from error


def mine(entry: ModelEntry, name: str) -> bool:
    """Whether srlite wrote a file of that name in a model's folder."""
    return name == lock.NAME or name.endswith(PART) or entry.owns(name)


def take_apart(entry: ModelEntry) -> None:
    """Make an installed model one that is not finished: its whole files need not be fetched again."""
    coming, folder = coming_of(entry), folder_of(entry)
    with disk_told(folder):
        private_folder(coming.parent)
        if coming.exists():
            _remove(coming)
        os.rename(folder, coming)
        (coming / lock.NAME).unlink(missing_ok=True)


def install(entry: ModelEntry, ready: Path) -> None:
    """Give `ready`, which has its lock, the name of the model, in the place of one that was there."""
    folder, old = folder_of(entry), coming_of(entry).with_name(f"{entry.id}.old")
    with disk_told(folder):
        if folder.exists():
            for path in folder.iterdir():
                if not mine(entry, path.name):
                    os.rename(path, ready / path.name)
            os.rename(folder, old)
        os.rename(ready, folder)
        sync_folder(folder.parent)
        if old.exists():
            _remove(old)


def recover(entry: ModelEntry) -> None:
    """After a process that was killed between the two renames of `install`."""
    folder, old = folder_of(entry), coming_of(entry).with_name(f"{entry.id}.old")
    if not old.exists():
        return
    with disk_told(folder):
        if folder.exists():
            _remove(old)
        else:
            os.rename(old, folder)


def _remove(folder: Path) -> None:
    """Of a link to a folder on another disk, the link."""
    if folder.is_symlink():
        folder.unlink()
    else:
        shutil.rmtree(folder)
