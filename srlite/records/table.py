"""From the bytes of a CSV file to rows of text with their physical lines. Knows nothing of what the columns
mean besides the headings, which tell the separator.

Encodings: UTF-16 with its mark, UTF-8 with or without mark, else GB18030 (said in a note). Latin-1 is never
tried: it decodes anything, so it would hide every mistake. Separators: comma, semicolon, tab, or what a
`sep=` line names.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from srlite.errors import InputError
from srlite.records.problems import Problems
from srlite.records.spellings import plain, word

_SAVE_AS = 'Save it from the spreadsheet as "CSV UTF-8 (comma delimited)" and try again.'
_SEPARATORS = (",", ";", "\t")
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab"}


@dataclass(frozen=True, slots=True)
class Row:
    """`cells[i]` belongs to `Table.columns[i]`; trimmed, as many as there are columns. `lacking`: of them the last ones that
    the line does not have, and that are empty here."""

    line: int
    cells: tuple[str, ...]
    lacking: int = 0


@dataclass(frozen=True, slots=True)
class Headings:
    """`names`: spelling of a heading -> our name for it. `required`: our names of the columns that must be there."""

    names: Mapping[str, str]
    required: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """`columns`: our names of the headings, "" for a column that is not used."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    encoding: str
    separator: str
    notes: tuple[str, ...]


def read_table(path: Path, problems: Problems, headings: Headings) -> Table:
    """Reads the whole file. A row that cannot be cut into cells goes to `problems`.

    Raises InputError when there is no such file, it is no text, or the required headings are missing.
    """
    text, encoding, notes = decode(_bytes(path), str(path))
    separator, first_line, body = _separator(text, headings)
    lines = _rows(body, separator, first_line, problems)
    heading_line, found = next(((at, cells) for at, cells in lines if any(map(plain, cells))), (0, []))
    columns, heading_notes = _columns(found, headings, separator, f"{path}, line {heading_line}")
    rows, blank = [], 0
    for line, cells in lines:
        if not any(map(plain, cells)):
            blank += bool(cells)  # an empty line at the end is no row; ",,," is one
        elif row := _fitted(line, cells, len(columns), problems):
            rows.append(row)
    if blank:
        notes.append(f"{blank} blank row{'s' if blank > 1 else ''} skipped")
    return Table(columns, tuple(rows), encoding, separator, tuple(notes + heading_notes))


def decode(data: bytes, where: str) -> tuple[str, str, list[str]]:
    """Text, name of the encoding, notes. Raises InputError for workbooks, binary files and undecodable
    text."""
    _refuse_workbook(data, where)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            return data.decode("utf-16"), "utf-16", ['read as UTF-16 ("Unicode text")']
        except UnicodeDecodeError as error:
            raise InputError("begins like UTF-16 but is cut off or damaged", where=where, remedy=_SAVE_AS) from error
    if b"\0" in data:
        raise InputError("not a text file: it contains null bytes", where=where, remedy=_SAVE_AS)
    try:
        return data.decode("utf-8-sig"), "utf-8", []
    except UnicodeDecodeError as error:
        return (
            _chinese(data, error, where),
            "gb18030",
            ["not UTF-8, so read as GB18030 (Chinese spreadsheets)"],
        )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        beside = [p.name for p in path.parent.glob("*.csv")] if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, beside, n=1)
        raise InputError(
            "no such file", where=str(path), remedy=f"Did you mean {path.parent / near[0]}?" if near else None
        ) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error


def _refuse_workbook(data: bytes, where: str) -> None:
    if data.startswith(b"PK\x03\x04"):
        kind = "an Excel workbook (.xlsx)" if b"xl/" in data else "a zip archive or another spreadsheet's workbook"
    elif data.startswith(b"\xd0\xcf\x11\xe0"):
        kind = "an old Excel workbook (.xls)"
    elif not data.strip():
        raise InputError("the file is empty", where=where, remedy="`srlite init` writes a template.")
    else:
        return
    raise InputError(f"this is {kind}, whatever its name says, not a CSV file", where=where, remedy=_SAVE_AS)


