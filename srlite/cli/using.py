"""srlite evaluate, srlite demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from srlite.cli.guard import guarded, quiet_libraries
from srlite.cli.options import CatalogueFile, Debug, ItemsCsv, Json, Quiet, RunDir, Videos, newest_run
from srlite.errors import Findings, UsageError


@guarded
def evaluate(
    items_csv: ItemsCsv,
    videos: Videos,
    run: RunDir = None,
    catalogue: CatalogueFile = None,
    compare: Annotated[str | None, typer.Option(help="base: the same descriptor without its adapter, beside it.")] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
    *,
    screen,
) -> None:
    """Measure a run on its test part: accuracy, recall and precision by item, abstention on unrelated pairs."""
    if compare not in (None, "base"):
        raise UsageError(f"--compare {compare} is not built yet", remedy="Use --compare base.")
    quiet_libraries()
    from srlite.evaluation.protocol import evaluate as evaluate_run
    from srlite.evaluation.protocol import evaluation_json
    from srlite.training.run import newest_finished

    folder = run or newest_run(screen, newest_finished)
    with screen.bar() as bar:
        found = evaluate_run(
            items_csv,
            videos,
            run=folder,
            catalogue=catalogue,
            compare_base=compare == "base",
            tick=lambda arm, done, total: bar.show(f"evaluate {arm}", done, total),
        )
    document = evaluation_json(found)
    screen.json(document) if json else screen.evaluation(document)
    if document["unreadable"]:
        for line in document["unreadable"]:
            screen.say(line)
        raise Findings(f"{len(document['unreadable'])} test pairs could not be read", remedy="The reasons stand above.")


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
