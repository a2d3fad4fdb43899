"""srlite train."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from srlite.cli.guard import guarded, quiet_libraries
from srlite.cli.options import RUNS, Backend, CatalogueFile, Debug, How, ItemsCsv, Json, Quiet, RunDir, Videos
from srlite.commands import typed
from srlite.errors import Interrupted, UsageError


@guarded
def train(
    items_csv: ItemsCsv,
    videos: Videos,
    preset: Annotated[
        str | None, typer.Option(help="A preset of models.toml. Default: by the card and what is installed.")
    ] = None,
    run: RunDir = None,
    catalogue: CatalogueFile = None,
    settings: Annotated[
        Path | None, typer.Option(help="Settings (TOML). Default: srlite.toml beside ITEMS_CSV, if it is there.")
    ] = None,
    descriptor: Annotated[str | None, typer.Option(help="A descriptor: a name of models.toml or a folder.")] = None,
    judge: Annotated[str | None, typer.Option(help="A judge: a name of models.toml or a GGUF file.")] = None,
    split: Annotated[How | None, typer.Option(help="How test children are chosen. Default: by child.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds over all training pairs.", min=1)] = None,
    max_minutes: Annotated[
        float | None, typer.Option(help="Stop between slices before this time, with what was learnt until then.", min=0.01)
    ] = None,
    mismatched_share: Annotated[
        float | None, typer.Option(help="Share of unrelated pairs. 0 where all items are of one domain.", min=0, max=0.9)
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Take up the run in --run.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything and print the plan.")] = False,
    four_bit: Annotated[bool, typer.Option("--four-bit", help="Load the descriptor's base in 4 bit, on the CPU too.")] = False,
    backend: Annotated[Backend | None, typer.Option(help="Who computes the descriptor; default: transformers.")] = None,
    seed: Annotated[int | None, typer.Option(help="Everything random follows from it. Default: 0.", min=0)] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
    *,
    screen,
) -> None:
    """Train the descriptor's adapter from clips and outcomes."""
    quiet_libraries()
    from srlite.console.machine import show_plan
    from srlite.interrupt import gentle_interrupt
    from srlite.training import job
    from srlite.training.planning import plan_json, plan_run

    options = _settings(
        {
            ("seed",): seed,
            ("models", "descriptor"): descriptor,
            ("models", "judge"): judge,
            ("models", "quantise"): four_bit or None,
            ("models", "backend"): backend and backend.value,
            ("split", "how"): split and split.value,
            ("schedule", "rounds"): rounds,
            ("schedule", "mismatched_share"): mismatched_share,
        }
    )
    if resume and (run is None or options or preset or settings):
        raise UsageError(
            "--resume goes on with the settings that the run was begun with",
            remedy="Give --run DIR, and none of --preset, --seed, --descriptor, --judge, --split, --rounds, "
            "--mismatched-share, --four-bit, --backend, --settings.",
        )
    over = {} if resume else _over(settings, items_csv, options, screen)
    folder = run or RUNS / time.strftime("%Y%m%d-%H%M%S")
    if dry_run:
        planned = plan_json(plan_run(items_csv, videos, preset=preset, catalogue=catalogue, over=over))
        screen.json(planned) if json else show_plan(screen, planned)
        return
    given = (items_csv, videos, *(("--catalogue", catalogue) if catalogue else ()), "--run", folder)
    goes_on = ("--resume", *(("--max-minutes", max_minutes) if max_minutes else ()))
    try:
        with screen.bar() as bar, gentle_interrupt(bar.hear, note=screen.say) as tell:
            done = job.train(
                items_csv,
                videos,
                run=folder,
                preset=preset,
                catalogue=catalogue,
                over=over,
                resume=resume,
                max_minutes=max_minutes,
                tell=tell,
            )
    except KeyboardInterrupt:
        if not (folder / "config.toml").exists():
            raise Interrupted("interrupted", remedy="No run was begun yet: start it again.") from None
        kept = "What was complete is kept. This goes on:"
        raise Interrupted("interrupted", remedy=kept, command=typed("train", *given, *goes_on)) from None
    document = job.training_json(done)
    screen.json(document) if json else screen.training(document)
    if not done.complete:
        screen.next(typed("train", *given, *goes_on), "to train on:")
    screen.next(typed("evaluate", *given, "--compare", "base"))


def _over(settings: Path | None, items_csv: Path, options: dict[str, object], screen) -> dict[str, object]:
    """The settings file's settings, with those of the command line on top."""
    from srlite.config import merged, read_overrides

    beside = items_csv.with_name("srlite.toml")
    if settings is None and beside.is_file():
        settings = beside
        screen.say(f"settings: {beside}")
    return merged(read_overrides(settings), options) if settings else options


def _settings(given: dict[tuple[str, ...], object]) -> dict[str, object]:
    """Nested settings from (part, name) -> value, without what was not given."""
    over: dict[str, object] = {}
    for (*parts, name), value in given.items():
        if value is not None:
            table = over.setdefault(parts[0], {}) if parts else over
            table[name] = value
    return over
