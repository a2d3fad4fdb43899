"""srlite doctor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from srlite.cli.guard import guarded, quiet_libraries
from srlite.cli.options import Debug, Json, Quiet, RunDir
from srlite.errors import Findings


@guarded
def doctor(
    bundle: Annotated[Path | None, typer.Option(help="Write a support archive (zip) with nothing of any child in it.")] = None,
    run: RunDir = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
    *,
    screen,
) -> None:
    """What this machine can run, what is missing, and the command that mends it. With --run, the archive has its log, too."""
    quiet_libraries()
    from srlite.console.machine import show_examination
    from srlite.doctor.bundle import write_bundle
    from srlite.doctor.examination import examination_json, examine

    found = examine()
    document = examination_json(found)
    screen.json(document) if json else show_examination(screen, document)
    if bundle:
        inside = write_bundle(bundle, document, run)
        screen.say(f"{bundle}: {', '.join(inside)}. Read it before you send it.")
    if found.faults:
        raise Findings(f"{len(found.faults)} faults were found", remedy="What mends each stands above.")
