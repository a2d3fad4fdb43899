"""srlite report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from srlite.cli.guard import guarded, quiet_libraries
from srlite.cli.options import Debug, Json, Quiet
from srlite.errors import UsageError


@guarded
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The run's folder.", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="The file to write. Default: report.html in the run's folder.")] = None,
    frames: Annotated[bool, typer.Option("--frames/--no-frames", help="Pictures of the clips, or none.")] = True,
    videos: Annotated[Path | None, typer.Option(help="Read the clips anew from this folder.", show_default=False)] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
    *,
    screen,
) -> None:
    """One HTML file to read, print and review: figures, every test clip, model card. Of an unfinished run, what there is."""
    if videos and not frames:
        raise UsageError("--videos with --no-frames asks for two things", remedy="Leave out one of them.")
    quiet_libraries()
    from srlite.console.report import show_report
    from srlite.report.writing import report_json, write_report

    with screen.bar() as bar:
        found = write_report(
            folder, out=out, frames=frames, videos=videos, tick=lambda done, total: bar.show("clips", done, total)
        )
    document = report_json(found)
    screen.json(document) if json else show_report(screen, document)
