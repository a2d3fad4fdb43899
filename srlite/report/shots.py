"""The frames of clips as small pictures for a page: those that were kept when the clips were read, or read anew.

Contract: a clip is found by the SHA-256 that the evaluation names, so a picture is never that of another file. Nothing is kept
in the store by this. What cannot be shown is said in words.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from srlite.clipcache import FRAMES
from srlite.config import Settings
from srlite.errors import InputError
from srlite.evaluation.document import Case
from srlite.models.store import cache_folder
from srlite.types import Frames
from srlite.video.pool import ClipReaders
from srlite.video.store import FrameStore

if TYPE_CHECKING:
    import numpy as np

LONGEST_SIDE, QUALITY = 112, 60
"""Of a frame in pixels; JPEG's quality."""
ABREAST, GAP = 4, 3
"""Frames on a sheet, and pixels between them: a browser opens few large pictures faster than many small ones."""
_EMPTY = (245, 243, 238)
MULTIPLES = (32, 28)
"""Sides of the frames that the known families of descriptors look at are multiples of so many pixels."""

Tick = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A picture of at most ABREAST frames side by side, the moment of each, and its size in pixels (0: not known)."""

    seconds: tuple[float, ...]
    jpeg: bytes
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class Strips:
    """`by_clip`: a clip's SHA-256 -> its frames; `missing`: the clips without, each with the reason."""

    by_clip: Mapping[str, tuple[Sheet, ...]]
    missing: tuple[str, ...] = ()


def sheets_of(frames: Frames, abreast: int = ABREAST) -> tuple[Sheet, ...]:
    """The distinct frames, made small, in order, `abreast` on a sheet. A frame is never made larger."""
    real = min(frames.real, len(frames.times_s))
    parts = [slice(at, min(at + abreast, real)) for at in range(0, real, abreast)]
    return tuple(_sheet(frames.images[part], frames.times_s[part], abreast) for part in parts)


def _sheet(images: np.ndarray, times_s: tuple[float, ...], abreast: int) -> Sheet:
    """images: uint8 (F, height, width, 3). Where they are fewer than `abreast` the rest of the sheet is empty."""
    from PIL import Image

    small = [Image.fromarray(image) for image in images]
    for picture in small:
        picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    width, height = small[0].size
    sheet, out = Image.new("RGB", (abreast * (width + GAP) - GAP, height), _EMPTY), io.BytesIO()
    for at, picture in enumerate(small):
        sheet.paste(picture, (at * (width + GAP), 0))
    sheet.save(out, "JPEG", quality=QUALITY, optimize=True)
    return Sheet(times_s, out.getvalue(), *sheet.size)


def strips(cases: Sequence[Case], settings: Settings, videos: Path | None, *, tick: Tick = lambda done, total: None) -> Strips:
    """Frames of every clip of the cases, from `videos` where it is given, else those kept by earlier runs."""
    clips = {case.clip_sha256: case.clip for case in cases if case.clip_sha256 and not case.unreadable}
    found: dict[str, tuple[Sheet, ...]] = {}
    missing = []
    with ClipReaders(limit_s=settings.video.limit_s) as readers:
        stores = [_store(settings, readers, multiple) for multiple in MULTIPLES]
        looked = _read_all(clips, stores[0], videos) if videos else _kept_all(clips, stores)
        for done, (sha256, seen) in enumerate(looked, start=1):
            if isinstance(seen, str):
                missing.append(f"{clips[sha256]}: {seen}")
            else:
                found[sha256] = seen
            tick(done, len(clips))
    return Strips(found, tuple(missing))


@contextmanager
def frames_by_document(settings: Settings) -> Iterator[Callable[[Mapping], list[tuple[float, bytes]]]]:
    """Gives what finds the frames of an assessed clip, (seconds, JPEG): those kept, else read anew from the clip's path; none
    where that holds another file now. Raises InputError when it cannot be read any more."""
    with ClipReaders(limit_s=settings.video.limit_s) as readers:
        stores = [_store(settings, readers, multiple) for multiple in MULTIPLES]

        def frames_of(document: Mapping) -> list[tuple[float, bytes]]:
            clip = document["clip"]
            found = _kept(clip["sha256"], stores)
            if found is None and stores[0].sha256(Path(clip["path"])) == clip["sha256"]:
                found = stores[0].frames(Path(clip["path"]))[0]
            return [] if found is None else [(sheet.seconds[0], sheet.jpeg) for sheet in sheets_of(found, abreast=1)]

        yield frames_of


def _kept(sha256: str, stores: Sequence[FrameStore]) -> Frames | None:
    return next((frames for store in stores if (frames := store.kept(sha256)) is not None), None)


def _store(settings: Settings, readers: ClipReaders, multiple: int) -> FrameStore:
    """A store that is read from; with no room at all nothing is added to it."""
    video = settings.video
    place = cache_folder() / FRAMES
    return FrameStore(place, readers, count=video.frames, multiple=multiple, max_pixels=video.max_pixels, max_bytes=0)


def _kept_all(clips: Mapping[str, str], stores: Sequence[FrameStore]) -> Iterable[tuple[str, tuple[Sheet, ...] | str]]:
    for sha256 in clips:
        kept = _kept(sha256, stores)
        yield sha256, "its frames are not kept on this machine" if kept is None else sheets_of(kept)


def _read_all(clips: Mapping[str, str], store: FrameStore, videos: Path) -> Iterable[tuple[str, tuple[Sheet, ...] | str]]:
    """Several clips at once."""
    wanted = {videos / clip: sha256 for sha256, clip in clips.items()}

    def look(path: Path) -> tuple[Sheet, ...] | str:
        if store.sha256(path) != wanted[path]:
            return "this is another file than the one that was evaluated"
        return sheets_of(store.frames(path)[0])

    for path, seen in store.readers.each(wanted, look):
        yield wanted[path], seen.message if isinstance(seen, InputError) else seen
