"""srlite check, srlite init."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from srlite.cli.guard import guarded
from srlite.cli.options import CatalogueFile, Debug, How, ItemsCsv, Json, Quiet, Videos
from srlite.commands import typed
from srlite.errors import Findings, InputError


@guarded
def check(
    items_csv: ItemsCsv,
    videos: Videos,
    catalogue: CatalogueFile = None,
    split: Annotated[How | None, typer.Option(help="The split that is counted. Default: as train would choose.")] = None,
    rows_only: Annotated[bool, typer.Option("--rows-only", help="Check the rows, leave the clips unread.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="List the clips that are fine, too.")] = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
    *,
    screen,
) -> None:
    """Check every row and every clip before anything heavy is loaded, on the grounds on which train refuses them."""
    from srlite.checking import check as check_data
    from srlite.checking import check_json
    from srlite.config import settings_from
    from srlite.console import counted

    with screen.bar() as bar:
        found = check_data(
            items_csv,
            videos,
            catalogue=catalogue,
            settings=settings_from({"split": {"how": split and split.value}}, where="--split"),
            rows_only=rows_only,
            tick=lambda done, total: bar.show("read clips", done, total),
        )
    document = check_json(found)
    screen.json(document) if json else screen.check(document, everything=everything)
    if found.problems:
        problems = counted(len(found.problems), "problem")
        raise InputError(f"{problems} in the rows", where=str(items_csv), remedy=found.remedy)
    if found.refused:
        raise Findings(f"{len(found.refused)} of {len(found.clips)} clips cannot be read", remedy="The reasons stand above.")


@guarded
def init(
    folder: Annotated[Path, typer.Argument(help="An empty or missing folder.", show_default=False)],
    quiet: Quiet = False,
    debug: Debug = False,
    *,
    screen,
) -> None:
    """Begin: an items.csv to fill in, a commented srlite.toml, and a page on how to film and label."""
    from srlite.starter import begin

    for path in begin(folder):
        screen.out.print(str(path), markup=False, soft_wrap=True)
    rows, videos, texts = (str(folder / name) for name in ("items.csv", "videos", "items.toml"))
    screen.next(
        typed("check", rows, videos, "--catalogue", texts), f"next: put the clips into {videos} and fill in {rows}, then"
    )
