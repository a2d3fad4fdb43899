"""items.csv: one record a row, every cell text until it is validated here.

What is not understood is refused, never guessed, and all that is wrong in a file comes in one error. What was
read in a way worth knowing (encoding, outcome spellings, rows left out, look-alike children) is in `notes`.
Left out: whether the clips exist (see clips.py), and which side a record belongs to (see split.py).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from srlite.records.catalogue import Catalogue, ItemText, dangling, merge, where_to_put
from srlite.records.duplicates import settle
from srlite.records.problems import Problems
from srlite.records.spellings import (
    HEADINGS,
    OUTCOMES,
    REQUIRED,
    SEXES,
    child_damage,
    child_key,
    item_damage,
    likeness,
    word,
)
from srlite.records.table import Headings, Row, Table, read_table
from srlite.types import Record

_Value = TypeVar("_Value")
_AS_TEXT = (
    "The original cannot be recovered from the file: format the column as Text in the spreadsheet before "
    "typing or importing, then enter these codes again. (An item code that really is written so needs an "
    "entry in the catalogue.)"
)
OLDEST_MONTHS = 240
# ASCII digits only: float() would also take 3_0, full-width digits, 1e2 and nan.
_AGE = re.compile(r"[0-9]{1,3}(?:\.[0-9]+)?")
_SHOWN = 6


@dataclass(frozen=True, slots=True)
class RecordsFile:
    """`catalogue` is the given one with the item texts of the rows; `notes` are sentences for the user.

    no_outcome, repeated: rows left out because the outcome is empty, and because they repeat an earlier one.
    """

    path: Path
    records: tuple[Record, ...]
    catalogue: Catalogue
    notes: tuple[str, ...]
    encoding: str
    separator: str
    no_outcome: int
    repeated: int


def read_records(path: Path, catalogue: Catalogue) -> RecordsFile:
    """Reads items.csv. Raises InputError with all that is wrong: physical line, column, what, and what to
    do."""
    path = Path(path)
    problems = Problems(str(path))
    table = read_table(path, problems, Headings(HEADINGS, REQUIRED))
    rows = [(row.line, by_name(table, row)) for row in table.rows]
    judged = [(line, cells) for line, cells in rows if cells["outcome"]]
    refuse_damaged(judged, catalogue, problems)
    texts = [text for line, cells in judged if (text := _text(line, cells)) and not _damaged(text.code, catalogue)]
    merged = merge(catalogue, texts, problems)
    known = catalogue.keys() | {text.code for text in texts}
    _refuse_unknown(judged, known, merged, problems)
    decimal_comma = table.separator != ","
    found = [record for line, cells in judged if (record := _record(line, cells, decimal_comma, problems))]
    records, dropped = settle(found, problems)
    if not rows and not problems:
        problems.add(0, None, "there is no row below the headings")
    elif not judged and not problems:
        problems.add(0, "outcome", f"none of the {len(rows)} rows has an outcome")
    problems.raise_if_any()
    no_outcome = len(rows) - len(judged)
    notes = [*table.notes, *_left_out(no_outcome, dropped), _outcomes(judged)]
    notes += [*_children(records), *dangling(merged)]
    return RecordsFile(path, records, merged, tuple(notes), table.encoding, table.separator, no_outcome, dropped)


def by_name(table: Table, row: Row) -> Mapping[str, str]:
    """Our name of a column -> the row's cell."""
    return {name: cell for name, cell in zip(table.columns, row.cells, strict=True) if name}


def _text(line: int, cells: Mapping[str, str]) -> ItemText | None:
    """What the row says of its item; None when it says nothing."""
    said = {name: cells.get(name, "") for name in ("name", "criterion", "guidance", "domain")}
    return ItemText(cells["item"], line, **said) if cells["item"] and any(said.values()) else None


def _damaged(code: str, catalogue: Catalogue) -> str | None:
    return None if code in catalogue else item_damage(code)


def refuse_damaged(rows: Iterable[tuple[int, Mapping[str, str]]], catalogue: Catalogue, problems: Problems) -> None:
    """Adds a problem for each code or child that looks like what a spreadsheet makes of one."""
    for line, cells in rows:
        item, child = cells["item"], cells.get("child", "")
        if kind := _damaged(item, catalogue):
            problems.add(line, "item", f"{item!r} looks like {kind} that a spreadsheet made of a code", remedy=_AS_TEXT)
        if kind := child_damage(child):
            problems.add(
                line,
                "child",
                f"{child!r} looks like {kind} that a spreadsheet made of an id",
                remedy=_AS_TEXT,
            )


