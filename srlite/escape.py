"""Text that a user or a model wrote, made harmless for where it is shown. Every output goes through here.

plain     for a terminal and for HTML (where the template escapes markup besides)
inert     for a cell of a CSV file that somebody will open in a spreadsheet; `original` undoes it
"""

from __future__ import annotations

import re

_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def plain(text: str) -> str:
    """`text` without anything that a terminal or a page would obey: control and direction characters become U+FFFD."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def inert(cell: str) -> str:
    """The cell with a ' in front where a spreadsheet would run it as a formula."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def original(cell: str) -> str:
    """What `inert` was given."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell[1:]) else cell
