"""Which clips show which child, in an items.csv that may be wrong, or out of date, in every other way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from srlite.records.problems import Problems
from srlite.records.spellings import HEADINGS
from srlite.records.table import Headings, read_table


def clips_by_child(path: Path) -> Mapping[str, frozenset[str]]:
    """Child as it is written -> the cells of column `video` in its rows. Raises InputError."""
    problems = Problems(str(path))
    table = read_table(path, problems, Headings(HEADINGS, ("video", "child")))
    problems.raise_if_any()
    video, child = table.columns.index("video"), table.columns.index("child")
    found: dict[str, set[str]] = {}
    for row in table.rows:
        if row.cells[video] and row.cells[child]:
            found.setdefault(row.cells[child], set()).add(row.cells[video])
    return {name: frozenset(cells) for name, cells in found.items()}
