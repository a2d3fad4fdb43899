"""The mark of a run that `srlite purge` has taken a child out of: purged.json. It says when, and never whom."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from srlite.errors import InputError
from srlite.files import write_private

NAME = "purged.json"


@dataclass(frozen=True, slots=True)
class Mark:
    """`days`: on which records were taken out (ISO dates, UTC). `trained`: an adapter or checkpoint had learnt from some."""

    days: tuple[str, ...]
    trained: bool


def read_mark(run: Path) -> Mark | None:
    """None where nothing was purged. Raises InputError when the mark cannot be read."""
    path = run / NAME
    if not path.exists():
        return None
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return Mark(tuple(values["days"]), bool(values["trained"]))
    except (OSError, ValueError, TypeError, KeyError) as error:
        said = f"it cannot be told what was purged from the run: {error}"
        raise InputError(said, where=str(path), remedy="Restore the file from a copy of the run.") from None


def add_mark(run: Path, day: str, *, trained: bool) -> None:
    """Before the records go. To mark the same twice is to mark it once: a purge that was killed is run again."""
    before = read_mark(run) or Mark((), False)
    mark = Mark(tuple(sorted({*before.days, day})), before.trained or trained)
    if mark != before:
        write_private(run / NAME, json.dumps(asdict(mark)) + "\n")


def refuse_resuming(run: Path) -> None:
    """Raises InputError for a run that lost records: what it would go on with is not what it was begun with."""
    if mark := read_mark(run):
        raise InputError(
            f"records were purged from this run on {', '.join(mark.days)}: it cannot go on as it was begun",
            where=str(run),
            remedy="Begin a new run with the records that are left.",
        )


def explained(run: Path, error: InputError) -> InputError:
    """`error`, which says that records are not those of the run; where some were purged, with what to do about that."""
    mark = read_mark(run)
    if mark is None:
        return error
    days = ", ".join(mark.days)
    remedy = f"Records were purged from this run on {days} (srlite purge): take them out of items.csv, too, or begin a new run."
    return InputError(error.message, where=error.where, remedy=remedy)
