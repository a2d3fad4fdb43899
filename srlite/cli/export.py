"""srlite export."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from srlite.cli.guard import guarded, quiet_libraries
from srlite.cli.options import Debug, Json, Quiet, newest_run


class Form(enum.StrEnum):
    """As exporting.Kind has them."""

    peft = "peft"
    merged = "merged"
    gguf = "gguf"


@guarded
def export(
    to: Annotated[
        Form, typer.Option(help="peft: the adapter; merged: the whole model; gguf: for llama.cpp.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="An empty or missing folder.", show_default=False)],
    run: Annotated[Path | None, typer.Argument(help="The run's folder. Default: the newest finished one.")] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
    *,
    screen,
) -> None:
    """Take a run's adapter elsewhere: written, read again and compared, with what it is made of."""
    quiet_libraries()
    from srlite.exporting import export_run, exported_json
    from srlite.training.run import newest_finished

    folder = run or newest_run(screen, newest_finished)
    with screen.bar() as bar:
        found = export_run(folder, to=to.value, out=out, tick=bar.show)
    document = exported_json(found)
    screen.json(document) if json else screen.exported(document)
