"""Gathers everything that is wrong with one file, so that a clinic mends it in one go.

`Problems` is the one mutable thing of this room: readers add to it while they go, and one RowProblems at the
end lists the first `LISTED` by line, counts the rest, and gives each remedy once.
"""

from __future__ import annotations

from dataclasses import dataclass

from srlite.errors import InputError

LISTED = 20


@dataclass(frozen=True, slots=True)
class Problem:
    """`line` is the physical line in the file (0: the whole file), `column` the heading or None."""

    line: int
    column: str | None
    text: str

    def __str__(self) -> str:
        place = ", ".join(
            part
            for part in (
                f"line {self.line}" if self.line else "",
                f"column {self.column}" if self.column else "",
            )
            if part
        )
        return f"{place}: {self.text}" if place else self.text


class RowProblems(InputError):
    """Everything that is wrong with one file: the message lists the first of them, `found` has all, by line."""

    def __init__(self, message: str, *, where: str, remedy: str | None, found: tuple[Problem, ...]):
        super().__init__(message, where=where, remedy=remedy)
        self.found = found


class Problems:
    """A collector for one file or folder, named by `where`."""

    def __init__(self, where: str):
        self.where = where
        self.found: list[Problem] = []
        self.remedies: list[str] = []

    def __len__(self) -> int:
        return len(self.found)

    def add(self, line: int, column: str | None, text: str, *, remedy: str | None = None) -> None:
        self.found.append(Problem(line, column, text))
        if remedy and remedy not in self.remedies:
            self.remedies.append(remedy)

    def raise_if_any(self) -> None:
        """Raises RowProblems with everything added so far; does nothing when that is nothing."""
        if not self.found:
            return
        ordered = sorted(self.found, key=lambda problem: problem.line)
        if len(ordered) == 1:
            message = str(ordered[0])
        else:
            lines = [f"  {problem}" for problem in ordered[:LISTED]]
            if len(ordered) > LISTED:
                lines.append(f"  ... and {len(ordered) - LISTED} more")
            message = "\n".join([f"{len(ordered)} problems", *lines])
        raise RowProblems(message, where=self.where, remedy="\n".join(self.remedies) or None, found=tuple(ordered))
