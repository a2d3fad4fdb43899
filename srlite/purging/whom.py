"""A child as it stands in runs and caches: its id, its clips, and what their bytes hash to.

Found by the id (two spellings of one id are one child, see records.spellings.child_key) in the splits of runs, and in items.csv
where that is given. In a run whose rows name no child, by the clips: those that items.csv names, unless the videos folder has
another file of that name; and those whose bytes are a clip of the child's in another run or in the videos folder.
"""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from srlite.errors import InputError
from srlite.files import file_sha256
from srlite.records.children import clips_by_child
from srlite.records.clips import clip_named, read_folder
from srlite.records.spellings import SIDES, child_key, likeness
from srlite.records.split import children_of, saved_split
from srlite.types import Record


@dataclass(frozen=True, slots=True)
class Whom:
    """The child in one run. `clips`: all that show it; `named`: those of them that the run itself calls the child's. `key`: of
    its id. `sha256`: of its clips, in whatever run."""

    key: str
    clips: frozenset[str]
    named: frozenset[str]
    sha256: frozenset[str]
    words: re.Pattern[str]
    words_and_numbers: re.Pattern[str]

    def shown(self, clip: str, child: str | None = None, sha256: str | None = None) -> bool:
        return clip in self.clips or sha256 in self.sha256 or (child is not None and child_key(child) == self.key)

    def named_in(self, text: str, *, numbers: bool = False) -> bool:
        """Whether the text names the child, a clip or a hash, as a whole word. An id without a letter counts only where
        `numbers`: 7 is a number more often than a child."""
        words = self.words_and_numbers if numbers else self.words
        return words.search(_plain(text)) is not None


@dataclass(frozen=True, slots=True)
class Known:
    """What a run says of its clips: rows by side, their children by `child_key`; the hash of each clip where it was written
    down; and each child's id, found by its key, as split.csv has it."""

    folder: Path
    rows: Mapping[str, tuple[Record, ...]]
    hashes: Mapping[str, str]
    written: Mapping[str, str]

    def clips_of(self, key: str) -> frozenset[str]:
        return frozenset(r.clip for side in self.rows.values() for r in side if r.child == key)

    def without_child(self) -> frozenset[str]:
        return frozenset(r.clip for side in self.rows.values() for r in side if not r.child)

    def clips_hashed(self, sha256: frozenset[str]) -> frozenset[str]:
        return frozenset(clip for clip, digest in self.hashes.items() if digest in sha256)

    def sides_of(self, clips: Iterable[str]) -> frozenset[str]:
        wanted = set(clips)
        return frozenset(side for side, rows in self.rows.items() if any(r.clip in wanted for r in rows))


@dataclass(frozen=True, slots=True)
class Found:
    """The child in each run that knows it, and its clips' hashes. `child`: the id as the data write it; `unhashed`: clips whose
    hash nobody knows."""

    child: str
    in_runs: Mapping[Path, Whom]
    sha256: frozenset[str]
    unhashed: tuple[str, ...]
    notes: tuple[str, ...]


def read_known(folder: Path) -> Known:
    """Raises InputError where there is no run, or its split or clips.json cannot be read."""
    if not (folder / "split.csv").is_file():
        raise InputError("there is no run here", where=str(folder), remedy="Name the folder of a run: --run DIR")
    split, path = saved_split(folder / "split.csv"), folder / "clips.json"
    try:
        hashes = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (OSError, ValueError) as error:
        remedy = "Restore the file from a copy of the run, or delete the run's folder."
        raise InputError(f"the clips' hashes cannot be read: {error}", where=str(path), remedy=remedy) from None
    return Known(folder, {side: split.side(side) for side in SIDES}, hashes, children_of(folder / "split.csv"))


