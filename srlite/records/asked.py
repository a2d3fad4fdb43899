"""What is to be assessed: clips named one by one, folders of them, or a list (CSV) with an item for each.

A list has one clip and item a row. Required: `video`, `item`; optional: `age_months`, `child`; headings and cells as in
items.csv, every other column is named and not used. All that is wrong in it comes in one error, before anything is assessed.
Left out: whether a clip can be read; that is found out clip by clip.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from srlite.errors import InputError, UsageError
from srlite.records.catalogue import Catalogue
from srlite.records.clips import Folder, find_clips, matching_notes, read_folder
from srlite.records.items import OLDEST_MONTHS, age_of, by_name, refuse_damaged
from srlite.records.problems import LISTED, Problems
from srlite.records.spellings import HEADINGS, item_damage
from srlite.records.table import Headings, read_table

_REQUIRED = ("video", "item")
_USED = (*_REQUIRED, "age_months", "child")
_Row = tuple[int, Mapping[str, str]]
"""Line, and our name of a column -> cell."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A clip to be assessed for an item. age_months None: the item's. child: for the results only, no model reads it."""

    clip: Path
    item: str
    age_months: float | None = None
    child: str | None = None

    def __post_init__(self) -> None:
        """Raises UsageError for an age that no child has."""
        if self.age_months is not None and not 0 <= self.age_months <= OLDEST_MONTHS:  # true of what is no number, too
            remedy = f"Give months from 0 to {OLDEST_MONTHS}, or leave it out."
            raise UsageError(f"{self.age_months:g} months is no age of a child", remedy=remedy)


def clips_of(places: Sequence[Path]) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """The places in order, in a folder's stead the clips in and below it by name; and notes on a folder's other files.

    Raises InputError for a folder without a clip.
    """
    clips: list[Path] = []
    notes: list[str] = []
    for place in places:
        if not place.is_dir():
            clips.append(place)
            continue
        folder = read_folder(place)
        if not folder.videos:
            raise InputError("there is no clip in this folder", where=str(place), remedy="Name a folder that holds videos.")
        clips += [place / name for name in folder.videos]
        notes += _others(folder)
    return tuple(clips), tuple(notes)


def _others(folder: Folder) -> Iterator[str]:
    others = sorted(set(folder.files.values()) - set(folder.videos))
    if others:
        more = f" and {len(others) - LISTED} more" if len(others) > LISTED else ""
        yield f"{folder.root}: not clips by their names, left out: {', '.join(others[:LISTED])}{more}"
    yield from (f"{folder.root / name}: left out: {reason}" for name, reason in folder.refused.items())


def read_asked(path: Path, videos: Path, catalogue: Catalogue) -> tuple[tuple[Asked, ...], tuple[str, ...]]:
    """The list's rows in order, their clips found under `videos`; and notes.

    Raises InputError with every wrong cell, unknown item, missing clip and repeated row at once.
    """
    problems = Problems(str(path))
    names = {spelling: name for spelling, name in HEADINGS.items() if name in _USED}
    table = read_table(path, problems, Headings(names, _REQUIRED))
    rows = [(row.line, by_name(table, row)) for row in table.rows]
    if not rows:
        problems.add(0, None, "there is no row below the headings")
    _refuse_items(rows, catalogue, problems)
    folder = read_folder(videos)
    found = find_clips(((cells["video"], line) for line, cells in rows if cells["video"]), folder, problems)
    _refuse_repeated(rows, found, problems)
    ages = [age_of(line, cells.get("age_months", ""), table.separator != ",", problems) for line, cells in rows]
    problems.raise_if_any()
    asked = (
        Asked(videos / str(found[cells["video"]]), cells["item"], age, cells.get("child") or None)
        for (_, cells), age in zip(rows, ages, strict=True)
    )
    return tuple(asked), (*table.notes, *matching_notes(found, folder, 0))


def _refuse_items(rows: Sequence[_Row], catalogue: Catalogue, problems: Problems) -> None:
    refuse_damaged(rows, catalogue, problems)
    for line, cells in rows:
        code = cells["item"]
        for name in _REQUIRED:
            if not cells[name]:
                problems.add(line, name, "the cell is empty")
        if code and code not in catalogue and not item_damage(code):
            said = f"there is no item {code!r} in the run's catalogue. {catalogue.nearest(code)}"
            problems.add(line, "item", said, remedy="A run assesses the items of its own catalogue.toml.")


def _refuse_repeated(rows: Sequence[_Row], found: Mapping[str, str | None], problems: Problems) -> None:
    first: dict[tuple[str, str], int] = {}
    for line, cells in rows:
        clip, code = found.get(cells["video"]), cells["item"]
        if clip and code and first.setdefault((clip, code), line) != line:
            said = f"{cells['video']!r} with item {code} stands on line {first[clip, code]} already"
            problems.add(line, None, said, remedy="Remove one of the two rows.")
