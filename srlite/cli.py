"""The command line: parse, call a job, print, exit with the code of the contract (see errors.py). No work is done here.

Heavy libraries load inside the command that needs them, so that --help is instant.
"""

from __future__ import annotations

import enum
import errno
import functools
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from srlite.errors import DeviceError, Findings, InputError, Interrupted, SrliteError, UsageError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Learn to describe item-specific behaviour in clips from clinical outcomes. "
    "An observation aid for research and pilots, not a diagnostic device.",
)
models_app = typer.Typer(no_args_is_help=True, help="The models that srlite knows, and those that are here.")
judge_app = typer.Typer(no_args_is_help=True, help="The judge.")
prompts_app = typer.Typer(no_args_is_help=True, help="The item prompts.")
app.add_typer(models_app, name="models")
app.add_typer(judge_app, name="judge")
app.add_typer(prompts_app, name="prompts")

RUNS = Path("runs")
"""Where runs go and are looked for when --run is not given."""


class How(enum.StrEnum):
    """Ways to split, as config.SplitSettings has them."""

    child = "child"
    per_item = "per-item"
    site = "site"
    column = "column"


ItemsCsv = Annotated[Path, typer.Argument(help="Records: video, item, outcome, one a row.", show_default=False)]
Videos = Annotated[Path, typer.Argument(help="The folder that the clips lie in.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress and no notes.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
CatalogueFile = Annotated[Path | None, typer.Option("--catalogue", help="Item texts (TOML). Default: the bundled ones.")]
RunDir = Annotated[Path | None, typer.Option("--run", help="The run's folder.")]
JudgeName = Annotated[str | None, typer.Option("--judge", help="A name of `srlite models list`, or a GGUF file.")]
JudgeToml = Annotated[Path | None, typer.Option("--settings", help="An srlite.toml with settings of the judge.")]


def _guarded(command: Callable) -> Callable:
    """Errors become messages and exit codes; --debug lets them through."""

    @functools.wraps(command)
    def run(*args, **kwargs):
        from srlite.console import Screen

        screen = Screen(quiet=kwargs.get("quiet", False))
        try:
            command(*args, screen=screen, **kwargs)
            sys.stdout.flush()  # here, where what goes wrong with it is still told in words
        except typer.Exit:
            raise
        except BrokenPipeError:
            _silence_stdout()  # the reader has gone: say nothing more
        except (Exception, KeyboardInterrupt) as caught:
            error = _as_ours(caught)
            if _disk_full(caught):
                _silence_stdout()  # or Python tries it again at its end
            if kwargs.get("debug"):
                traceback.print_exception(caught)
            screen.error(error)
            raise typer.Exit(error.exit_code) from None

    del run.__wrapped__  # typer reads the signature: without `screen`, which is not an option
    run.__signature__ = _without_screen(command)
    return run


def _silence_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _disk_full(caught: BaseException) -> bool:
    return isinstance(caught, OSError) and caught.errno == errno.ENOSPC


def _as_ours(caught: BaseException) -> SrliteError:
    """Whatever came up, as an error with an exit code."""
    if isinstance(caught, SrliteError):
        return caught
    if isinstance(caught, KeyboardInterrupt):
        return Interrupted("interrupted", remedy="What was complete is kept; `srlite train ... --resume` goes on.")
    if _disk_full(caught):
        return DeviceError(f"cannot write: {caught.strerror}", where=caught.filename, remedy="Free some space and start again.")
    if isinstance(caught, MemoryError) or type(caught).__name__ == "OutOfMemoryError":
        return DeviceError(
            f"out of memory: {caught}",
            remedy="Close other programs, or use a smaller model, fewer or smaller frames, or a smaller group.",
        )
    return SrliteError(
        f"unexpected: {type(caught).__name__}: {caught}",
        remedy="This is a fault of srlite. Run again with --debug and report what it prints.",
    )


def _without_screen(command: Callable):
    import inspect

    signature = inspect.signature(command, eval_str=True)
    return signature.replace(parameters=[p for p in signature.parameters.values() if p.name != "screen"])


def _quiet_libraries() -> None:
    """Before a heavy library is imported: nothing phones home, nothing chats on the terminal."""
    from srlite.descriptor.offline import stay_offline

    stay_offline()
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # waiting threads must not burn the cores of the other model
    import warnings

    warnings.filterwarnings("ignore", category=FutureWarning)


# ---- commands -----------------------------------------------------------------------------------------------------------


@app.command()
@_guarded
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


@app.command()
@_guarded
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
    screen.say(f"next: put the clips into {folder / 'videos'} and fill in {folder / 'items.csv'}, then")
    screen.say(f"srlite check {folder / 'items.csv'} {folder / 'videos'} --catalogue {folder / 'items.toml'}")


@app.command()
@_guarded
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
    seed: Annotated[int | None, typer.Option(help="Everything random follows from it. Default: 0.", min=0)] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
    *,
    screen,
) -> None:
    """Train the descriptor's adapter from clips and outcomes."""
    _quiet_libraries()
    from srlite.interrupt import gentle_interrupt
    from srlite.training import job

    options = _settings(
        {
            ("seed",): seed,
            ("models", "descriptor"): descriptor,
            ("models", "judge"): judge,
            ("models", "quantise"): four_bit or None,
            ("split", "how"): split and split.value,
            ("schedule", "rounds"): rounds,
            ("schedule", "mismatched_share"): mismatched_share,
        }
    )
    if resume and (run is None or options or preset or settings):
        raise UsageError(
            "--resume goes on with the settings that the run was begun with",
            remedy="Give --run DIR, and none of --preset, --seed, --descriptor, --judge, --split, --rounds, "
            "--mismatched-share, --four-bit, --settings.",
        )
    over = {} if resume else _over(settings, items_csv, options, screen)
    if dry_run:
        plan = job.plan(items_csv, videos, preset=preset, catalogue=catalogue, over=over)
        screen.json(plan) if json else screen.table("Plan", ("", ""), [(k, str(v)) for k, v in plan.items() if k != "schema"])
        return
    folder = run or RUNS / time.strftime("%Y%m%d-%H%M%S")
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
    document = job.training_json(done)
    screen.json(document) if json else screen.training(document)
    screen.say(f"next: srlite evaluate {items_csv} {videos} --run {done.run} --compare base")


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


@app.command()
@_guarded
def assess(
    clips: Annotated[list[Path], typer.Argument(help="Clips to assess.", show_default=False)],
    item: Annotated[str, typer.Option(help="The item's code, e.g. 30_1.", show_default=False)],
    run: RunDir = None,
    age_months: Annotated[float | None, typer.Option(help="The child's age. Default: the item's.")] = None,
    json: Json = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="One JSON document a line, one a clip.")] = False,
    quiet: Quiet = False,
    debug: Debug = False,
    *,
    screen,
) -> None:
    """Describe what a clip shows for an item, then decide: pass, fail or unable to assess."""
    import json as json_

    if json and len(clips) > 1:
        raise UsageError("--json prints one document, for one clip", remedy="Use --jsonl for several clips.")
    _quiet_libraries()
    from srlite.assessing import Failed, assessment_json
    from srlite.assessing import assess as assess_clips
    from srlite.training.run import newest_finished

    folder = run or _newest(screen, newest_finished)
    failed = []
    for found in assess_clips(clips, item, run=folder, age_months=age_months):
        if isinstance(found, Failed) and len(clips) == 1:
            raise found.error
        if isinstance(found, Failed):
            failed.append(found)
            screen.error(found.error)
            continue
        document = assessment_json(found)
        if jsonl:
            print(json_.dumps(document, ensure_ascii=False, allow_nan=False), flush=True)
        elif json:
            screen.json(document)
        else:
            screen.assessment(document)
    if failed:
        raise Findings(f"{len(failed)} of {len(clips)} clips could not be assessed", remedy="The reasons stand above.")


