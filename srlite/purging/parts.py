"""What a run holds of a child, file by file, and what each file is without it.

Each function gives the file's new text (None: the file goes) and how many of its entries that takes away. `CONTENTS` goes first
and in this order: rewards stand line by line beside the rollouts that say whose they are. `LISTS` goes last: by them a child is
found, so that a purge that was killed finds again what it has not done yet.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from srlite.errors import InputError
from srlite.evaluation.document import read_evaluation
from srlite.files import remove_for_good, sync_folder, write_private
from srlite.purging.whom import Whom
from srlite.records.split import split_without
from srlite.reviews import log
from srlite.reviews.table import Review

Without = tuple[str | None, int]
ROLLOUTS, REWARDS, PREPARED = "rollouts.jsonl", "rewards.jsonl", "rewards.purged.jsonl"


@dataclass(frozen=True, slots=True)
class Part:
    """Files of a run by a pattern, what is taken out of them in words, and the function that does it. `prepared`: the name of
    the file beside it that the new text is put into until `settle`."""

    pattern: str
    what: str
    without: Callable[[Path, Whom], Without]
    prepared: str | None = None


def rewards_without(path: Path, whom: Whom) -> Without:
    rewards, goes = _lines(path)[0], [_in_group(line, whom, path) for line in _lines(path.with_name(ROLLOUTS))[0]]
    if len(rewards) != len(goes) and not path.with_name(PREPARED).exists():
        raise InputError("the rewards do not belong to the rollouts beside them", where=str(path), remedy="Delete the file.")
    return "".join(line for line, gone in zip(rewards, goes, strict=False) if not gone), sum(goes)


def groups_without(path: Path, whom: Whom) -> Without:
    lines, rest = _lines(path)
    kept = [line for line in lines if not _in_group(line, whom, path)]
    return "".join(kept), len(lines) - len(kept) + bool(rest)


def settle(run: Path) -> None:
    """Rewards that were prepared take their place where the rollouts beside them are pruned, and go where they are not.

    Two files cannot be replaced in one step. Wherever a purge is killed, this brings them together again.
    """
    for prepared in run.glob(f"rounds/*/*/{PREPARED}"):
        if len(_lines(prepared)[0]) == len(_lines(prepared.with_name(ROLLOUTS))[0]):
            os.replace(prepared, prepared.with_name(REWARDS))
            sync_folder(prepared.parent)
        else:
            remove_for_good(prepared)


def features_without(path: Path, whom: Whom) -> Without:
    """Features that found no room in the store lie beside a slice while it lasts; their name begins with the clip's hash."""
    return None, int(any(sha256 in path.name for sha256 in whom.sha256))


def log_without(path: Path, whom: Whom) -> Without:
    lines = path.read_text(encoding="utf-8").split("\n")
    kept = [line for line in lines if not whom.named_in(line, numbers=True)]
    return "\n".join(kept), len(lines) - len(kept)


def reviews_without(path: Path, whom: Whom) -> Without:
    """Reviews of the child's clips, and those of others whose words name it."""

    def goes(review: Review) -> bool:
        said = f"{review.note}\n{review.corrected_description}"
        return whom.shown(review.clip, sha256=review.clip_sha256) or whom.named_in(said)

    try:
        return log.without(path.read_text(encoding="utf-8"), goes, day=today())
    except (ValueError, KeyError, TypeError) as error:
        said, remedy = f"the reviews cannot be read: {error}", "Restore the file from a copy of the run, or delete it."
        raise InputError(said, where=str(path), remedy=remedy) from None


def evaluation_without(path: Path, whom: Whom) -> Without:
    """Without the child's cases, and marked: its figures still count them. One that cannot be read goes as a whole."""
    try:
        found = read_evaluation(path)
    except InputError:
        return None, 1
    kept = tuple(case for case in found.cases if not whom.shown(case.clip, case.child, case.clip_sha256))
    unreadable = tuple(line for line in found.unreadable if not line.startswith(tuple(f"{clip}: " for clip in whom.clips)))
    gone = len(found.cases) - len(kept)
    pruned = found.model_copy(update={"cases": kept, "unreadable": unreadable, "purged_cases": found.purged_cases + gone})
    return pruned.json_text(), gone + len(found.unreadable) - len(unreadable)


