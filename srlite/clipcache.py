"""Where what is kept of a clip lies, so that it can be found again by the clip alone.

    FOLDER/ab/<clip's sha256>-<key><suffix>        ab: the first two digits of the hash

The name begins with the SHA-256 of the clip's bytes; the key is made of the settings that the entry depends on. So all entries
of a clip are found by its hash, whatever settings they were made with, also what a killed write has left beside them.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

FRAMES, FEATURES = "frames", "features"
"""Names of the stores, folders of the cache."""
_KEY_DIGITS = 32
_NAME = re.compile(rf"\.?[0-9a-f]{{64}}-[0-9a-f]{{{_KEY_DIGITS}}}\..+")


def entry_place(folder: Path, clip_sha256: str, depends_on: str, suffix: str) -> Path:
    """Of one entry. depends_on: text of everything but the clip that the entry depends on, with a version."""
    key = hashlib.sha256(depends_on.encode()).hexdigest()[:_KEY_DIGITS]
    return folder / clip_sha256[:2] / f"{clip_sha256}-{key}{suffix}"


def entries_of(folder: Path, clip_sha256: str) -> list[Path]:
    """All entries of a clip, and unfinished ones."""
    return sorted((folder / clip_sha256[:2]).glob(f"*{clip_sha256}-*"))


def older_entries(folder: Path) -> list[Path]:
    """Files of a layout before this one, which did not tell their clip: nobody finds them any more."""
    return sorted(path for path in folder.glob("*/*") if path.is_file() and not _NAME.fullmatch(path.name))
