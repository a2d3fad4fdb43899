"""Frames of clips on disk, so that a clip is decoded once for all rounds and runs.

Contract: `frames(path)` gives the sampled pictures of a clip and the SHA-256 of its bytes. Kept losslessly compressed, one
file a clip and settings, mode 0600, under the clip's hash and a key of everything that decides which pictures are taken
(clipcache.py). A file that cannot be read is made again. Several threads may ask at once. The store has a budget in bytes: it
keeps frames until it is full and never throws any out, because a run reads its clips in cycles.
"""

from __future__ import annotations

import io
import json
import threading
import zipfile
import zlib
from pathlib import Path

import numpy as np

from srlite.clipcache import entry_place
from srlite.files import write_private
from srlite.types import Frames
from srlite.video.pool import ClipReaders
from srlite.video.reader import sha256_of

KEY_VERSION = "srlite.frames/2"


class FrameStore:
    """`count` frames with sides in multiples of `multiple` and at most `max_pixels` each; counts `decoded` clips."""

    def __init__(self, folder: Path, readers: ClipReaders, *, count: int, multiple: int, max_pixels: int, max_bytes: int):
        self._folder, self.readers = folder, readers
        self._wanted = dict(count=count, multiple=multiple, max_pixels=max_pixels)
        self._hashes: dict[Path, str] = {}
        self._lock = threading.Lock()
        self.decoded = 0
        self._max_bytes = max_bytes
        self.used_bytes = sum(p.stat().st_size for p in folder.glob("*/*.npz"))

    def frames(self, path: Path) -> tuple[Frames, str]:
        """Raises InputError naming the clip when it cannot be read."""
        sha256 = self.sha256(path)
        found = self.kept(sha256)
        if found is None:
            found = self.readers.read(path, **self._wanted)
            self._keep(self._place(sha256), _dump(found))
        return found, sha256

    def kept(self, sha256: str) -> Frames | None:
        """The frames of a clip by its hash, without the clip; None where the store does not hold them."""
        return _load(self._place(sha256))

    def _place(self, sha256: str) -> Path:
        return entry_place(self._folder, sha256, json.dumps([KEY_VERSION, *sorted(self._wanted.items())]), ".npz")

    def _keep(self, path: Path, content: bytes) -> None:
        with self._lock:
            self.decoded += 1
            fits = self.used_bytes + len(content) <= self._max_bytes
            self.used_bytes += len(content) if fits else 0
        if fits:
            write_private(path, content)

    def sha256(self, path: Path) -> str:
        """Of the clip's bytes; read once for each path."""
        if path not in self._hashes:
            self._hashes[path] = sha256_of(path)
        return self._hashes[path]


def _dump(frames: Frames) -> bytes:
    about = dict(times_s=frames.times_s, duration_s=frames.duration_s, real=frames.real, warnings=frames.warnings)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, images=frames.images, about=np.frombuffer(json.dumps(about).encode(), np.uint8))
    return buffer.getvalue()


def _load(path: Path) -> Frames | None:
    try:
        with np.load(path, allow_pickle=False) as kept:
            about = json.loads(kept["about"].tobytes())
            return Frames(
                kept["images"],
                tuple(about["times_s"]),
                about["duration_s"],
                about["real"],
                tuple(about["warnings"]),
            )
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
