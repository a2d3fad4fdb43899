"""Ctrl-C during training: once to stop as soon as nothing is lost by it, twice to quit at once.

Sampled groups, verdicts and read clips are on the disk when they are told of, so a run stops at the next of these. An update
is finished first, and its checkpoint written: stopping in its middle would cost all of it.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from srlite.training.progress import Event, Note, Progress, Tell

WAITING = "stopping as soon as what is in hand is on the disk; Ctrl-C again quits at once, and loses it"


@contextmanager
def gentle_interrupt(tell: Tell, *, note: Callable[[str], None]) -> Iterator[Tell]:
    """A `tell` for a training run that raises KeyboardInterrupt at the right moment. Only in the main thread."""
    asked = False

    def first(number: int, frame: object) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        note(WAITING)

    def heard(event: Event) -> None:
        tell(event)
        if asked and _nothing_in_hand(event):
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, first)
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, before)


def _nothing_in_hand(event: Event) -> bool:
    if isinstance(event, Progress):
        return event.phase != "update"
    return not isinstance(event, Note)
