"""srlite purge."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from srlite.cli.guard import guarded
from srlite.cli.options import RUNS, Debug, Json, Quiet
from srlite.errors import Findings, UsageError


@guarded
def purge(
    child: Annotated[str, typer.Option(help="The child's id, as items.csv has it.", show_default=False)],
    runs: Annotated[
        list[Path] | None, typer.Option("--run", help="A run's folder; may be given again. Default: all under runs.")
    ] = None,
    items_csv: Annotated[Path | None, typer.Option(help="Records that name the child's clips; they are only read.")] = None,
    videos: Annotated[Path | None, typer.Option(help="The folder of these clips; they are only read.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would be removed, and remove nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
    *,
    screen,
) -> None:
    """Forget a child: kept frames, and in every run its rows, rollouts, log lines, test cases and reviews, and the report."""
    from srlite.console.purge import show_purge
    from srlite.purging.job import Survey, purge_json, runs_under, survey
    from srlite.purging.job import purge as forget

    if not (dry_run or yes) and (json or not sys.stdin.isatty()):
        said = "what is purged is gone for good, and nobody can be asked here"
        raise UsageError(said, remedy="Look with --dry-run at what would be removed, then give --yes.")
    places = dict(runs=tuple(runs) if runs else runs_under(RUNS), items_csv=items_csv, videos=videos)

    def agreed(found: Survey) -> None:
        if not yes:
            show_purge(screen, purge_json(found, done=False))
            if not _confirmed():
                screen.say("nothing was removed")
                raise typer.Exit()

    found = survey(child, **places) if dry_run else forget(child, **places, agreed=agreed)
    document = purge_json(found, done=not dry_run)
    screen.json(document) if json else show_purge(screen, document)
    if found.strangers:
        said = f"{len(found.strangers)} files that srlite did not write name the child"
        raise Findings(said, remedy="They are listed above: look at them, and remove them yourself.")


def _confirmed() -> bool:
    try:
        return typer.confirm("Remove all of this for good?", err=True)
    except typer.Abort:
        return False