def _newest(screen, newest_finished) -> Path:
    folder = newest_finished(RUNS).folder
    screen.say(f"run: {folder} (the newest finished one)")
    return folder


@app.command()
@_guarded
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
    _quiet_libraries()
    from srlite.evaluation.protocol import evaluate as evaluate_run
    from srlite.evaluation.protocol import evaluation_json
    from srlite.training.run import newest_finished

    folder = run or _newest(screen, newest_finished)
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


@app.command()
@_guarded
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
    _quiet_libraries()
    from srlite.demo.story import tell_story

    document = tell_story(folder, seed=seed, screen=screen, show=not json)
    if json:
        screen.json(document)


@models_app.command("list")
@_guarded
def models_list(json: Json = False, quiet: Quiet = False, debug: Debug = False, *, screen) -> None:
    """Models and presets, and which of them are installed."""
    from srlite.models.registry import registry
    from srlite.models.store import installed

    known = registry()
    entries = [*known.descriptors.values(), *known.judges.values()]
    if json:
        screen.json(
            {
                "schema": "srlite.models/1",
                "models": [
                    {
                        "id": e.id,
                        "role": e.role,
                        "family": e.family,
                        "repository": e.repository,
                        "licence": e.licence,
                        "installed": installed(e),
                    }
                    for e in entries
                ],
            }
        )
        return
    screen.table(
        "Models",
        ("role", "id", "source", "licence", "installed"),
        [
            (
                e.role,
                e.id,
                e.repository or "bundled demonstration model",
                e.licence,
                "yes" if installed(e) else "no",
            )
            for e in entries
        ],
    )


