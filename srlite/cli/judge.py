"""srlite judge check, srlite prompts diversify."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from srlite.cli.guard import guarded, quiet_libraries
from srlite.cli.options import CatalogueFile, Debug, Json, JudgeName, JudgeToml, Quiet, judge_settings, not_there
from srlite.errors import Findings


@guarded
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
    quiet_libraries()
    from srlite.device.pick import pick_preset
    from srlite.judging import check_judge, judge_check_json, write_thresholds

    not_there(thresholds)
    checked = check_judge(
        labels,
        judge=judge or pick_preset().judge,
        catalogue=catalogue,
        settings=judge_settings(settings, {}),
        choose=thresholds is not None,
    )
    if thresholds:
        write_thresholds(checked, labels, thresholds)
        screen.say(f"thresholds: {thresholds}, for --settings")
    document = judge_check_json(checked)
    screen.json(document) if json else screen.judge_check(document)
    if not document["fit"]:
        raise Findings("this judge is not fit to train with", remedy="\n".join(document["unfit"]))


@guarded
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
    quiet_libraries()
    from srlite.device.pick import pick_preset
    from srlite.diversifying import diversified_json, diversify, with_paraphrases
    from srlite.records.catalogue import write_catalogue
    from srlite.records.dataset import catalogue_of

    not_there(out)
    known = catalogue_of(catalogue)
    with screen.bar() as bar:
        found = diversify(
            known,
            items or list(known),
            judge=judge or pick_preset().judge,
            settings=judge_settings(settings, {"seed": seed}),
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
