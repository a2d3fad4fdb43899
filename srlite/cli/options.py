"""Arguments and options that several commands have, and what is made of them."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from srlite.errors import UsageError

RUNS = Path("runs")
"""Where runs go and are looked for when --run is not given."""


class How(enum.StrEnum):
    """Ways to split, as config.SplitSettings has them."""

    child = "child"
    per_item = "per-item"
    site = "site"
    column = "column"


class Backend(enum.StrEnum):
    """Backends of the descriptor, as config.Models has them."""

    default = "default"
    unsloth = "unsloth"


ItemsCsv = Annotated[Path, typer.Argument(help="Records: video, item, outcome, one a row.", show_default=False)]
Videos = Annotated[Path, typer.Argument(help="The folder that the clips lie in.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress and no notes.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
CatalogueFile = Annotated[Path | None, typer.Option("--catalogue", help="Item texts (TOML). Default: the bundled ones.")]
RunDir = Annotated[Path | None, typer.Option("--run", help="The run's folder.")]
JudgeName = Annotated[str | None, typer.Option("--judge", help="A name of `srlite models list`, or a GGUF file.")]
JudgeToml = Annotated[Path | None, typer.Option("--settings", help="An srlite.toml with settings of the judge.")]


def newest_run(screen, newest_finished) -> Path:
    folder = newest_finished(RUNS).folder
    screen.say(f"run: {folder} (the newest finished one)")
    return folder


def judge_settings(file: Path | None, options: dict[str, object]):
    """The settings of a command that needs a judge only: those of the file, with `options` on top."""
    from srlite.config import merged, read_overrides, settings_from

    return settings_from(merged(read_overrides(file) if file else {}, options), where=str(file))


def not_there(path: Path | None) -> None:
    """Raises UsageError for a file that would be written over."""
    if path and path.exists():
        raise UsageError("the file is there already", where=str(path), remedy="Give another name: nothing is written over.")
