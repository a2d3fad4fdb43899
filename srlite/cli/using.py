"""srlite evaluate, srlite demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from srlite.cli.guard import guarded, quiet_libraries
from srlite.cli.options import CatalogueFile, Debug, ItemsCsv, Json, Quiet, RunDir, Videos, newest_run
from srlite.errors import Findings


@guarded
def evaluate(
    items_csv: ItemsCsv,
    videos: Videos,
    run: RunDir = None,
    catalogue: CatalogueFile = None,
    compare: Annotated[
        str,
        typer.Option(help="Also without the adapter: base, and generic (the prompt of the domain only).", show_default=False),
    ] = "",
    ablate: Annotated[
        Path | None,
        typer.Option(help="Another run with the same test part, to compare with; trained with fewer reward terms, say."),
    ] = None,
    second_judge: Annotated[
        str | None,
        typer.Option(help="Let another judge decide the same descriptions: a name of `srlite models list`, or a file."),
    ] = None,
    audit: Annotated[bool, typer.Option("--audit", help="Does it look? Each pair again, with its clip changed.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Also by sex, age and domain, and how far the judge is sure.")] = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
    *,
    screen,
) -> None:
    """Measure a run on its test part: accuracy, recall and precision by item, abstention on unrelated pairs."""
    quiet_libraries()
    from srlite.console.evaluation import show_evaluation
    from srlite.evaluation.protocol import evaluate as evaluate_run
    from srlite.evaluation.protocol import evaluation_json, given_up
    from srlite.training.run import newest_finished

    folder = run or newest_run(screen, newest_finished)
    asked = {
        "compare": [name.strip() for name in compare.split(",") if name.strip()],
        "ablate": ablate,
        "second_judge": second_judge,
        "audit": audit,
    }
    if gone := given_up(folder, **asked):
        had = f"the evaluation that is there has also {', '.join(gone)}"
        screen.say(f"{had}: this one takes its place; ask for all of it at once to have it in one")
    with screen.bar() as bar:
        found = evaluate_run(
            items_csv,
            videos,
            run=folder,
            catalogue=catalogue,
            **asked,
            tick=lambda arm, done, total: bar.show(f"evaluate {arm}", done, total),
        )
    screen.json(evaluation_json(found)) if json else show_evaluation(screen, found, full=full)
    if found.unreadable:
        for line in found.unreadable:
            screen.say(line)
        raise Findings(f"{len(found.unreadable)} test pairs could not be read", remedy="The reasons stand above.")


@guarded
def demo(
    folder: Annotated[Path, typer.Argument(help="Where the demonstration is written.")] = Path("srlite-demo"),
    seed: Annotated[int, typer.Option(help="Another seed, other children and other clips.")] = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
    *,
    screen,
) -> None:
    """The whole story with bundled demonstration models: render, train, evaluate, assess. No card, no download."""
    quiet_libraries()
    from srlite.demo.story import tell_story

    document = tell_story(folder, seed=seed, screen=screen, show=not json)
    if json:
        screen.json(document)
