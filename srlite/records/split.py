"""Which records train, which choose (validation), and which are kept for the test.

`child` is the way to use: a child is on one side for all items. `per-item` is the paper's 90/10, `site` keeps
whole sites for the test, `column` takes what the clinic wrote. All are fixed by the seed and the records, in
any order. The split is saved with a run and read back against the records, so that changed data are noticed.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from srlite.errors import InputError
from srlite.escape import inert, original
from srlite.files import write_private
from srlite.records.balance import held_out
from srlite.records.problems import Problems
from srlite.records.sides import Split
from srlite.records.spellings import SIDES, child_key, side_of
from srlite.types import Record

How = Literal["child", "per-item", "site", "column"]
_COLUMNS = ("clip", "item", "side", "outcome", "child", "age_months")


def default_how(records: Sequence[Record]) -> How:
    """`child` where a child is named anywhere, else what the clinic wrote in `split`, else `per-item`."""
    if any(record.child for record in records):
        return "child"
    return "column" if any(record.split for record in records) else "per-item"


def unused_column(records: Sequence[Record], how: How) -> tuple[str, ...]:
    """A note when rows name a side and the split goes by something else."""
    named = sum(bool(record.split) for record in records)
    if not named or how == "column":
        return ()
    return (f"{named} rows name a side in column split, which is not used: --split column uses it",)


def split_records(records: Sequence[Record], *, how: How, test_fraction: float, validation_fraction: float, seed: int) -> Split:
    """Cuts the records into three sides.

    test_fraction: of all records; validation_fraction: of the records that are not test, and taken from
    those. 0 leaves a side empty. Under `column` the fractions count only where the column names no such side.
    Raises InputError when a record lacks what the split goes by, or there are too few groups to cut.
    """
    ordered = sorted(records, key=lambda r: (r.clip, r.item))
    cut = {"child": _by_child, "per-item": _by_item, "site": _by_site, "column": _by_column}[how]
    return cut(ordered, test_fraction, validation_fraction, seed)


def write_split(split: Split, path: Path) -> None:
    """Writes split.csv (mode 0600). Cells that a spreadsheet would run as a formula get a ' in front."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for side in SIDES:
        for r in split.side(side):
            writer.writerow(inert(cell) for cell in (r.clip, r.item, side, r.outcome, r.child or "", _age(r)))
    write_private(Path(path), out.getvalue())


def saved_split(path: Path) -> Split:
    """The saved split by itself: its records hold clip, item, outcome, child and age alone. Raises InputError."""
    sides: dict[str, list[Record]] = {side: [] for side in SIDES}
    for (clip, item), row in _saved(Path(path)).items():
        age = float(row.age_months) if row.age_months else None
        sides[row.side].append(Record(clip, item, row.outcome, child=row.child or None, age_months=age))
    return Split(*(tuple(sides[side]) for side in SIDES))


def children_of(path: Path) -> Mapping[str, str]:
    """The children of the saved split: `child_key` of the id -> the id as it is written there first. Raises InputError."""
    written = [original(row[_COLUMNS.index("child")]) for row in _rows(Path(path))[1:]]
    return {child_key(child): child for child in reversed(written) if child}


def read_split(path: Path, records: Sequence[Record]) -> Split:
    """The saved split, with the records given. Raises InputError when they are not those that were split."""
    saved = _saved(Path(path))
    now = {(r.clip, r.item): r for r in records}
    problems = Problems(str(path))
    for key in sorted(saved.keys() | now.keys()):
        if said := _change(saved.get(key), now.get(key)):
            line = now[key].line if key in now else 0
            problems.add(line, None, f"{key[0]!r} with item {key[1]}: {said}", remedy=_CHANGED)
    problems.raise_if_any()
    return _split({key: row.side for key, row in saved.items()}, sorted(now.values(), key=_key))


def items_on(path: Path, side: str) -> frozenset[str]:
    """Codes of the items that have a record on that side of the saved split. Raises InputError when it cannot be read."""
    return frozenset(item for (_, item), row in _saved(Path(path)).items() if row.side == side)


def split_without(path: Path, clips: Collection[str]) -> tuple[str, int]:
    """The saved split's text without the rows of these clips, and how many those are. Raises InputError."""
    heading, *rows = _rows(path)
    kept = [row for row in rows if original(row[0]) not in clips]
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows([heading, *kept])
    return out.getvalue(), len(rows) - len(kept)


_CHANGED = (
    "The records are not those that the run was started with. Give it the items.csv and videos of its start, "
    "or start a new run."
)


def _key(record: Record) -> tuple[str, str]:
    return record.clip, record.item


def _split(sides: Mapping[tuple[str, str], str], records: Sequence[Record]) -> Split:
    return Split(*(tuple(r for r in records if sides[_key(r)] == side) for side in SIDES))


def _by_child(records: Sequence[Record], test: float, validation: float, seed: int) -> Split:
    _require(
        records,
        "child",
        "A row without a child cannot be kept off the other side: fill the column in, or split with --split per-item.",
    )
    _one_child_a_clip(records)
    kept, tested = _cut(records, lambda r: child_key(r.child or ""), "children", test, seed)
    train, valid = _cut(kept, lambda r: child_key(r.child or ""), "training children", validation, seed + 1)
    return Split(train, valid, tested)


