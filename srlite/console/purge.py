"""The page of `srlite purge`: what is, or would be, removed; what is left, and why."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text

from srlite.console import Screen, counted
from srlite.escape import plain


def show_purge(screen: Screen, document: Mapping) -> None:
    verb = "removed" if document["done"] else "to be removed"
    rows = [(r["file"], f"{r['count']:,}", r["what"]) for r in document["removed"]]
    if rows:
        screen.table(f"Child {plain(document['child'])}: {verb}", ("from", "", "what"), rows)
    else:
        screen.out.print(f"nothing is {verb}", markup=False)
    for run in document["runs"]:
        clips = counted(len(run["clips"]), "clip")
        screen.out.print(Text(plain(f"{run['run']}: {clips} ({', '.join(run['sides'])}): {', '.join(run['clips'])}")))
    for path in document["left"]:
        screen.out.print(Text(plain(f"! {path} names the child and is not srlite's own: look at it yourself"), style="yellow"))
    for note in document["notes"]:
        screen.out.print(Text(plain(f"! {note}."), style="yellow"))
