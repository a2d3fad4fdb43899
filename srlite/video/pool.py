"""Several clips at once: as many readers, each with its child process, as there are cores to decode with.

A single reader decodes on one thread, since FFmpeg's own threads leave damaged frames unmarked; clips side by side are what
makes reading many of them fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import LifoQueue
from typing import TypeVar

from srlite.device.threads import cores
from srlite.errors import InputError
from srlite.types import Frames
from srlite.video.info import ClipInfo
from srlite.video.reader import ClipReader

_Found = TypeVar("_Found")
_MOST = 4  # children hold decoders of up to some hundred megabytes each


class ClipReaders:
    """Like a ClipReader, for several threads: each call takes a free reader, and waits where there is none.

    The reader given back last is taken first, so that one thread alone keeps to one child.
    """

    def __init__(self, *, limit_s: float, count: int | None = None):
        self.count = count or min(_MOST, cores())
        self._all = [ClipReader(limit_s=limit_s) for _ in range(self.count)]
        self._free: LifoQueue[ClipReader] = LifoQueue()
        for reader in self._all:
            self._free.put(reader)

    def __enter__(self) -> ClipReaders:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for reader in self._all:
            reader.close()

    def probe(self, path: str | Path) -> ClipInfo:
        """See ClipReader.probe."""
        with self._reader() as reader:
            return reader.probe(path)

    def read(self, path: str | Path, *, count: int, multiple: int, max_pixels: int) -> Frames:
        """See ClipReader.read."""
        with self._reader() as reader:
            return reader.read(path, count=count, multiple=multiple, max_pixels=max_pixels)

    @contextmanager
    def _reader(self) -> Iterator[ClipReader]:
        reader = self._free.get()
        try:
            yield reader
        finally:
            self._free.put(reader)

    def each(self, paths: Iterable[Path], look: Callable[[Path], _Found]) -> Iterator[tuple[Path, _Found | InputError]]:
        """`look` at each path, several at once, with what it found or refused it for, in the order given."""

        def looked(path: Path) -> tuple[Path, _Found | InputError]:
            try:
                return path, look(path)
            except InputError as error:
                return path, error

        threads = ThreadPoolExecutor(self.count)
        try:
            yield from threads.map(looked, paths)
        finally:  # Ctrl-C waits for the clips in hand, not for all
            threads.shutdown(cancel_futures=True)
