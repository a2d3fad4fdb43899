"""srlite models ..."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from srlite.cli.guard import guarded
from srlite.cli.options import Debug, Json, Quiet
from srlite.errors import Interrupted, ModelError

Names = Annotated[list[str] | None, typer.Argument(help="Names of `srlite models list`.", show_default=False)]
Orders = Annotated[list[str] | None, typer.Argument(help="Names of `srlite models list`, or ID@REVISION.", show_default=False)]
PresetName = Annotated[str | None, typer.Option("--preset", help="The descriptor and the judge of a preset.")]
Folder = Annotated[Path, typer.Argument(help="A folder, on a stick for example.", show_default=False)]


@guarded
def models_list(json: Json = False, quiet: Quiet = False, debug: Debug = False, *, screen) -> None:
    """Models and presets, which of them are installed, and which fit on the card that is here."""
    from srlite.console.models import models_page
    from srlite.models.listing import models_document

    document = models_document(_fits())
    screen.json(document) if json else models_page(screen, document)


def _fits() -> dict[str, str] | None:
    """Words on whether each model fits the card that is here; None without one."""
    from srlite.device.machine import card, has_driver

    found = card() if has_driver() else None
    if found is None:
        return None
    from srlite.doctor.models import fits_by_model
    from srlite.sizing import Place

    return fits_by_model(Place(found.free, found.name, here=True))


@guarded
def models_pull(
    models: Orders = None,
    preset: PresetName = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
    *,
    screen,
) -> None:
    """Fetch models, verified by checksum. The only command that uses the network; stopped, it goes on where it was."""
    from srlite.models.pull import orders_from, pull

    orders = orders_from(models or [], preset)
    with _at_work(screen, "The same command goes on where it stopped.") as tell:
        pull(orders, tell)
    _show_places(screen, [order.entry for order in orders], json)


@guarded
def models_verify(models: Names = None, json: Json = False, quiet: Quiet = False, debug: Debug = False, *, screen) -> None:
    """Read installed models again and compare them with their checksums."""
    from dataclasses import asdict

    from srlite.console.models import verify_page
    from srlite.models.verify import verify

    with _at_work(screen, "Nothing was changed.") as tell:
        reports = verify(models or [], tell)
    if json:
        screen.json({"schema": "srlite.verify/1", "models": [asdict(report) for report in reports]})
    else:
        verify_page(screen, reports)
    if wrong := [report.id for report in reports if report.wrong]:
        raise ModelError(
            f"not as they were pulled: {', '.join(wrong)}",
            remedy=f"What is wrong is set aside and fetched again by: srlite models pull {' '.join(wrong)}",
        )


@guarded
def models_export(
    folder: Folder, models: Names = None, json: Json = False, quiet: Quiet = False, debug: Debug = False, *, screen
) -> None:
    """Copy models with their checksums, for a machine without a network."""
    from srlite.console.models import places_page
    from srlite.models.transfer import export_models

    with _at_work(screen, "The same command begins the unfinished copy anew.") as tell:
        places = export_models(models or [], folder, tell)
    document = {"schema": "srlite.models/1", "models": [{"id": place.name, "path": str(place)} for place in places]}
    screen.json(document) if json else places_page(screen, document)


@guarded
def models_import(folder: Folder, json: Json = False, quiet: Quiet = False, debug: Debug = False, *, screen) -> None:
    """Install models that `srlite models export` copied, verified by checksum."""
    from srlite.models.transfer import import_models

    with _at_work(screen, "The same command begins the unfinished copy anew.") as tell:
        entries = import_models(folder, tell)
    _show_places(screen, entries, json)


@contextmanager
def _at_work(screen, on_interrupt: str) -> Iterator:
    """A `tell` that shows itself. Ctrl-C is answered with what this command makes of it."""
    from srlite.console.models import heard_by

    try:
        with screen.bar() as bar:
            yield heard_by(screen, bar)
    except KeyboardInterrupt:
        raise Interrupted("interrupted", remedy=f"What was complete is kept. {on_interrupt}") from None


def _show_places(screen, entries, json: bool) -> None:
    from srlite.console.models import places_page
    from srlite.models.listing import document_of

    document = document_of(entries)
    screen.json(document) if json else places_page(screen, document)
