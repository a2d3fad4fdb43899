"""The CSV that the report's review mode saves: one review a row, validated as a whole before anything is kept.

    run  clip  clip_sha256  item  description  decision     what was reviewed, as it stands in evaluation.json
    review  human_decision  reason  note                    agree; or overrule with a decision and why; or neither
    reads_as                                                what the description as it is written says of the child
    corrected_description                                   what it should have said
    reviewer  when                                          who, and the moment in UTC (ISO 8601)

Cells that a spreadsheet would run as a formula have a ' in front (escape.inert). Nothing of a person's is guessed: a row that
contradicts itself is refused with its line and column, and with it the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, ValidationError, model_validator

from srlite.escape import original
from srlite.records.problems import Problems
from srlite.records.table import Headings, Row, read_table
from srlite.types import Decision

Reason = Literal["temporal", "misread", "no_evidence", "other"]
"""The paper's kinds of error (an attribute in time missed, an action misread under the criterion, no evidence), and others."""


def _utc(text: str) -> str:
    moment = datetime.fromisoformat(text)
    if moment.utcoffset() != timedelta(0):
        raise ValueError("the moment is not in UTC, as 2026-07-01T09:30:00Z is")
    return text


Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Text = Annotated[str, StringConstraints(min_length=1)]
Moment = Annotated[str, AfterValidator(_utc)]


class Review(BaseModel):
    """One row. `decision` is None where there was none (unscored); `review` where a person only said what the description reads
    as, or how it should read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: Text
    clip: Text
    clip_sha256: Sha256
    item: Text
    description: str
    decision: Decision | None
    review: Literal["agree", "overrule"] | None
    human_decision: Decision | None
    reason: Reason | None
    note: str
    reads_as: Decision | None
    corrected_description: str
    reviewer: Text
    when: Moment

    @model_validator(mode="after")
    def _means_one_thing(self) -> Review:
        if self.review == "overrule" and (self.human_decision is None or not (self.reason or self.note)):
            raise ValueError("whoever overrules says what they decide (human_decision) and why (reason, or note)")
        if self.review == "agree" and self.human_decision not in (None, self.decision):
            raise ValueError(f"an agreement cannot have another decision: {self.human_decision!r}")
        if self.review is None and self.human_decision:
            raise ValueError("a person's decision without agree or overrule in the column review")
        if not (self.review or self.reads_as or self.corrected_description or self.note):
            raise ValueError("the row says nothing")
        return self


COLUMNS = tuple(Review.model_fields)
_WORDS = {
    "decision": get_args(Decision),
    "review": ("agree", "overrule"),
    "human_decision": get_args(Decision),
    "reason": get_args(Reason),
    "reads_as": get_args(Decision),
}
"""What a column may say. Each of these may also be empty: nothing."""
_MAY_BE_EMPTY = (*_WORDS, "description", "note", "corrected_description")
_SAVE_AGAIN = "Save the reviews again in the report's review mode, and add that file as it is."
_ROW = "Mend the row, or make this review anew in the report's review mode."


def read_reviews(path: Path, problems: Problems) -> list[tuple[int, Review]]:
    """(physical line, review) of every row that is right; what is wrong with the others goes to `problems`.

    Raises InputError when there is no such file, or a column is missing.
    """
    table = read_table(path, problems, Headings({name: name for name in COLUMNS}, COLUMNS))
    if not table.rows and not problems:
        problems.add(0, None, "there is no review in the file")
    rows = _whole(table.rows, problems)
    found = ((row.line, _review(table.columns, row, problems)) for row in rows)
    return [(line, review) for line, review in found if review]


def _whole(rows: Sequence[Row], problems: Problems) -> Sequence[Row]:
    """Without a last row that was cut off, which is one problem, not one for each cell that it lacks."""
    if not rows or not rows[-1].lacking:
        return rows
    there = len(rows[-1].cells) - rows[-1].lacking
    said = f"the last row has {there} of {len(rows[-1].cells)} cells: the file seems cut off there"
    problems.add(rows[-1].line, None, said, remedy=_SAVE_AGAIN)
    return rows[:-1]


def _review(columns: tuple[str, ...], row: Row, problems: Problems) -> Review | None:
    cells = {name: original(cell) for name, cell in zip(columns, row.cells, strict=True) if name}
    try:
        return Review.model_validate(cells | {name: cells[name] or None for name in _WORDS})
    except ValidationError as error:
        for fault in error.errors():
            column = str(fault["loc"][0]) if fault["loc"] else None
            said, remedy = _plainly(column, cells[column]) if column else (str(fault["ctx"]["error"]), _ROW)
            problems.add(row.line, column, said, remedy=remedy)
        return None


def _plainly(column: str, cell: str) -> tuple[str, str]:
    """What is wrong with a cell that was refused, and what mends it."""
    if not cell:
        return "the cell is empty", f"Only {', '.join(_MAY_BE_EMPTY)} may be empty. {_SAVE_AGAIN}"
    if column == "clip_sha256":
        return f"{cell!r} is not a SHA-256 (64 digits 0-9 and a-f)", _SAVE_AGAIN
    if column == "when":
        remedy = "The column when has the moment in UTC as the report saved it, such as 2026-07-01T09:30:00Z: restore it."
        return f"{cell!r} is {_no_moment(cell)}", remedy
    words = ", ".join(_WORDS[column])
    return f"{cell!r} is not one of: {words}", f"In the column {column} write one of: {words}; or leave the cell empty."


def _no_moment(cell: str) -> str:
    try:
        datetime.fromisoformat(cell)
    except ValueError:
        return "not a date and time"
    return "not in UTC"