def _by_item(records: Sequence[Record], test: float, validation: float, seed: int) -> Split:
    def own(record: Record) -> str:
        return f"{record.clip}\n{record.item}"

    kept, tested = _cut_items(records, own, test, seed)
    train, valid = _cut_items(kept, own, validation, seed + 1)
    return Split(*(tuple(sorted(side, key=_key)) for side in (train, valid, tested)))


def _by_site(records: Sequence[Record], test: float, validation: float, seed: int) -> Split:
    _require(records, "site", "Fill the column in, or split another way.")
    kept, tested = _cut(records, lambda r: child_key(r.site or ""), "sites", test, seed)
    train, valid = _cut(kept, _child_or_clip, "training children", validation, seed + 1)
    return Split(train, valid, tested)


def _by_column(records: Sequence[Record], test: float, validation: float, seed: int) -> Split:
    problems = Problems("column split")
    for r in records:
        if side_of(r.split or "") is None:
            problems.add(r.line, "split", f"{r.split or ''!r} is no side", remedy=f"Sides: {', '.join(SIDES)}.")
    problems.raise_if_any()
    named = _split({_key(r): side_of(r.split or "") or "" for r in records}, records)
    train, valid, tested = named.train, named.validation, named.test
    if not tested:
        train, tested = _cut(train, _child_or_clip, "training children", test, seed)
    if not valid:
        train, valid = _cut(train, _child_or_clip, "training children", validation, seed + 1)
    return Split(train, valid, tested)


def _child_or_clip(record: Record) -> str:
    return f"child {child_key(record.child)}" if record.child else f"clip {record.clip}"


def _cut(
    records: Sequence[Record], group: Callable[[Record], str], what: str, fraction: float, seed: int
) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    """(kept, held out), whole groups on either side."""
    if fraction == 0:
        return tuple(records), ()
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(group(record), []).append(record)
    if len(groups) < 2:
        raise InputError(
            f"{len(groups)} {what} cannot be cut into two sides",
            where="split",
            remedy="Add records of others, split another way, or set the fraction of that side to 0.",
        )
    out = held_out(groups, fraction=fraction, seed=seed)
    return (
        tuple(r for r in records if group(r) not in out),
        tuple(r for r in records if group(r) in out),
    )


def _cut_items(
    records: Sequence[Record], own: Callable[[Record], str], fraction: float, seed: int
) -> tuple[list[Record], list[Record]]:
    """Each item by itself; an item with a single record is kept whole."""
    kept: list[Record] = []
    out: list[Record] = []
    for item in sorted({r.item for r in records}):
        mine = [r for r in records if r.item == item]
        stay, go = _cut(mine, own, "records", fraction, seed) if len(mine) > 1 else (mine, ())
        kept += stay
        out += go
    return kept, out


def _require(records: Sequence[Record], column: str, remedy: str) -> None:
    problems = Problems("split")
    for record in records:
        if not getattr(record, column):
            problems.add(record.line, column, "the cell is empty", remedy=remedy)
    problems.raise_if_any()


def _one_child_a_clip(records: Sequence[Record]) -> None:
    first: dict[str, Record] = {}
    problems = Problems("split")
    for r in records:
        other = first.setdefault(r.clip, r)
        if child_key(other.child or "") != child_key(r.child or ""):
            said = f"{r.clip!r} shows {r.child!r} here and {other.child!r} on line {other.line}"
            problems.add(r.line, "child", said, remedy="A clip shows one child: mend the row that is wrong.")
    problems.raise_if_any()


@dataclass(frozen=True, slots=True)
class _Saved:
    """A row of split.csv: all that the training of a record depends on."""

    side: str
    outcome: str
    child: str
    age_months: str


def _age(record: Record) -> str:
    return "" if record.age_months is None else f"{record.age_months:g}"


def _saved(path: Path) -> dict[tuple[str, str], _Saved]:
    """(clip, item) -> what was written of the record"""
    plain = ([original(cell) for cell in row] for row in _rows(path)[1:])
    return {(clip, item): _Saved(side, outcome, child_key(child), age) for clip, item, side, outcome, child, age in plain}


def _rows(path: Path) -> list[list[str]]:
    """Of a saved split, its headings first, as they are written."""
    try:
        rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline=""), strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"the saved split cannot be read: {error}", where=str(path)) from error
    if not rows or tuple(rows[0]) != _COLUMNS or any(len(r) != len(_COLUMNS) or r[2] not in SIDES for r in rows[1:]):
        raise InputError("this is no saved split, or it was changed", where=str(path), remedy="Start a new run.")
    return rows


def _change(saved: _Saved | None, record: Record | None) -> str | None:
    if saved is None:
        return "new since the split was made"
    if record is None:
        return "was in the split and is gone"
    now = _Saved(saved.side, record.outcome, child_key(record.child or ""), _age(record))
    for name in ("outcome", "child", "age_months"):
        was, became = getattr(saved, name), getattr(now, name)
        if was != became:
            return f"the {name} was {was!r} and is now {became!r}"
    return None
