"""Before a long job: which clips can be read, and what is to be said of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from srlite.errors import InputError
from srlite.video.info import ClipInfo
from srlite.video.pool import ClipReaders

_LISTED = 20


@dataclass(frozen=True, slots=True)
class ClipCheck:
    """A clip looked at. `said`: why it is refused, or what to know of it. `info` is None where it cannot be opened."""

    clip: str
    action: Literal["ok", "warning", "refused"]
    info: ClipInfo | None
    said: tuple[str, ...]


def check_clips(clips: Mapping[str, Path], *, frames: int, limit_s: float) -> Iterator[ClipCheck]:
    """Probe each clip and read `frames` pictures of it, as a job would; small ones, since only errors matter here."""
    with ClipReaders(limit_s=limit_s) as readers:

        def look(path: Path) -> tuple[ClipInfo, tuple[str, ...] | InputError]:
            info = readers.probe(path)
            try:
                return info, readers.read(path, count=frames, multiple=8, max_pixels=64 * 64).warnings
            except InputError as error:
                return info, error

        for clip, (_, found) in zip(clips, readers.each(clips.values(), look), strict=True):
            info, said = (None, found) if isinstance(found, InputError) else found
            if isinstance(said, InputError):
                yield ClipCheck(clip, "refused", info, (said.message,))
            else:
                yield ClipCheck(clip, "warning" if said else "ok", info, said)


def refuse_unreadable(
    readers: ClipReaders,
    paths: Iterable[Path],
    look: Callable[[Path], object],
    *,
    tick: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Look at each clip once. Raises one InputError that names all clips that `look` refuses, with the reason."""
    ordered, problems = sorted(set(paths)), []
    for done, (path, found) in enumerate(readers.each(ordered, look), start=1):
        if isinstance(found, InputError):
            problems.append(f"{path.name}: {found.message}")
        tick(done, len(ordered))
    if problems:
        more = f"\n... and {len(problems) - _LISTED} more" if len(problems) > _LISTED else ""
        clips = "1 clip" if len(problems) == 1 else f"{len(problems)} clips"
        raise InputError(
            f"{clips} cannot be read:\n" + "\n".join(problems[:_LISTED]) + more,
            remedy="Replace these files, or leave their rows out. `srlite check` tells more about each clip.",
        )
