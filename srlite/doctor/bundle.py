"""A support archive that says how srlite and a run are set up, and nothing of any child.

In it: what doctor found, the run's settings with the names of folders taken out, its figures, and its log with every name that
its split knows replaced: clips, their parts, children. What is replaced is the same everywhere: clip-3 stays clip-3.
Left out, as a whole: records, descriptions, frames, rollouts, checkpoints, item texts.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

from srlite.errors import InputError, UsageError
from srlite.files import write_private

_FIGURES = ("metrics.jsonl",)
_PATH = re.compile(r"(?<![\w.])~?(?:[A-Za-z]:)?[\\/](?:[^\s\"'\\/]+[\\/])*[^\s\"']*")


def write_bundle(path: Path, examination: Mapping, run: Path | None) -> list[str]:
    """Write the archive, mode 0600; the names of what is in it. Raises UsageError, InputError, DeviceError."""
    if path.exists():
        raise UsageError("the file is there already", where=str(path), remedy="Give another name: nothing is written over.")
    texts = {"doctor.json": without_paths(json.dumps(examination, indent=2))} | (_of_run(run) if run else {})
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    write_private(path, out.getvalue())
    return list(texts)


def _of_run(run: Path) -> dict[str, str]:
    names = known_names(run / "split.csv")
    found = {}
    for name in ("config.toml", "log.txt", *_FIGURES):
        if (path := run / name).is_file():
            found[name] = without_paths(without_names(path.read_text(encoding="utf-8"), names))
    return found


def known_names(split_csv: Path) -> dict[str, str]:
    """What to put in the place of each name of a run's split. Raises InputError where it cannot be read: nothing is guessed."""
    try:
        with split_csv.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        clips, children = sorted({r["clip"] for r in rows}), sorted({r["child"] for r in rows} - {""})
    except (OSError, KeyError, UnicodeDecodeError, csv.Error) as error:
        said = f"the split cannot be read ({error}), so that names cannot be taken out of the log"
        raise InputError(said, where=str(split_csv), remedy="Leave out --run.") from None
    names = {}
    for number, clip in enumerate(clips, start=1):
        names |= dict.fromkeys({clip, Path(clip).name, Path(clip).stem, *Path(clip).parts}, f"clip-{number}")
    return names | {child: f"child-{number}" for number, child in enumerate(children, start=1)}


def without_names(text: str, names: Mapping[str, str]) -> str:
    """The longest first, as whole words: a child 7 must not spoil 17."""
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", names[name], text)
    return text


def without_paths(text: str) -> str:
    """Folders are often named after people: of a path nothing is kept."""
    return _PATH.sub("[path]", text)
