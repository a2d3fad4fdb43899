"""Pages about reviews: what was taken in, whether the chain holds, what was written."""

from __future__ import annotations

from collections.abc import Mapping

from srlite.console import Screen, counted

_UNFINISHED = "the last line was cut off while it was written"


def show_added(screen: Screen, document: Mapping) -> None:
    known = f", {document['known']} were there already" if document["known"] else ""
    screen.out.print(f"{counted(document['added'], 'review')} added{known}", markup=False, soft_wrap=True)
    if document["dropped_unfinished_line"]:
        screen.say(f"{_UNFINISHED}, as by a power cut; it was dropped")
    _chain(screen, document)


def show_verified(screen: Screen, document: Mapping) -> None:
    screen.out.print("the chain holds", markup=False)
    if document["unfinished_line"]:
        screen.say(f"{_UNFINISHED}, as by a power cut: it is no review, and the next `srlite review add` drops it")
    _chain(screen, document)


def show_written(screen: Screen, document: Mapping) -> None:
    left = document["left_out"]
    out = f"; {counted(left, 'review')} left out, with nothing for it" if left else ""
    said = f"{document['out']}: {counted(document['rows'], 'row')}{out}"
    screen.out.print(said, markup=False, soft_wrap=True)


def _chain(screen: Screen, document: Mapping) -> None:
    purged = f", {document['purged']} of them purged" if document["purged"] else ""
    screen.out.print(f"{counted(document['lines'], 'line')}{purged}; head {document['head']}", markup=False, soft_wrap=True)
