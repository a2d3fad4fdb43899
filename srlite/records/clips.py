"""From what a cell of the column `video` says to a file under the videos folder.

Rules, in this order: the name exactly as written; the name with slashes, composed characters (NFC) and the
case of the suffix made alike, said in a note; the same without the folder's own name in front. Two files that
fit are an error. Hidden files and system leftovers are no clips. Links are followed once and never out of the
folder. Left out: whether a file can be decoded (the video room finds that out).
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from srlite.errors import InputError
from srlite.records.duplicates import settle
from srlite.records.problems import LISTED, Problems
from srlite.records.spellings import child_key
from srlite.types import Record

_SUFFIXES = frozenset(
    [
        ".mp4",
        ".m4v",
        ".mov",
        ".avi",
        ".mkv",
        ".webm",
        ".3gp",
        ".3g2",
        ".mpg",
        ".mpeg",
        ".mts",
        ".m2ts",
        ".ts",
        ".wmv",
        ".flv",
        ".ogv",
    ]
)
_UNFINISHED = (".crdownload", ".part", ".partial", ".download", ".tmp")
_SYSTEM = frozenset({"thumbs.db", "desktop.ini", "ehthumbs.db", "$recycle.bin", "system volume information", "__macosx"})
_ABSOLUTE = re.compile(r"[\\/]|[A-Za-z]:")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


@dataclass(frozen=True, slots=True)
class Folder:
    """What the videos folder holds.

    files: path as seen -> the real file, both relative with forward slashes. They differ only through links.
    refused: path as seen -> why it is no clip (a dangling link, a link out of the folder).
    alike: spelling with the differences taken out -> the real files that have it.
    """

    root: Path
    files: Mapping[str, str]
    refused: Mapping[str, str]
    alike: Mapping[str, frozenset[str]]

    @property
    def videos(self) -> tuple[str, ...]:
        """The real files whose suffix, in any case, is that of a video."""
        return tuple(sorted(n for n in set(self.files.values()) if PurePosixPath(n).suffix.lower() in _SUFFIXES))


def read_folder(videos_dir: Path) -> Folder:
    """Lists the folder and what is below it. Raises InputError when it is no folder."""
    root = Path(videos_dir)
    if not root.is_dir():
        what = "is a file, not a folder" if root.exists() else "there is no such folder"
        raise InputError(what, where=str(root), remedy="Name the folder that holds the videos.")
    real_root = Path(os.path.realpath(root))
    files: dict[str, str] = {}
    refused: dict[str, str] = {}
    folder_links = []
    for path in _walk(real_root):
        name = path.relative_to(real_root).as_posix()
        target = Path(os.path.realpath(path))
        if path.is_symlink() and (reason := _refusal(target, real_root)):
            refused[name] = reason
        elif target.is_dir():
            folder_links.append((name, target.relative_to(real_root).as_posix()))
        elif target.is_file():
            files[name] = target.relative_to(real_root).as_posix()
        else:
            refused[name] = "no ordinary file"
    files |= _through_links(folder_links, files)
    alike: dict[str, set[str]] = {}
    for name, real in files.items():
        alike.setdefault(_spelling(name), set()).add(real)
    return Folder(root, files, refused, {key: frozenset(names) for key, names in alike.items()})


def resolve_clips(
    records: Sequence[Record], videos_dir: Path, *, named_by: str = "the list"
) -> tuple[tuple[Record, ...], tuple[str, ...]]:
    """The records with the clip's real path (relative, forward slashes), and notes on how names were matched.

    Rows that turn out to speak of the same clip are dropped when they repeat each other. Raises InputError
    naming every cell that leads to no file, to more than one, or out of the folder, and rows that contradict
    each other; where of several clips not one is there, that alone. named_by: the file of the records, for messages.
    """
    folder = read_folder(videos_dir)
    problems = Problems(str(videos_dir))
    _require_some(records, folder, problems, named_by)
    found = find_clips(((r.clip, r.line) for r in records), folder, problems)
    problems.raise_if_any()
    resolved, dropped = settle((replace(r, clip=found[r.clip] or "") for r in records), problems)
    problems.raise_if_any()
    return resolved, tuple(matching_notes(found, folder, dropped))


def _require_some(records: Sequence[Record], folder: Folder, problems: Problems, named_by: str) -> None:
    """Raises one problem where several clips are named and not one is there: more likely the folder is wrong than every row."""
    first = {r.clip: r.line for r in reversed(records)}
    if len(first) < 2 or not all(_absent(cell, folder) for cell in first):
        return
    cell, line = min(first.items(), key=lambda named: named[1])
    example = f"line {line}: {cell!r} is not there{_nearest(cell, folder, problems)}"
    said = f"none of the {len(first)} clips that {named_by} names is in {folder.root} ({example}): is it the right folder?"
    problems.add(0, None, said, remedy="Give the folder that the paths in the column video start from.")
    problems.raise_if_any()


def find_clips(cells: Iterable[tuple[str, int]], folder: Folder, problems: Problems) -> dict[str, str | None]:
    """Each cell, given with its line -> the real file that it means (relative); None where a problem was added."""
    lines: dict[str, int] = {}
    for cell, line in cells:
        lines.setdefault(cell, line)
    return {cell: _find(cell, line, folder, problems) for cell, line in lines.items()}


def matching_notes(found: Mapping[str, str | None], folder: Folder, dropped: int) -> Iterator[str]:
    """How names were matched. found: cell -> real file; dropped: rows that only repeat another one in another spelling."""
    other = [(cell, real) for cell, real in found.items() if cell != real]
    for cell, real in other[:LISTED]:
        yield f"{cell!r} was taken as {real!r}"
    if len(other) > LISTED:
        yield f"{len(other) - LISTED} more names were matched with other slashes, characters or suffix case"
    if dropped:
        yield f"{dropped} rows that name the same clip in another way and repeat an earlier row were dropped"
    if idle := len(set(folder.videos) - set(found.values())):
        yield f"{idle} of {len(folder.videos)} videos in the folder are in no row that is used"


def clip_named(cell: str, folder: Folder) -> str | None:
    """The real file that a cell of the column `video` means; None where it means none, or more than one."""
    return _find(cell, 0, folder, Problems(str(folder.root)))


def identical_clips(records: Iterable[Record], videos_dir: Path) -> tuple[str, ...]:
    """Notes on clips of different names with the same bytes; call it after `resolve_clips`.

    Only files of equal size are read. Raises InputError when such a clip stands under two children: one of
    the labels is wrong, and the child would be on both sides of a split.
    """
    child = {record.clip: record.child for record in records}
    problems = Problems(str(videos_dir))
    notes = []
    for clips in _same_bytes(Path(videos_dir), sorted(child)):
        named = ", ".join(f"{clip!r} ({child[clip] or 'no child'})" for clip in clips)
        if len({child_key(child[clip] or "") for clip in clips}) > 1:
            said = f"the same video stands under different children: {named}"
            problems.add(0, None, said, remedy="Find out whom it shows and remove the other copy and its rows.")
        else:
            notes.append(f"the same video under several names: {named}")
    problems.raise_if_any()
    return tuple(notes)


def _walk(root: Path) -> Iterator[Path]:
    """Files and links below root, in a fixed order, without entering links, hidden folders or leftovers."""
    for folder, folders, names in os.walk(root, onerror=_unreadable):
        here = Path(folder)
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = sorted(name for name in folders if not _leftover(name) and name not in links)
        for name in sorted([*names, *links]):
            if not _leftover(name):
                yield here / name


def _unreadable(error: OSError) -> None:
    raise InputError(f"a folder cannot be listed: {error.strerror}", where=str(error.filename)) from error


def _leftover(name: str) -> bool:
    low = name.lower()
    return low.startswith((".", "~$")) or low in _SYSTEM or low.endswith(_UNFINISHED)


def _refusal(target: Path, root: Path) -> str | None:
    if not target.exists():
        return "a link to something that is not there"
    if target != root and root not in target.parents:
        return "a link out of the videos folder"
    return None


def _through_links(links: Iterable[tuple[str, str]], files: Mapping[str, str]) -> dict[str, str]:
    """The files seen through links to folders: one level, so a link to a folder around it ends there."""
    seen = {}
    for name, target in links:
        below = "" if target == "." else f"{target}/"
        seen |= {f"{name}/{file[len(below) :]}": real for file, real in files.items() if file.startswith(below)}
    return seen


def _spelling(name: str) -> str:
    """The name with the differences taken out that operating systems make by themselves."""
    path = PurePosixPath(unicodedata.normalize("NFC", name.replace("\\", "/")))
    text, length = path.as_posix(), len(path.suffix)
    return text[: len(text) - length] + path.suffix.lower()


def _find(cell: str, line: int, folder: Folder, problems: Problems) -> str | None:
    """The real file that the cell means; None with a problem added."""
    if cell in folder.files:
        return folder.files[cell]
    if reason := _forbidden(cell) or folder.refused.get(cell):
        remedy = "The column video holds paths below the videos folder, such as 2026/clip.mp4: copy the file in."
        problems.add(line, "video", f"{cell!r}: {reason}", remedy=remedy)
        return None
    fits = _fits(cell, folder)
    if len(fits) == 1:
        return next(iter(fits))
    if fits:
        said = f"{cell!r} may be any of {', '.join(map(repr, sorted(fits)))}"
        problems.add(line, "video", said, remedy="Write the name exactly as the file has it.")
    elif os.path.isdir(folder.root / cell):
        problems.add(line, "video", f"{cell!r} is a folder, not a file")
    else:
        problems.add(line, "video", f"{cell!r} is not there{_nearest(cell, folder, problems)}")
    return None


def _fits(cell: str, folder: Folder) -> frozenset[str]:
    """The real files that the cell may mean, written in another way than they are."""
    return folder.alike.get(_spelling(cell)) or folder.alike.get(_without_root(cell, folder.root)) or frozenset()


def _absent(cell: str, folder: Folder) -> bool:
    """Whether nothing of that name is in the folder, and nothing is wrong with the name by itself."""
    known = cell in folder.files or cell in folder.refused or _fits(cell, folder)
    return not (known or _forbidden(cell) or os.path.isdir(folder.root / cell))


def _forbidden(cell: str) -> str | None:
    if _URL.match(cell) and not _ABSOLUTE.match(cell):
        return "an address; nothing is fetched from the network"
    if _ABSOLUTE.match(cell):
        return "an absolute path"
    if ".." in cell.replace("\\", "/").split("/"):
        return "a path with `..` in it"
    if any(_leftover(part) for part in cell.replace("\\", "/").split("/") if part != "."):
        return "a hidden or temporary file of the system, not a clip"
    return None


def _without_root(cell: str, root: Path) -> str:
    """`videos\\new.mp4` as seen from beside the folder `videos`."""
    first, _, rest = _spelling(cell).partition("/")
    return rest if first == unicodedata.normalize("NFC", Path(os.path.abspath(root)).name) else ""


def _nearest(cell: str, folder: Folder, problems: Problems) -> str:
    # Comparing with every name is slow, and beyond the listed problems nobody would read it.
    if len(problems) >= LISTED:
        return ""
    near = difflib.get_close_matches(_spelling(cell), folder.alike, n=1, cutoff=0.5)
    return f"; nearest: {min(folder.alike[near[0]])!r}" if near else ""


def _same_bytes(root: Path, clips: Iterable[str]) -> Iterator[tuple[str, ...]]:
    by_size: dict[int, list[str]] = {}
    for clip in clips:
        by_size.setdefault((root / clip).stat().st_size, []).append(clip)
    for same_size in by_size.values():
        by_hash: dict[str, list[str]] = {}
        for clip in same_size if len(same_size) > 1 else ():
            with (root / clip).open("rb") as file:
                by_hash.setdefault(hashlib.file_digest(file, "sha256").hexdigest(), []).append(clip)
        yield from (tuple(clips) for clips in by_hash.values() if len(clips) > 1)
