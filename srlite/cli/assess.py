"""srlite assess."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from srlite.cli.guard import guarded, quiet_libraries
from srlite.cli.options import Debug, Json, Quiet, RunDir, newest_run, not_there
from srlite.errors import UsageError

if TYPE_CHECKING:
    from srlite.records.asked import Asked


@guarded
def assess(
    clips: Annotated[
        list[Path],
        typer.Argument(help="Clips, or folders of clips. With --items-csv: the folder of its clips.", show_default=False),
    ],
    item: Annotated[str | None, typer.Option(help="The item's code, e.g. 30_1.", show_default=False)] = None,
    items_csv: Annotated[
        Path | None, typer.Option(help="Instead of --item, a list: video, item, and age_months and child where known.")
    ] = None,
    run: RunDir = None,
    age_months: Annotated[float | None, typer.Option(help="The child's age. Default: the item's.")] = None,
    samples: Annotated[
        int, typer.Option(help="So many more descriptions of each clip: how many are decided as the likeliest one?", min=0)
    ] = 0,
    json: Json = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="One JSON document a line, one a clip.")] = False,
    csv: Annotated[Path | None, typer.Option(help="Write a CSV file, one row a clip.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML page: descriptions with frames, decisions below.")] = None,
    fhir: Annotated[Path | None, typer.Option(help="Write a FHIR R4 bundle of preliminary observations.")] = None,
    subject: Annotated[str | None, typer.Option(help="Whom the bundle is about: a reference such as Patient/123.")] = None,
    effective: Annotated[str | None, typer.Option(help="When the clips were filmed, for the bundle: a date, or time.")] = None,
    quiet: Quiet = False,
    debug: Debug = False,
    *,
    screen,
) -> None:
    """Describe what clips show for an item, then decide: pass, fail or unable to assess."""
    from srlite.assessing.fhir import check_given

    _check_what(clips, item, items_csv, age_months)
    if json and jsonl:
        raise UsageError("--json and --jsonl exclude each other", remedy="--json is one document, --jsonl one line a clip.")
    if (subject or effective) and not fhir:
        raise UsageError("--subject and --effective belong into a bundle", remedy="Give --fhir FILE.json, too.")
    check_given(subject, effective)
    for place in (csv, report, fhir):
        not_there(place)
    quiet_libraries()
    from srlite.assessing.job import assess_all
    from srlite.cli.results import Results
    from srlite.training.run import finished_run, newest_finished

    folder = run or newest_run(screen, newest_finished)
    asked = _asked(screen, clips, item, items_csv, age_months, catalogue=finished_run(folder).catalogue())
    alone = items_csv is None and len(clips) == 1 and not clips[0].is_dir()
    results, found = Results(screen, folder, alone, json, jsonl, csv, report, fhir, subject, effective), []
    results.begin(asked)
    with screen.bar() as bar:
        for one in assess_all(asked, run=folder, samples=samples, tick=bar.show):
            with bar.aside():
                results.give(one)
            found.append(one)
    results.finish(found)


def _check_what(clips: list[Path], item: str | None, items_csv: Path | None, age_months: float | None) -> None:
    if (item is None) == (items_csv is None):
        remedy = "--item CODE for clips of one item, --items-csv FILE for a list that names each clip's."
        raise UsageError("give either --item or --items-csv", remedy=remedy)
    if items_csv and (len(clips) != 1 or clips[0].is_file()):
        raise UsageError("with --items-csv give the one folder of its clips", remedy="srlite assess VIDEOS --items-csv FILE")
    if items_csv and age_months is not None:
        raise UsageError("--age-months is one age for all clips", remedy="Put the ages into the list's column age_months.")


def _asked(screen, clips, item, items_csv, age_months, *, catalogue) -> tuple[Asked, ...]:
    """What is to be assessed; what was left out is told."""
    from srlite.records.asked import Asked, clips_of, read_asked

    if items_csv:
        asked, notes = read_asked(items_csv, clips[0], catalogue)
    else:
        found, notes = clips_of(clips)
        asked = tuple(Asked(clip, item, age_months) for clip in found)
    for note in notes:
        screen.note(note)
    return asked
