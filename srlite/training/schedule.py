"""Which pairs are sampled when: rounds over all training pairs, cut into slices. Everything follows from the seed."""

from __future__ import annotations

import hashlib
import math
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from srlite.config import Settings
from srlite.device.budget import SLICE_PAIRS
from srlite.device.halving import portions
from srlite.records.catalogue import Catalogue
from srlite.records.mismatch import matched_pairs, mismatched_count, mismatched_pairs
from srlite.types import Pair, Record


@dataclass(frozen=True, slots=True)
class Slice:
    """What is sampled, judged and learnt from between two turns. Rounds and slices count from 1."""

    round: int
    number: int
    of: int
    pairs: tuple[Pair, ...]
    wordings: tuple[int, ...]
    """Prompt wording of each pair: 0 canonical, k the k-th paraphrase."""

    @property
    def last(self) -> bool:
        return self.number == self.of


def seed_of(*parts: object) -> int:
    """A 63-bit seed that depends on every part and on nothing else."""
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def round_pairs(
    records: Sequence[Record], known: Sequence[Record], catalogue: Catalogue, settings: Settings, number: int
) -> tuple[Pair, ...]:
    """The matched pairs of the training records whose turn it is, and fresh mismatched ones, shuffled."""
    matched = matched_pairs(turns(records, settings.schedule.max_imbalance, seed=settings.seed, number=number))
    count = mismatched_count(len(matched), share=settings.schedule.mismatched_share)
    unrelated = mismatched_pairs(records, catalogue, count=count, seed=seed_of(settings.seed, "mismatch", number), known=known)
    pairs = sorted((*matched, *unrelated), key=lambda p: p.id)
    random.Random(seed_of(settings.seed, "order", number)).shuffle(pairs)
    return tuple(pairs)


def turns(records: Sequence[Record], most: float | None, *, seed: int, number: int) -> tuple[Record, ...]:
    """The records of a round: of an item's commoner outcome at most `most` times as many as of its rarer one.

    Those left out come first in the next round, so that over the rounds all are used alike. An item with one outcome only, and
    every item where `most` is None, keeps all its records.
    """
    cells: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in sorted(records, key=lambda r: r.clip):
        cells[record.item, record.outcome].append(record)
    out: list[Record] = []
    for (item, outcome), found in cells.items():
        other = cells.get((item, "fail" if outcome == "pass" else "pass"), found)
        count = min(len(found), math.ceil(len(other) * most)) if most else len(found)
        random.Random(seed_of(seed, "turns", item, outcome)).shuffle(found)
        first = (number - 1) * count
        out += [found[(first + i) % len(found)] for i in range(count)]
    return tuple(out)


def slices(records: Sequence[Record], known: Sequence[Record], catalogue: Catalogue, settings: Settings) -> tuple[Slice, ...]:
    """All slices of a run in order. `known`: every record there is, so that no clip is called unrelated to what it shows."""
    out, size = [], settings.schedule.slice_pairs or SLICE_PAIRS
    for number in range(1, settings.schedule.rounds + 1):
        pairs = round_pairs(records, known, catalogue, settings, number)
        parts = list(portions(pairs, size))
        for at, part in enumerate(parts, start=1):
            wordings = tuple(_wording(catalogue, pair, settings.seed, number) for pair in part)
            out.append(Slice(number, at, len(parts), part, wordings))
    return tuple(out)


def _wording(catalogue: Catalogue, pair: Pair, seed: int, number: int) -> int:
    return seed_of(seed, "wording", number, pair.id) % (1 + len(catalogue[pair.item].paraphrases))


def planned_steps(plan: Sequence[Slice], settings: Settings) -> int:
    """Most optimiser steps that the plan can take."""
    s = settings.schedule
    return sum(-(-len(part.pairs) // s.batch_pairs) * s.epochs for part in plan)