def find(child: str, runs: Sequence[Known], *, items_csv: Path | None, videos: Path | None) -> Found:
    """Raises InputError for a child that nothing knows, with ids that look like it. videos: the folder of that items.csv."""
    key, listed = child_key(child), clips_by_child(items_csv) if items_csv else {}
    cells = frozenset(cell for name, some in listed.items() if child_key(name) == key for cell in some)
    named = {run.folder: run.clips_of(key) for run in runs}
    if not cells and not any(named.values()):
        raise _unknown(child, runs, listed)
    files = _files(videos, cells)
    hashes = {name: file_sha256(videos / name) for name in sorted(set(files.values()))} if videos else {}
    mine = {run.folder: named[run.folder] | _unnamed(run, cells, hashes) for run in runs}
    told = {(clip, run.hashes[clip]) for run in runs for clip in mine[run.folder] if clip in run.hashes}
    sha256 = frozenset(hashes.values()) | {digest for _, digest in told}
    clips = {run.folder: mine[run.folder] | run.clips_hashed(sha256) for run in runs}
    in_runs = {run.folder: _whom(key, run, clips[run.folder], named[run.folder], sha256) for run in runs if clips[run.folder]}
    lacking = (cells - files.keys()).union(*mine.values()) - hashes.keys() - {clip for clip, _ in told}
    return Found(_written(runs, listed)[key], in_runs, sha256, tuple(sorted(lacking)), tuple(_others(key, runs, clips)))


def _unnamed(run: Known, cells: frozenset[str], hashes: Mapping[str, str]) -> frozenset[str]:
    """Clips of rows without a child that items.csv calls this child's, but for other files of the same name."""
    listed = run.without_child() & (cells | hashes.keys())
    return listed - {clip for clip in listed & run.hashes.keys() & hashes.keys() if run.hashes[clip] != hashes[clip]}


def _whom(key: str, run: Known, clips: frozenset[str], own: frozenset[str], sha256: frozenset[str]) -> Whom:
    others = {PurePosixPath(r.clip).name for rows in run.rows.values() for r in rows if r.clip not in clips}
    names = {*clips, *(name for clip in clips if (name := PurePosixPath(clip).name) not in others)}
    names |= {repr(name)[1:-1] for name in names}  # as messages quote them
    words = names | sha256 | ({key} if any(c.isalpha() for c in key) else set())
    return Whom(key, clips, own, sha256, _any_of(words), _any_of(words | {key}))


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted(map(_plain, words), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])")


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _files(videos: Path | None, cells: Iterable[str]) -> dict[str, str]:
    """Cell -> the file under the videos folder that it means."""
    if videos is None:
        return {}
    folder = read_folder(videos)
    return {cell: name for cell in cells if (name := clip_named(cell, folder))}


def _others(key: str, runs: Sequence[Known], clips: Mapping[Path, frozenset[str]]) -> Iterable[str]:
    """Clips of the child's that a run has under another child's id."""
    for run in runs:
        rows = [r for side in run.rows.values() for r in side if r.clip in clips[run.folder]]
        for other in sorted({r.child for r in rows if r.child and r.child != key}):
            under = f"a clip of this child stands there under {run.written[other]!r}"
            yield f"{run.folder}: {under}: if that is the same child, purge it, too"


def _written(runs: Sequence[Known], listed: Iterable[str]) -> dict[str, str]:
    """Key -> id as it is written: in items.csv, or else in the first run that has it."""
    written: dict[str, str] = {}
    for ids in ({child_key(name): name for name in listed}, *(run.written for run in runs)):
        written = {**ids, **written}
    return written


def _unknown(child: str, runs: Sequence[Known], listed: Iterable[str]) -> InputError:
    written = _written(runs, listed)
    alike = [key for key in sorted(written) if likeness(key) == likeness(child)]
    near = dict.fromkeys([*alike, *difflib.get_close_matches(child_key(child), sorted(written), n=5)])
    elsewhere = "Name the runs to look in with --run DIR, or the records with --items-csv FILE."
    looked = f"{len(runs)} run{'' if len(runs) == 1 else 's'}{' and the records' if listed else ''}"
    remedy = f"Near it: {', '.join(written[key] for key in near)}." if near else elsewhere
    return InputError(f"there is no child {child!r} in {looked}", remedy=remedy)
