"""`srlite check`: every row and every clip, before a model is loaded, on the grounds on which training refuses them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from srlite.config import Settings
from srlite.errors import InputError
from srlite.records.clips import read_folder
from srlite.records.dataset import Dataset, read_dataset
from srlite.records.problems import Problem, RowProblems
from srlite.records.sides import Split
from srlite.records.spellings import child_key
from srlite.records.split import unused_column
from srlite.training.job import how_for, split_for
from srlite.training.schedule import slices
from srlite.types import Record
from srlite.video.check import ClipCheck, check_clips

SCHEMA = "srlite.check/1"
Tick = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class ItemCheck:
    """An item's records. `untestable`: why it cannot stand on both sides of a split with both outcomes; None when it can."""

    code: str
    name: str
    passed: int
    failed: int
    children: int
    test_passed: int
    test_failed: int
    untestable: str | None


@dataclass(frozen=True, slots=True)
class Check:
    """What was found. With `problems` there are no records: nothing of the file is used until they are mended."""

    records: int
    problems: tuple[Problem, ...]
    remedy: str | None
    items: tuple[ItemCheck, ...]
    clips: tuple[ClipCheck, ...]
    notes: tuple[str, ...]

    @property
    def refused(self) -> tuple[ClipCheck, ...]:
        return tuple(c for c in self.clips if c.action == "refused")


def check(
    items_csv: Path,
    videos: Path,
    *,
    catalogue: Path | None = None,
    rows_only: bool = False,
    settings: Settings = Settings(),  # noqa: B008  frozen
    tick: Tick = lambda done, total: None,
) -> Check:
    """Check records and clips. Where rows are wrong, every video of the folder is looked at, else those that rows name.

    Raises InputError only where there is nothing to check: no such file or folder, or a file that is no table.
    """
    records, problems, remedy, items, notes = 0, (), None, (), ()
    try:
        data = read_dataset(items_csv, videos, catalogue)
        how, split = how_for(data, settings), _split(data, settings)
        records, items = len(data.records), _items(data, split)
        notes = (*data.notes, *unused_column(data.records, how), f"split: {how}", *split.report.notes)
        notes += _pairs_that_cannot_be(data, split, settings)
        named: Sequence[str] = sorted({r.clip for r in data.records})
    except RowProblems as error:
        problems, remedy, named = error.found, error.remedy, read_folder(videos).videos
    clips = []
    if not rows_only:
        paths = {clip: videos / clip for clip in named}
        for found in check_clips(paths, frames=settings.video.frames, limit_s=settings.video.limit_s):
            clips.append(found)
            tick(len(clips), len(paths))
    return Check(records, problems, remedy, items, tuple(clips), notes)


def check_json(found: Check) -> dict[str, object]:
    """The document of schema srlite.check/1."""
    return {
        "schema": SCHEMA,
        "records": found.records,
        "problems": [asdict(p) for p in found.problems],
        "items": [asdict(i) for i in found.items],
        "clips": [asdict(c) for c in found.clips],
        "notes": list(found.notes),
    }


def _split(data: Dataset, settings: Settings) -> Split:
    """As training would cut the records. What stands in its way is a problem of the rows like any other."""
    try:
        return split_for(data, settings)
    except RowProblems:
        raise
    except InputError as error:
        raise RowProblems(
            error.message, where=error.where or "split", remedy=error.remedy, found=(Problem(0, None, error.message),)
        ) from None


def _pairs_that_cannot_be(data: Dataset, split: Split, settings: Settings) -> tuple[str, ...]:
    """A note when training cannot make the unrelated pairs that it wants: it refuses then, unless it is told to want fewer."""
    try:
        slices(split.train, data.records, data.catalogue, settings)
    except InputError as error:
        return (f"train will refuse: {error.message}. {error.remedy} Or train with --mismatched-share 0.",)
    return ()


def _items(data: Dataset, split: Split) -> tuple[ItemCheck, ...]:
    test = {(c.item, c.side): c for c in split.report.counts}
    by_item: dict[str, list[Record]] = {}
    for record in data.records:
        by_item.setdefault(record.item, []).append(record)
    return tuple(_item(data, code, by_item[code], test[code, "test"]) for code in sorted(by_item))


def _item(data: Dataset, code: str, records: Sequence[Record], test) -> ItemCheck:
    passed = [r for r in records if r.outcome == "pass"]
    failed = [r for r in records if r.outcome == "fail"]
    children = {child_key(r.child) for r in records if r.child}
    return ItemCheck(
        code,
        data.catalogue[code].name,
        len(passed),
        len(failed),
        len(children),
        test.passed,
        test.failed,
        _untestable(passed, "pass") or _untestable(failed, "fail"),
    )


def _untestable(records: Sequence[Record], outcome: str) -> str | None:
    """A child is on one side: an outcome of a single child cannot be trained and tested both."""
    whom = {child_key(r.child) if r.child else r.clip for r in records}
    if not whom:
        return f"no {outcome}"
    return f"{outcome} of one child only" if len(whom) == 1 else None
