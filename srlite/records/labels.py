"""labels.csv: descriptions with a person's answers to the judge's questions, to see whether a judge agrees with people.

One description a row: `item`, `description`, and a column for each question that was answered: evidence, met, relevant,
well_formed, abstains, echo (yes or no; an empty cell was not answered). A description may be empty; a ' that was put in front
of one against formulas (escape.inert) is taken away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from srlite.errors import InputError
from srlite.escape import original
from srlite.records.catalogue import Catalogue
from srlite.records.problems import Problems
from srlite.records.spellings import ANSWERS, word
from srlite.records.table import Headings, read_table
from srlite.types import Item

QUESTION_COLUMNS = ("evidence", "met", "relevant", "well_formed", "abstains", "echo")
COLUMNS = ("item", "description", *QUESTION_COLUMNS)


@dataclass(frozen=True, slots=True)
class Label:
    """`answers`: question id -> what the person answered; questions that were not answered are not there."""

    item: Item
    description: str
    answers: Mapping[str, bool]


def read_labels(path: Path, catalogue: Catalogue) -> tuple[Label, ...]:
    """Raises InputError with every unknown item and answer of the file at once, or when nothing is answered in it."""
    problems = Problems(str(path))
    table = read_table(path, problems, Headings({name: name for name in COLUMNS}, ("item", "description")))
    labels = []
    for row in table.rows:
        cells = {name: cell for name, cell in zip(table.columns, row.cells, strict=True) if name}
        answers = {}
        for name in QUESTION_COLUMNS:
            if not (cell := cells.get(name, "")):
                continue
            if (answer := ANSWERS.get(word(cell))) is None:
                problems.add(row.line, name, f"{cell!r} is no answer", remedy="Answer yes or no, or leave the cell empty.")
            answers[name] = answer == "yes"
        if cells["item"] not in catalogue:
            near = catalogue.nearest(cells["item"])
            problems.add(row.line, "item", f"there is no item {cells['item']!r} in the catalogue", remedy=near)
        else:
            labels.append(Label(catalogue[cells["item"]], original(cells["description"]), answers))
    problems.raise_if_any()
    if not any(label.answers for label in labels):
        remedy = f"Answer some of the questions in columns of these names: {', '.join(QUESTION_COLUMNS)}."
        raise InputError("nobody has answered anything in this file", where=str(path), remedy=remedy)
    return tuple(labels)
