"""Labelled descriptions of the drawn world, for `srlite judge check`: `python -m srlite.demo.labels examples`

As a clinic would get its own: the bundled descriptor describes the clips of a folder, each under its own item and an unrelated
one, at temperature 1; to these come texts that are no descriptions. The answers are the parser's, in the place of a person's.
"""

from __future__ import annotations

import argparse
import csv
import io
import random
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path

from srlite.demo.make.examples import unrelated_items
from srlite.demo.make.judge import EMPTY, answers
from srlite.demo.truth import read_scenes
from srlite.describing import prepare, sample
from srlite.descriptor.generate import Ask
from srlite.descriptor.prompts import canonical_prompt
from srlite.files import write_private
from srlite.records.dataset import catalogue_of
from srlite.records.labels import COLUMNS, QUESTION_COLUMNS
from srlite.training.job import settings_for
from srlite.types import Item
from srlite.workbench import open_workbench

OWN, UNRELATED, TRICKS = 3, 2, 2
"""Descriptions of a clip under its own item, under an unrelated one; texts that are none, for each item."""


def descriptions(folder: Path) -> Iterator[tuple[Item, str]]:
    """Of every clip in the folder."""
    catalogue, rng = catalogue_of(None), random.Random("labels")
    with open_workbench(settings_for("tiny", {})[1], catalogue, videos=folder / "videos", adapter=None) as bench:
        for clip, scene in sorted(read_scenes(folder / "items.csv").items()):
            for code, count in ((scene.item, OWN), (rng.choice(unrelated_items(scene)), UNRELATED)):
                text = canonical_prompt(catalogue[code], scene.child.age_months)
                prompt, features, _, _ = prepare(bench, clip, text)
                seeds = tuple(rng.getrandbits(63) for _ in range(count))
                for rollout in sample(bench, [Ask(prompt, features, seeds)])[0]:
                    yield catalogue[code], rollout.text
    for item in catalogue.values():
        for text in (item.criterion, *rng.sample([t for t in EMPTY if t.strip()], TRICKS)):
            yield item, text


def main() -> None:
    parser = argparse.ArgumentParser(description="Write FOLDER/labels.csv: labelled descriptions of the clips in it.")
    parser.add_argument("folder", type=Path, help="with videos/, items.csv and scenes.json of the drawn world")
    folder, out = parser.parse_args().folder, io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    known = {(item.code, text): answers(text, item) for item, text in descriptions(folder)}  # each once
    for (code, text), right in sorted(known.items(), key=itemgetter(0)):
        writer.writerow((code, text, *("yes" if right[q] else "no" for q in QUESTION_COLUMNS)))
    write_private(folder / "labels.csv", out.getvalue())


if __name__ == "__main__":
    main()