def _refuse_unknown(
    rows: Sequence[tuple[int, Mapping[str, str]]], known: Iterable[str], merged: Catalogue, problems: Problems
) -> None:
    """Names each unknown code once, with its first line and the number of its rows."""
    lines: dict[str, list[int]] = {}
    for line, cells in rows:
        code = cells["item"]
        if code and code not in known and not item_damage(code):
            lines.setdefault(code, []).append(line)
    for code, at in lines.items():
        count = f" ({len(at)} rows)" if len(at) > 1 else ""
        said = f"there is no text for item {code!r}{count}"
        near = f" {merged.nearest(code)}" if len(merged) else ""
        problems.add(at[0], "item", f"{said}.{near}", remedy=where_to_put(code))


def _record(line: int, cells: Mapping[str, str], decimal_comma: bool, problems: Problems) -> Record | None:
    before = len(problems)
    for name in REQUIRED:
        if not cells[name]:
            problems.add(line, name, "the cell is empty")
    outcome = _looked_up(line, "outcome", cells["outcome"], OUTCOMES, problems)
    sex = _looked_up(line, "sex", cells.get("sex", ""), SEXES, problems)
    age_months = age_of(line, cells.get("age_months", ""), decimal_comma, problems)
    if len(problems) > before or outcome is None:
        return None
    return Record(
        clip=cells["video"],
        item=cells["item"],
        outcome=outcome,
        child=cells.get("child") or None,
        sex=sex,
        age_months=age_months,
        site=cells.get("site") or None,
        split=cells.get("split") or None,
        description=cells.get("description") or None,
        line=line,
    )


def _looked_up(line: int, column: str, cell: str, table: Mapping[str, _Value], problems: Problems) -> _Value | None:
    if not cell:
        return None
    value = table.get(word(cell))
    if value is None:
        remedy = f"Known spellings of {column}: {', '.join(table)}."
        if column == "outcome":
            remedy += " Leave the cell empty where nothing was decided; such rows are left out."
        problems.add(line, column, f"{cell!r} is not a known spelling", remedy=remedy)
    return value


def age_of(line: int, cell: str, decimal_comma: bool, problems: Problems) -> float | None:
    """The child's age in months; None for an empty cell, and for one that is no age (a problem)."""
    if not cell:
        return None
    # Where the comma does not separate cells it is the decimal sign of many European spreadsheets.
    number = cell.replace(",", ".") if decimal_comma else cell
    if _AGE.fullmatch(number) and float(number) <= OLDEST_MONTHS:
        return float(number)
    remedy = f"It is the child's age in months on the day of the clip, a number from 0 to {OLDEST_MONTHS}."
    problems.add(line, "age_months", f"{cell!r} is not an age", remedy=remedy)
    return None


def _left_out(without_outcome: int, dropped: int) -> Iterable[str]:
    if without_outcome:
        yield f"{_rows(without_outcome)} without an outcome {_were(without_outcome)} left out"
    if dropped:
        repeat = "repeats" if dropped == 1 else "repeat"
        yield f"{_rows(dropped)} that {repeat} an earlier row exactly {_were(dropped)} dropped"


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _outcomes(rows: Iterable[tuple[int, Mapping[str, str]]]) -> str:
    """Which spelling was read as which outcome, with counts."""
    counts = Counter(cells["outcome"] for _, cells in rows)
    sides = []
    for outcome in ("pass", "fail"):
        spelled = [f"{text!r} {n}" for text, n in sorted(counts.items()) if OUTCOMES[word(text)] == outcome]
        sides.append(f"{outcome} = {', '.join(spelled) or 'none'}")
    return f"outcomes read as {'; '.join(sides)}"


def _children(records: Iterable[Record]) -> Iterable[str]:
    """Notes on ids that are one child in several spellings, and on ids that only look alike."""
    spellings: dict[str, set[str]] = {}
    sexes: dict[str, set[str]] = {}
    for record in records:
        if record.child is not None:
            spellings.setdefault(child_key(record.child), set()).add(record.child)
            sexes.setdefault(child_key(record.child), set()).update({record.sex} - {None})
    alike: dict[str, set[str]] = {}
    for key in spellings:
        alike.setdefault(likeness(key), set()).add(min(spellings[key]))
    if same := [" = ".join(sorted(texts)) for texts in spellings.values() if len(texts) > 1]:
        yield f"child ids taken as one child: {_some(same)}"
    if near := [" / ".join(sorted(texts)) for like, texts in alike.items() if len(texts) > 1 and like]:
        yield f"child ids that look alike but are taken as different children: {_some(near)}"
    if both := [min(spellings[key]) for key, found in sexes.items() if len(found) > 1]:
        yield f"children given as female in one row and male in another: {_some(both)}"


def _some(texts: Sequence[str]) -> str:
    shown = ", ".join(sorted(texts)[:_SHOWN])
    return f"{shown} and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else shown