@judge_app.command("check")
@_guarded
def judge_check(
    labels: Annotated[Path, typer.Argument(help="Descriptions with a person's answers (CSV).", show_default=False)],
    judge: JudgeName = None,
    settings: JudgeToml = None,
    catalogue: CatalogueFile = None,
    thresholds: Annotated[
        Path | None, typer.Option(help="Choose thresholds on half of the labels, and write them here as settings (TOML).")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
    *,
    screen,
) -> None:
    """Does this judge agree with people, whatever the order and the words? Exit 6 when it is not fit to train with."""
    _quiet_libraries()
    from srlite.device.pick import pick_preset
    from srlite.judging import check_judge, judge_check_json, write_thresholds

    _not_there(thresholds)
    checked = check_judge(
        labels,
        judge=judge or pick_preset().judge,
        catalogue=catalogue,
        settings=_judge_settings(settings, {}),
        choose=thresholds is not None,
    )
    if thresholds:
        write_thresholds(checked, labels, thresholds)
        screen.say(f"thresholds: {thresholds}, for --settings")
    document = judge_check_json(checked)
    screen.json(document) if json else screen.judge_check(document)
    if not document["fit"]:
        raise Findings("this judge is not fit to train with", remedy="\n".join(document["unfit"]))


@prompts_app.command("diversify")
@_guarded
def prompts_diversify(
    out: Annotated[Path, typer.Option(help="The catalogue to write; it must not be there yet.", show_default=False)],
    catalogue: CatalogueFile = None,
    items: Annotated[list[str] | None, typer.Option("--item", help="Only this item; may be given again.")] = None,
    count: Annotated[int, typer.Option(help="New paraphrases for each item.", min=1, max=20)] = 4,
    judge: JudgeName = None,
    settings: JudgeToml = None,
    seed: Annotated[int, typer.Option(help="Another seed, other paraphrases.", min=0)] = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
    *,
    screen,
) -> None:
    """Let the judge's language model say the item prompts in other words, check each, and write a catalogue with them."""
    _quiet_libraries()
    from srlite.device.pick import pick_preset
    from srlite.diversifying import diversified_json, diversify, with_paraphrases
    from srlite.records.catalogue import write_catalogue
    from srlite.records.dataset import catalogue_of

    _not_there(out)
    known = catalogue_of(catalogue)
    with screen.bar() as bar:
        found = diversify(
            known,
            items or list(known),
            judge=judge or pick_preset().judge,
            settings=_judge_settings(settings, {"seed": seed}),
            count=count,
            tick=lambda done, total: bar.show("reword items", done, total),
        )
    write_catalogue(with_paraphrases(known, found), out)
    document = diversified_json(found, str(out))
    screen.json(document) if json else screen.paraphrases(document)
    if short := [r.item.code for r in found if len(r.kept) < count]:
        said = f"fewer than {count} paraphrases were found for {', '.join(short)}"
        raise Findings(said, remedy="Try another --seed or a larger judge, or write them into the catalogue by hand.")
    screen.say(f"next: read {out}, strike out what you would not say, and train with --catalogue {out}")


def _judge_settings(file: Path | None, options: dict[str, object]):
    """The settings of a command that needs a judge only: those of the file, with `options` on top."""
    from srlite.config import merged, read_overrides, settings_from

    return settings_from(merged(read_overrides(file) if file else {}, options), where=str(file))


def _not_there(path: Path | None) -> None:
    """Raises UsageError for a file that would be written over."""
    if path and path.exists():
        raise UsageError("the file is there already", where=str(path), remedy="Give another name: nothing is written over.")


def _not_built(name: str) -> Callable:
    def command(context: typer.Context) -> None:
        typer.echo(f"srlite {name} is not built yet.", err=True)
        raise typer.Exit(UsageError.exit_code)

    command.__doc__ = "Not built yet."
    return command


_ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True}
for _name in ("report", "export", "doctor", "purge"):
    app.command(_name, context_settings=_ANYTHING)(_not_built(_name))
for _name in ("pull", "verify", "import", "export"):
    models_app.command(_name, context_settings=_ANYTHING)(_not_built(f"models {_name}"))


@judge_app.callback()
@prompts_app.callback()
def _group() -> None:
    pass


def main() -> None:
    """The console script."""
    app()


if __name__ == "__main__":
    main()
