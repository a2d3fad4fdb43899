"""srlite review add, verify, labels, references."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from srlite.cli.guard import guarded
from srlite.cli.options import Debug, Json, Quiet, not_there
from srlite.commands import typed

Run = Annotated[Path, typer.Option("--run", help="The run's folder.", show_default=False)]
Out = Annotated[Path, typer.Option(help="The CSV to write; it must not be there yet.", show_default=False)]


@guarded
def review_add(
    review_csv: Annotated[Path, typer.Argument(help="What the report's review mode saved.", show_default=False)],
    run: Run,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
    *,
    screen,
) -> None:
    """Take in reviews: all rows are checked first, then added to the run's reviews.jsonl. Adding them twice changes nothing."""
    from srlite.console.reviews import show_added
    from srlite.reviewing import add_reviews, added_json

    document = added_json(add_reviews(review_csv, run=run))
    screen.json(document) if json else show_added(screen, document)


@guarded
def review_verify(run: Run, json: Json = False, quiet: Quiet = False, debug: Debug = False, *, screen) -> None:
    """Are the run's reviews as they were taken in? Exit 3, with the first line where the chain breaks, when they are not."""
    from srlite.console.reviews import show_verified
    from srlite.reviewing import verified_json, verify_reviews

    document = verified_json(run, verify_reviews(run))
    screen.json(document) if json else show_verified(screen, document)


@guarded
def review_labels(run: Run, out: Out, json: Json = False, quiet: Quiet = False, debug: Debug = False, *, screen) -> None:
    """Write people's answers to the judge's questions, as the reviews have them, for `srlite judge check`."""
    from srlite.config import read_settings
    from srlite.console.reviews import show_written
    from srlite.reviewing import write_labels, written_json

    not_there(out)
    document = written_json(write_labels(run, out), "labels")
    screen.json(document) if json else show_written(screen, document)
    judge = read_settings(run / "config.toml").models.judge
    screen.next(typed("judge", "check", out, "--catalogue", run / "catalogue.toml", "--judge", judge))


@guarded
def review_references(run: Run, out: Out, json: Json = False, quiet: Quiet = False, debug: Debug = False, *, screen) -> None:
    """Write corrected descriptions, for the column `description` of items.csv."""
    from srlite.console.reviews import show_written
    from srlite.reviewing import write_references, written_json

    not_there(out)
    document = written_json(write_references(run, out), "references")
    screen.json(document) if json else show_written(screen, document)
    screen.say("next: put them into the column description of items.csv, in the row of the same video and item")
    screen.say("The outcome there stays the clinician's own.")
