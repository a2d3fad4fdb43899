"""The three sides of a split, and the report on them: counts per item, what stands on more than one side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from srlite.records.spellings import SIDES, child_key
from srlite.types import Record


@dataclass(frozen=True, slots=True)
class SideCount:
    """How many records of an item stand on a side."""

    item: str
    side: str
    passed: int
    failed: int


@dataclass(frozen=True, slots=True)
class SplitReport:
    """counts: per item and side. child_overlap, clip_overlap: children and clips that stand on more than one
    side.

    notes: sentences for the user: the sizes, the overlap, the items that lack an outcome on a side.
    """

    counts: tuple[SideCount, ...]
    child_overlap: tuple[str, ...]
    clip_overlap: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def overlap(self) -> str:
        """The sentence on it, which is one of the notes."""
        return _overlap_words(self.child_overlap, self.clip_overlap)


@dataclass(frozen=True, slots=True)
class Split:
    """Three sides without a record in common; each sorted by clip and item."""

    train: tuple[Record, ...]
    validation: tuple[Record, ...]
    test: tuple[Record, ...]

    def side(self, name: str) -> tuple[Record, ...]:
        return {"train": self.train, "validation": self.validation, "test": self.test}[name]

    @property
    def report(self) -> SplitReport:
        return _report(self)


def _report(split: Split) -> SplitReport:
    counts = Counter((r.item, side, r.outcome) for side in SIDES for r in split.side(side))
    items = sorted({item for item, _, _ in counts})
    table = tuple(
        SideCount(item, side, counts[item, side, "pass"], counts[item, side, "fail"]) for item in items for side in SIDES
    )
    children = _overlap(split, lambda r: child_key(r.child) if r.child else None)
    clips = _overlap(split, lambda r: r.clip)
    return SplitReport(table, children, clips, _notes(split, table, children, clips))


def _overlap(split: Split, of: Callable[[Record], str | None]) -> tuple[str, ...]:
    sides = [{of(r) for r in split.side(side)} - {None} for side in SIDES]
    return tuple(sorted({name for a, b in combinations(sides, 2) for name in a & b if name}))


def _notes(split: Split, table: Sequence[SideCount], children: Sequence[str], clips: Sequence[str]) -> tuple[str, ...]:
    everyone = [r for side in SIDES for r in split.side(side)]
    notes = [", ".join(f"{side} {len(split.side(side))}" for side in SIDES) + " records"]
    notes.append(_overlap_words(children, clips))
    if unnamed := sum(not r.child for r in everyone):
        notes.append(f"{unnamed} records name no child: whether a child is on two sides cannot be known for them")
    for side in SIDES:
        lacking = [c.item for c in table if c.side == side and split.side(side) and not (c.passed and c.failed)]
        if lacking:
            notes.append(f"{side} has not both outcomes of {', '.join(lacking)}")
    return tuple(notes)


def _overlap_words(children: Sequence[str], clips: Sequence[str]) -> str:
    return f"children on more than one side: {len(children)}; clips on more than one side: {len(clips)}"
