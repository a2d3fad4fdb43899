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

from srlite.config import Settings
from srlite.errors import InputError
from srlite.evaluation.document import Case
from srlite.models.store import cache_folder
from srlite.types import Frames
from srlite.video.pool import ClipReaders
from srlite.video.store import FrameStore

LONGEST_SIDE, QUALITY = 128, 60
"""Of a picture: pixels, and JPEG's quality. Some 2 to 4 kB each."""
MULTIPLES = (32, 28)
"""Sides of the frames that the known families of descriptors look at are multiples of so many pixels."""

Tick = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Shot:
    """One frame of a clip: its moment and its picture."""

    seconds: float
    jpeg: bytes


@dataclass(frozen=True, slots=True)
class Strips:
    """`by_clip`: a clip's SHA-256 -> its frames; `missing`: the clips without, each with the reason."""

    by_clip: Mapping[str, tuple[Shot, ...]]
    missing: tuple[str, ...] = ()


def shots_of(frames: Frames) -> tuple[Shot, ...]:
    """The distinct frames, made small. A picture is never made larger."""
    return tuple(Shot(frames.times_s[i], _jpeg(frames.images[i])) for i in range(min(frames.real, len(frames.times_s))))


def _jpeg(image) -> bytes:
    from PIL import Image

    picture, out = Image.fromarray(image), io.BytesIO()
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    picture.save(out, "JPEG", quality=QUALITY, optimize=True)
    return out.getvalue()


def strips(cases: Sequence[Case], settings: Settings, videos: Path | None, *, tick: Tick = lambda done, total: None) -> Strips:
    """Frames of every clip of the cases, from `videos` where it is given, else those kept by earlier runs."""
    clips = {case.clip_sha256: case.clip for case in cases if case.clip_sha256 and not case.unreadable}
    found: dict[str, tuple[Shot, ...]] = {}
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
            return [] if found is None else [(shot.seconds, shot.jpeg) for shot in shots_of(found)]

        yield frames_of


def _kept(sha256: str, stores: Sequence[FrameStore]) -> Frames | None:
    return next((frames for store in stores if (frames := store.kept(sha256)) is not None), None)


def _store(settings: Settings, readers: ClipReaders, multiple: int) -> FrameStore:
    """A store that is read from; with no room at all nothing is added to it."""
    video = settings.video
    place = cache_folder() / "frames"
    return FrameStore(place, readers, count=video.frames, multiple=multiple, max_pixels=video.max_pixels, max_bytes=0)


def _kept_all(clips: Mapping[str, str], stores: Sequence[FrameStore]) -> Iterable[tuple[str, tuple[Shot, ...] | str]]:
    for sha256 in clips:
        kept = _kept(sha256, stores)
        yield sha256, "its frames are not kept on this machine" if kept is None else shots_of(kept)


def _read_all(clips: Mapping[str, str], store: FrameStore, videos: Path) -> Iterable[tuple[str, tuple[Shot, ...] | str]]:
    """Several clips at once."""
    wanted = {videos / clip: sha256 for sha256, clip in clips.items()}

    def look(path: Path) -> tuple[Shot, ...] | str:
        if store.sha256(path) != wanted[path]:
            return "this is another file than the one that was evaluated"
        return shots_of(store.frames(path)[0])

    for path, seen in store.readers.each(wanted, look):
        yield wanted[path], seen.message if isinstance(seen, InputError) else seen
