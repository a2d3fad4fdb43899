"""What `srlite report` says in the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text

from srlite.console import Screen, counted
from srlite.escape import plain
from srlite.notices import NOT_A_DEVICE


def show_report(screen: Screen, document: Mapping) -> None:
    """The findings, what is missing, and where the file is: the line that a script may read."""
    for sentence in document["findings"]:
        screen.out.print(Text(plain(sentence)))
    for sentence in document["missing"]:
        screen.out.print(Text(plain(f"! {sentence}"), style="yellow"))
    if without := document["without_frames"]:
        screen.say(f"{counted(len(without), 'clip')} without pictures (--videos DIR reads them anew): {without[0]}")
    screen.out.print(plain(f"report: {document['file']}"), markup=False, soft_wrap=True)
    screen.say(NOT_A_DEVICE, "dim")
