"""reviews.jsonl of a run: who said what, and when; only ever added to, and chained by hashes.

One JSON object a line:

    {"previous": P, "digest": D, "entry": {...}}                    a review
    {"previous": P, "digest": D, "entry": null, "purged": "2026-07-01"}   one whose child was purged on that day

    D   SHA-256 of the entry (JSON, keys sorted, no spaces, ASCII)
    P   SHA-256 of P and D of the line before, 128 hex digits behind one another; 64 zeros on the first line

So a line vouches for all lines before it by their digests alone: a purged entry takes its words with it, and the chain still
holds. Each entry has random digits (`salt`), so that nobody finds out from the digest that is left what it was. An edited,
missing, inserted or moved line breaks the chain, and is named. What a chain without a secret cannot tell: that lines were
taken from the end, or that somebody wrote all of it anew; for that, note its `head` elsewhere.

A last line that a power cut left unfinished is no line: `verify` says so, and the next `append` drops it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from srlite.errors import InputError
from srlite.files import append_private, sync_folder, write_private
from srlite.reviews.table import Moment, Review, Sha256, Text

NAME = "reviews.jsonl"
FIRST = "0" * 64


class Entry(Review):
    """A review, when it was taken in, and random digits."""

    added: Moment
    salt: Text

    @property
    def review_only(self) -> Review:
        return Review.model_validate(self.model_dump(exclude={"added", "salt"}))


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    previous: Sha256
    digest: Sha256
    entry: Entry | None
    purged: str | None = None


@dataclass(frozen=True, slots=True)
class Log:
    """`entries`: of the lines that were not purged, in their order. `head`: what a further line would have as `previous`.
    `unfinished`: behind the last whole line there is one that was cut off."""

    entries: tuple[Entry, ...]
    purged: int
    head: str
    unfinished: bool

    @property
    def lines(self) -> int:
        return len(self.entries) + self.purged


def read_log(path: Path) -> Log:
    """The log; an empty one where there is no file. Raises InputError naming the first line where the chain breaks."""
    text = _text(path)
    whole, _, rest = text.rpartition("\n")
    entries, purged, head = [], 0, FIRST
    for number, raw in enumerate(whole.split("\n") if whole else [], start=1):
        line = _checked(raw, head, f"{path}, line {number}")
        entries += [line.entry] if line.entry else []
        purged += line.entry is None
        head = _link(line.previous, line.digest)
    return Log(tuple(entries), purged, head, bool(rest))


def append(path: Path, reviews: Iterable[Review], *, now: str) -> Log:
    """Add reviews behind the last whole line; on the disk when this returns. One process at a time, the caller sees to that.

    now: the moment in UTC. Raises InputError when the chain is broken: nothing is put upon it then.
    """
    log = read_log(path)
    if log.unfinished:
        write_private(path, _text(path).rpartition("\n")[0] + "\n" if log.lines else "")
    head, lines = log.head, []
    for review in reviews:
        entry = review.model_dump() | {"added": now, "salt": secrets.token_hex(16)}
        line = {"previous": head, "digest": _digest(entry), "entry": entry}
        head = _link(line["previous"], line["digest"])
        lines.append(json.dumps(line) + "\n")
    append_private(path, "".join(lines))
    sync_folder(path.parent)
    return read_log(path)


def without(text: str, goes: Callable[[Review], bool], *, day: str) -> tuple[str, int]:
    """The log's text with empty lines, dated `day`, in the place of reviews that go, and how many those are.

    An unfinished last line goes, too. A chain that was broken before is broken in the same place afterwards. Raises ValueError
    for a line that cannot be read.
    """
    whole, _, rest = text.rpartition("\n")
    lines = [_without(line, goes, day) for line in whole.split("\n")] if whole else []
    gone = sum(now != then for now, then in zip(lines, whole.split("\n"), strict=False))
    return "".join(f"{line}\n" for line in lines), gone + bool(rest)


def _without(raw: str, goes: Callable[[Review], bool], day: str) -> str:
    line = json.loads(raw)
    if line["entry"] is None or not goes(Entry.model_validate(line["entry"])):
        return raw
    return json.dumps({"previous": line["previous"], "digest": line["digest"], "entry": None, "purged": day})


def _checked(raw: str, head: str, where: str) -> _Line:
    """Raises InputError where the line does not follow on the one before."""
    try:
        values = json.loads(raw)
        line = _Line.model_validate(values)
    except (ValueError, ValidationError):
        raise _broken("this is no line of a review log", where) from None
    if line.previous != head:
        raise _broken("it does not follow on the line before: lines were taken out, put in, moved or changed", where)
    if line.entry is not None and line.digest != _digest(values["entry"]):
        raise _broken("the review was changed after it was taken in", where)
    if (line.entry is None) != (line.purged is not None):
        raise _broken("a line is a review, or it was purged", where)
    return line


def _broken(said: str, where: str) -> InputError:
    remedy = "The lines before it are as they were written. Restore the file from a copy of the run."
    return InputError(f"the chain breaks: {said}", where=where, remedy=remedy)


def _digest(entry: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(entry, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _link(previous: str, digest: str) -> str:
    return hashlib.sha256((previous + digest).encode()).hexdigest()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the reviews cannot be read: {error}", where=str(path)) from None