def _chinese(data: bytes, error: UnicodeDecodeError, where: str) -> str:
    """GB18030, unless the bytes rather are damaged UTF-8 or a western code page."""
    line = data.count(b"\n", 0, error.start) + 1
    lenient = data.decode("utf-8", errors="replace")
    broken = lenient.count("\ufffd")
    whole = sum(1 for c in lenient if c > "\x7f" and c != "\ufffd")
    if data.startswith(b"\xef\xbb\xbf") or whole > broken:
        raise InputError(
            f"line {line}: UTF-8 text with damaged characters ({broken} in the file)",
            where=where,
            remedy=_SAVE_AS,
        )
    try:
        text = data.decode("gb18030")
    except UnicodeDecodeError:
        text = ""
    # In Latin-1 text an accented letter stands before a plain one; GB18030 takes the two for one rare
    # character whose last byte is ASCII. In Chinese text that is the exception.
    far = [c for c in text if c > "\x7f"]
    if not text or 2 * sum(c.encode("gb18030")[-1] < 0x80 for c in far) >= len(far):
        raise InputError(f"line {line}: neither UTF-8 nor GB18030 text", where=where, remedy=_SAVE_AS)
    return text


def _separator(text: str, headings: Headings) -> tuple[str, int, str]:
    """The separator, the line on which the rest begins, the rest."""
    if named := re.match(r'"?sep=(.)"?(\r\n|\r|\n)', text, re.IGNORECASE):
        return named[1], 2, text[named.end() :]
    return max(_SEPARATORS, key=lambda s: _known(text, s, headings)), 1, text


def _known(text: str, separator: str, headings: Headings) -> tuple[int, int]:
    """How many headings of ours the first line holds with this separator, then how many cells."""
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        cells = next((cells for cells in lines if any(map(plain, cells))), [])
    except csv.Error:
        return 0, 0
    return len({word(cell) for cell in cells} & headings.names.keys()), len(cells)


def _rows(body: str, separator: str, first_line: int, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    """(physical line on which the row begins, cells). Strict: a quote left open is found, not swallowed."""
    reader = csv.reader(io.StringIO(body, newline=""), delimiter=separator, strict=True)
    while True:
        line = reader.line_num + first_line
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problems.add(
                line,
                None,
                f"the row cannot be cut into cells ({error}); nothing after it was read",
                remedy='A quote (") inside a quoted cell is written twice (""); each opened one is closed.',
            )
            return
        yield line, cells


def _columns(found: Sequence[str], headings: Headings, separator: str, place: str) -> tuple[tuple[str, ...], list[str]]:
    columns = tuple(headings.names.get(word(heading), "") for heading in found)
    missing = [name for name in headings.required if name not in columns]
    twice = sorted({name for name in columns if name and columns.count(name) > 1})
    there = ", ".join(repr(plain(heading)) for heading in found)
    if missing:
        raise InputError(
            f"no column {', '.join(missing)}; found, with {_NAMES.get(separator, repr(separator))} as separator: {there}",
            where=place,
            remedy=f"The first line names the columns {', '.join(headings.required)}, cut by comma, semicolon or tab.",
        )
    if twice:
        raise InputError(f"column {', '.join(twice)} stands twice: {there}", where=place, remedy="Rename or remove one.")
    notes = []
    if unused := [plain(h) for h, column in zip(found, columns, strict=True) if not column and plain(h)]:
        notes.append(f"columns not used: {', '.join(unused)}")
    return columns, notes


def _fitted(line: int, cells: Sequence[str], width: int, problems: Problems) -> Row | None:
    """The row with as many cells as there are columns; None when there is text beyond the last column."""
    trimmed = tuple(plain(cell) for cell in cells)
    if any(trimmed[width:]):
        problems.add(
            line,
            None,
            f"{len(cells)} cells where the headings have {width}",
            remedy='A cell that contains the separator needs quotes around it: "first, second".',
        )
        return None
    lacking = max(width - len(trimmed), 0)
    return Row(line, trimmed[:width] + ("",) * lacking, lacking)
