"""Pairs: the matched ones are the records, the mismatched ones put a clip beside an item it does not show.

The other item comes from another domain than every item the clip has a record for, is related to none of them
in either direction, and has no record for that clip. Left out: looking into the clip; that it does not happen
to show the other item's behaviour rests on these rules.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from srlite.errors import InputError
from srlite.records.catalogue import Catalogue
from srlite.types import Item, Pair, Record


def matched_pairs(records: Sequence[Record]) -> tuple[Pair, ...]:
    """One pair a record, in their order."""
    return tuple(_pair(record, record.item, matched=True) for record in records)


def mismatched_count(matched: int, *, share: float) -> int:
    """How many mismatched pairs make `share` (0 <= share < 1) of all pairs, beside this many matched ones."""
    return round(matched * share / (1 - share))


def mismatched_pairs(
    records: Sequence[Record], catalogue: Catalogue, *, count: int, seed: int, known: Sequence[Record] = ()
) -> tuple[Pair, ...]:
    """`count` different pairs of a clip of `records` and an unrelated item, spread evenly over items, then
    clips.

    known: records of the other sides of a split, so that a clip is not called unrelated to what they say it
    shows. Items that `records` name are used, so that none is only ever seen unrelated; when these cannot
    make up the count, the whole catalogue is. The same for any order of the records. Raises InputError when
    there are too few.
    """
    people, used = _people(records), sorted({r.item for r in records})
    possible: dict[str, list[str]] = {}
    for codes in (used, sorted(catalogue)):
        possible = _possible(codes, records, known, catalogue)
        if sum(map(len, possible.values())) >= count:
            chosen = _spread(possible, count, seed)
            return tuple(_pair(people[clip], item, matched=False) for clip, item in chosen)
    raise _too_few(count, sum(map(len, possible.values())), used, catalogue)


def most_mismatched(records: Sequence[Record], catalogue: Catalogue, *, known: Sequence[Record] = ()) -> int:
    """How many different mismatched pairs `mismatched_pairs` can make of these."""
    return sum(map(len, _possible(catalogue, records, known, catalogue).values()))


def _possible(
    codes: Iterable[str], records: Sequence[Record], known: Sequence[Record], catalogue: Catalogue
) -> dict[str, list[str]]:
    """Code -> clips that the item can be put beside."""
    people, shown = _people(records), _shown([*records, *known], catalogue)
    return {code: _unrelated(catalogue[code], people, shown, catalogue) for code in codes}


def _people(records: Sequence[Record]) -> dict[str, Record]:
    """Clip -> its first record, which says whom it shows."""
    return {r.clip: r for r in sorted(records, key=lambda r: (r.clip, r.item), reverse=True)}


def _pair(record: Record, item: str, *, matched: bool) -> Pair:
    outcome = record.outcome if matched else None
    return Pair(record.clip, item, outcome, record.age_months, record.child, record.sex, record.site)


def _shown(records: Sequence[Record], catalogue: Catalogue) -> Mapping[str, frozenset[str]]:
    """Clip -> codes of the items that it has a record for. Raises InputError for a code without text."""
    shown: dict[str, set[str]] = {}
    for record in records:
        shown.setdefault(record.clip, set()).add(catalogue[record.item].code)
    return {clip: frozenset(codes) for clip, codes in shown.items()}


def _unrelated(
    other: Item, clips: Mapping[str, Record], shown: Mapping[str, frozenset[str]], catalogue: Catalogue
) -> list[str]:
    """The clips that this item can be put beside, sorted."""
    apart = {code for code, item in catalogue.items() if _apart(other, item)}
    return sorted(clip for clip in clips if shown[clip] <= apart)


def _apart(one: Item, two: Item) -> bool:
    """Whether the two are of different, known domains, and neither names the other as related."""
    different = bool(one.domain and two.domain) and one.domain != two.domain
    return different and one.code not in two.related and two.code not in one.related


@dataclass(slots=True)
class _Queue:
    """The clips of one item in a shuffled order. `level`: how often a clip may have been used to be taken
    now."""

    clips: list[str]
    taken: set[str] = field(default_factory=set)
    place: int = 0
    level: int = 0

    def next(self, uses: Mapping[str, int]) -> str | None:
        """A clip not yet taken for this item, among the least used ones as far as one pass tells; None at the
        end."""
        while len(self.taken) < len(self.clips):
            if self.place == len(self.clips):
                self.place, self.level = 0, self.level + 1
            clip = self.clips[self.place]
            self.place += 1
            if clip not in self.taken and uses[clip] <= self.level:
                self.taken.add(clip)
                return clip
        return None


def _spread(possible: Mapping[str, list[str]], count: int, seed: int) -> list[tuple[str, str]]:
    """`count` (clip, item), one item after the other in turns; an item without clips left drops out."""
    queues = {}
    for item, clips in possible.items():
        shuffled = list(clips)
        random.Random(f"{seed}:{item}").shuffle(shuffled)
        queues[item] = _Queue(shuffled)
    turns = sorted(queues)
    random.Random(f"{seed}").shuffle(turns)
    uses = {clip: 0 for clips in possible.values() for clip in clips}
    chosen: list[tuple[str, str]] = []
    while len(chosen) < count:
        for item in turns[: count - len(chosen)]:
            if clip := queues[item].next(uses):
                uses[clip] += 1
                chosen.append((clip, item))
        turns = [item for item in turns if len(queues[item].taken) < len(queues[item].clips)]
    return chosen


def _too_few(count: int, possible: int, used: Sequence[str], catalogue: Catalogue) -> InputError:
    domains = sorted({catalogue[code].domain or "none" for code in used})
    return InputError(
        f"{count} mismatched pairs are wanted, {possible} are possible; the {len(used)} items of the records "
        f"are of these domains: {', '.join(domains)}",
        where="mismatched pairs",
        remedy="Give the items their domain, add records or items of other domains, or ask for fewer pairs.",
    )
