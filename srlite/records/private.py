"""Writing a file that only its owner may read, whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from srlite.errors import DeviceError


def write_private(path: Path, text: str) -> None:
    """Writes UTF-8 text with mode 0600: beside the place, to disk, then renamed over it.

    Raises DeviceError when the folder cannot be written or the disk is full; an older file is then untouched.
    """
    data = text.encode("utf-8")
    try:
        # mkstemp makes the file with mode 0600 from its first byte.
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise _cannot_write(path, len(data), error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise _cannot_write(path, len(data), error) from error


def _cannot_write(path: Path, size_bytes: int, error: OSError) -> DeviceError:
    return DeviceError(
        f"{size_bytes} bytes could not be written: {error.strerror or error}",
        where=str(path),
        remedy="Make room on the disk, or name a folder that you may write to.",
    )
