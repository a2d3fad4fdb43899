"""The warnings of an assessment: what a person should know before believing it. Each is one sentence.

The clip's own (damage, fewer frames than wanted, ...) come from the video room and stand first. Rules, where one had to be
chosen:
    age     more than a third of the item's age away from it, or more than 6 months
    rate    of an item that hangs on order or duration, fewer than 2 pictures a second
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from srlite.describing import Seen
from srlite.errors import InputError
from srlite.records.asked import Asked
from srlite.training.purged import read_mark
from srlite.training.run import Run
from srlite.types import Item
from srlite.workbench import Workbench

DEMONSTRATION = "made with the bundled demonstration models: they know a drawn world only"
_AGE_SHARE, _AGE_MONTHS = 1 / 3, 6.0
_FRAMES_A_SECOND = 2.0


@dataclass(frozen=True, slots=True)
class Known:
    """Of the run and its models. trained: codes of the items with training records; None where that is not known. purged: some
    of the run's records were taken out after training."""

    demonstration: bool
    trained: frozenset[str] | None
    purged: bool


def known_of(bench: Workbench, run: Run) -> Known:
    """Without a readable split.csv the items trained are not known, and every assessment says so."""
    try:
        return Known(bench.demonstration, run.items_trained(), read_mark(run.folder) is not None)
    except InputError:
        return Known(bench.demonstration, None, purged=False)


def warnings_of(known: Known, seen: Seen, asked: Asked, item: Item) -> tuple[str, ...]:
    """All of them, the clip's own first."""
    models = (DEMONSTRATION,) if known.demonstration else ()
    return (*seen.warnings, *models, *_of_the_item(known, asked, item), *_of_the_clip(seen, item))


def _of_the_item(known: Known, asked: Asked, item: Item) -> Iterator[str]:
    if item.needs_audio:
        yield "this item needs sound, which the descriptor does not hear"
    if known.trained is None:
        yield "whether the adapter saw this item in training is not known: the run's split.csv cannot be read"
    elif item.code not in known.trained:
        gone = "no training record of it is left, and some of the run's were purged: the adapter may never have seen this item"
        yield gone if known.purged else "the adapter never saw this item in training"
    if asked.age_months is None or item.age_months is None:
        return
    limit = min(_AGE_SHARE * item.age_months, _AGE_MONTHS)
    if abs(asked.age_months - item.age_months) > limit:
        ages = f"the child is {asked.age_months:g} months old, the item is for {item.age_months}"
        yield f"{ages}: more than {limit:.2g} months away"


def _of_the_clip(seen: Seen, item: Item) -> Iterator[str]:
    if item.duration_s and seen.duration_s < item.duration_s:
        yield f"the clip is {seen.duration_s:.1f} s long, the item needs {item.duration_s:g} s"
    rate = len(set(seen.times_s)) / seen.duration_s if seen.duration_s else 0.0
    if item.temporal and rate < _FRAMES_A_SECOND:
        yield f"{rate:.1f} pictures a second were looked at: order and duration, on which this item hangs, may be missed"
