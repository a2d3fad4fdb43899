"""Choosing which groups of records (children, sites, single records) to hold out, alike in item and outcome.

A cell is an (item, outcome). With h the held-out records of a cell, n all of them and f the wanted fraction,
the cost of a choice is

    sum over cells of (h - f n)^2 / n  +  MISSING for each cell that could stand on both sides and does not

a chi-square distance to the even cut, behind the wish that both outcomes of every item are on both sides.
That wish may cost records, but never more than LIMIT times the wanted number. From a start by the seed,
single groups change sides as long as that lowers the cost; where cells are still missing, other starts are
tried. Greedy: it finds a good choice, not always the best one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from srlite.types import Record

# Larger than any sum of the first term, so that no evenness is bought with a missing outcome.
_MISSING = 1e6
_LIMIT = 2.0
_STARTS = 8


def held_out(groups: Mapping[str, Sequence[Record]], *, fraction: float, seed: int) -> frozenset[str]:
    """The names of the groups to hold out, about `fraction` of the records; neither none nor all of them.

    The same for any order of groups and records. Needs at least two groups.
    """
    names = sorted(groups, key=lambda name: _rank(seed, name))
    task = _Task(_counts([groups[name] for name in names]), fraction)
    best, lowest = None, np.inf
    for start in _starts(task):
        chosen = _descend(task, start)
        if (cost := task.cost(chosen)) < lowest:
            best, lowest = chosen, cost
        if task.settled(chosen):
            break
    return frozenset(name for name, taken in zip(names, best, strict=True) if taken)


@dataclass(frozen=True)
class _Task:
    """counts: the records of each group in each cell, (group, cell). A choice is a bool (group,), True: held
    out."""

    counts: np.ndarray
    fraction: float

    @cached_property
    def present(self) -> np.ndarray:  # (group, cell) 1.0 where the group has records of the cell
        return (self.counts > 0).astype(float)

    @cached_property
    def total(self) -> np.ndarray:  # (cell,)
        return self.counts.sum(0)

    @cached_property
    def possible(self) -> np.ndarray:  # (cell,) whether it can stand on both sides at all
        return self.present.sum(0) > 1

    @cached_property
    def sizes(self) -> np.ndarray:  # (group,) records
        return self.counts.sum(1)

    @cached_property
    def square(self) -> np.ndarray:  # (group,) the part of a move's cost that does not depend on the choice
        return (self.counts**2) @ (1 / self.total)

    @property
    def wanted(self) -> float:
        return self.fraction * float(self.total.sum())

    def missing(self, held: np.ndarray) -> int:
        return int((((held == 0) | (held == self.total)) & self.possible).sum())

    def cost(self, chosen: np.ndarray) -> float:
        held = chosen @ self.counts
        uneven = (held - self.fraction * self.total) ** 2 / self.total
        return float(uneven.sum()) + _MISSING * self.missing(held)

    def settled(self, chosen: np.ndarray) -> bool:
        """Good enough to look no further."""
        size = float(chosen @ self.sizes)
        return self.missing(chosen @ self.counts) == 0 and abs(size - self.wanted) <= self.wanted / 2


def _counts(groups: Sequence[Sequence[Record]]) -> np.ndarray:
    cells = sorted({(r.item, r.outcome) for records in groups for r in records})
    place = {cell: at for at, cell in enumerate(cells)}
    counts = np.zeros((len(groups), len(cells)))
    for row, records in enumerate(groups):
        for record in records:
            counts[row, place[record.item, record.outcome]] += 1
    return counts


def _rank(seed: int, name: str) -> bytes:
    """A random place in line that depends on the seed and the name only."""
    return hashlib.sha256(f"{seed}:{name}".encode("utf-8", "surrogatepass")).digest()


def _starts(task: _Task) -> Iterator[np.ndarray]:
    """First the groups in line until the wanted number of records is reached, then single groups."""
    line = np.arange(len(task.sizes))
    nearest = int(np.abs(np.cumsum(task.sizes) - task.wanted).argmin()) + 1
    yield line < min(nearest, len(line) - 1)
    for only in line[:_STARTS]:
        yield line == only


def _descend(task: _Task, start: np.ndarray) -> np.ndarray:
    chosen = start.copy()
    # Each move lowers the cost, so this ends by itself; the bound is for rounding.
    for _ in range(4 * len(chosen)):
        change = _changes(task, chosen)
        best = int(change.argmin())
        if change[best] > -1e-9:
            break
        chosen[best] = ~chosen[best]
    return chosen


def _changes(task: _Task, chosen: np.ndarray) -> np.ndarray:
    """What it would add to the cost if that group changed sides, (group,); inf where it must not."""
    sign = np.where(chosen, -1.0, 1.0)
    held = chosen @ task.counts  # (cell,)
    uneven = sign * (task.counts @ (2 * (held / task.total - task.fraction))) + task.square
    left = np.where(chosen[:, None], held, task.total - held)  # (group, cell) records on the group's own side
    lost = ((left == task.counts) * task.present) @ task.possible
    won = task.present @ (task.possible & ((held == 0) | (held == task.total)))
    change = uneven + _MISSING * (lost - won)
    if chosen.sum() == 1:
        change[chosen] = np.inf
    if chosen.sum() == len(chosen) - 1:
        change[~chosen] = np.inf
    too_many = chosen @ task.sizes + task.sizes > _LIMIT * task.wanted
    change[too_many & ~chosen] = np.inf
    return change
