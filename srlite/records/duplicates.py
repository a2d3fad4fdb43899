"""Rows that speak of the same clip: repeated ones are dropped and counted, contradicting ones are named."""

from __future__ import annotations

from collections.abc import Iterable

from srlite.records.problems import Problems
from srlite.records.spellings import child_key
from srlite.types import Record

_COMPARED = ("outcome", "child", "sex", "age_months", "site", "split", "description")
# A clip shows one child on one day, whatever items it was filmed for.
_OF_THE_CLIP = ("child", "sex", "age_months", "site")


def settle(records: Iterable[Record], problems: Problems) -> tuple[tuple[Record, ...], int]:
    """The records with exact repetitions left out (the first stays), and how many those were.

    To `problems` go: two rows of one clip and item that differ in anything, and two rows of one clip that
    name different children, sexes, ages or sites (an empty cell names nothing).
    """
    kept: dict[tuple[str, str], Record] = {}
    first_of_clip: dict[str, Record] = {}
    dropped = 0
    for record in records:
        key = (record.clip, record.item)
        if earlier := kept.get(key):
            dropped += not _differ(record, earlier, _COMPARED, f"{record.clip!r} with item {record.item}", problems)
            continue
        kept[key] = record
        first = first_of_clip.setdefault(record.clip, record)
        said = [name for name in _OF_THE_CLIP if None not in (getattr(record, name), getattr(first, name))]
        _differ(record, first, said, f"{record.clip!r}", problems)
    return tuple(kept.values()), dropped


def _differ(record: Record, earlier: Record, names: Iterable[str], subject: str, problems: Problems) -> bool:
    """Whether the two differ in one of the fields; each difference is added to `problems`."""
    differences = [name for name in names if _value(record, name) != _value(earlier, name)]
    for name in differences:
        problems.add(
            record.line,
            name,
            f"{subject} has {_shown(record, name)} here, {_shown(earlier, name)} on line {earlier.line}",
            remedy="Decide which row is right and remove or mend the other.",
        )
    return bool(differences)


def _shown(record: Record, name: str) -> str:
    value = getattr(record, name)
    return "nothing" if value is None else repr(value)


def _value(record: Record, name: str) -> object:
    value = getattr(record, name)
    return child_key(value) if name == "child" and value is not None else value