def report_without(path: Path, whom: Whom) -> Without:
    return None, 1


def hashes_without(path: Path, whom: Whom) -> Without:
    hashes = json.loads(path.read_text(encoding="utf-8"))
    kept = {clip: digest for clip, digest in hashes.items() if clip not in whom.clips}
    return json.dumps(kept, indent=0) + "\n", len(hashes) - len(kept)


def rows_without(path: Path, whom: Whom) -> Without:
    return split_without(path, whom.clips)


CONTENTS = (
    Part("rounds/*/*/features/*", "kept features", features_without),
    Part(f"rounds/*/*/{REWARDS}", "groups of rewards", rewards_without, PREPARED),
    Part(f"rounds/*/*/{ROLLOUTS}", "groups of descriptions", groups_without),
    Part("rounds/*/*/rollouts.unfinished.jsonl", "groups of descriptions", groups_without),
    Part("log.txt", "lines", log_without),
    Part("reviews.jsonl", "reviews", reviews_without),
    Part("evaluation.json", "cases", evaluation_without),
    Part("report.html", "report", report_without),
)
LISTS = (
    Part("clips.json", "clips", hashes_without),
    Part("split.csv", "rows", rows_without),
)
_IMPERSONAL = (
    "config.toml",
    "catalogue.toml",
    "lock.json",
    "metrics.jsonl",
    "purged.json",
    ".lock",
    ".owner",
    "adapter/*",
    "checkpoints/*/*",
)
"""Numbers, settings and texts about items; tensors, from which nothing can be taken."""


def affected(run: Path, whom: Whom, parts: Iterable[Part]) -> Iterator[tuple[Part, Path, str | None, int]]:
    """(part, file, its text without the child, entries taken away) for each file that holds something of the child."""
    for part in parts:
        for path in sorted(run.glob(part.pattern)):
            text, count = part.without(path, whom)
            if count:
                yield part, path, text, count


def take_out(run: Path, whom: Whom, parts: Iterable[Part]) -> None:
    """Write each file that holds something of the child without it. Raises DeviceError."""
    for part, path, text, _ in affected(run, whom, parts):
        if text is None:
            remove_for_good(path)
        else:
            write_private(path.with_name(part.prepared or path.name), text)


def strangers(run: Path, whom: Whom) -> list[Path]:
    """Files that srlite did not put into the run, and that name the child in their text or their own name. (What ends in .part
    was left by a killed process, and goes.)"""
    ours = {path for pattern in (*(p.pattern for p in (*CONTENTS, *LISTS)), *_IMPERSONAL) for path in run.glob(pattern)}
    others = (path for path in sorted(run.rglob("*")) if path.is_file() and path not in ours and path.suffix != ".part")
    return [path for path in others if _names(path, run, whom)]


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def _names(path: Path, run: Path, whom: Whom) -> bool:
    text = path.read_bytes().decode("utf-8", errors="replace")
    return whom.named_in(path.relative_to(run).as_posix()) or whom.named_in(text)


def _lines(path: Path) -> tuple[list[str], str]:
    """Whole lines with their ends, and what a power cut left of a last one. Nothing where there is no file."""
    *whole, rest = path.read_text(encoding="utf-8").split("\n") if path.exists() else [""]
    return [f"{line}\n" for line in whole], rest


def _in_group(line: str, whom: Whom, path: Path) -> bool:
    try:
        pair = json.loads(line)["pair"]
        return whom.shown(pair["clip"], pair["child"])
    except (ValueError, KeyError, TypeError) as error:
        said, remedy = f"a group cannot be read: {error}", "Delete the file and the rewards beside it."
        raise InputError(said, where=str(path.with_name(ROLLOUTS)), remedy=remedy) from None
