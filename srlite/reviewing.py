"""`srlite review`: take in what people said in the report's review mode, and give it out again.

    add_reviews       a CSV of the report -> reviews.jsonl of the run; all of it, or nothing
    verify_reviews    does the chain hold?
    write_labels      descriptions with people's answers, for `srlite judge check`
    write_references  corrected descriptions, for the column `description` of items.csv

Contract: what people say stands in reviews.jsonl alone. Outcomes, decisions and figures of a run are never changed by it.
Where one person reviewed the same description twice, the later word counts; different people stay beside one another.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from srlite.commands import to_evaluate, to_resume, typed
from srlite.errors import InputError
from srlite.escape import inert
from srlite.evaluation.document import Case, Evaluation, read_evaluation
from srlite.files import write_private
from srlite.records.problems import Problems
from srlite.records.spellings import SIDES
from srlite.records.split import saved_split
from srlite.reviews.log import NAME, Entry, Log, append, read_log
from srlite.reviews.table import Review, read_reviews
from srlite.training.owner import sole_owner

LABEL_COLUMNS = ("item", "description", "evidence", "met")
REFERENCE_COLUMNS = ("video", "item", "description", "reviewer", "when")
_ANSWERS = {"pass": ("yes", "yes"), "fail": ("yes", "no"), "unable_to_assess": ("no", "")}
"""What a description that reads as a decision answers to the judge: is the evidence sufficient, is the criterion met."""


@dataclass(frozen=True, slots=True)
class Added:
    """What `add_reviews` did: `added` reviews of the file, `known` ones that were there already; `dropped`: a line that a power
    cut had left unfinished was taken away."""

    run: Path
    added: int
    known: int
    dropped: bool
    log: Log


@dataclass(frozen=True, slots=True)
class Written:
    """A CSV made of reviews: `rows` in it, `left_out` reviews that have nothing for it, each counted once for a person."""

    out: Path
    rows: int
    left_out: int


def add_reviews(review_csv: Path, *, run: Path) -> Added:
    """Raises InputError with all that is wrong with the file, UsageError where another process works in the run."""
    evaluation = _evaluation(run)
    problems = Problems(str(review_csv))
    rows = read_reviews(review_csv, problems)
    cases = {(case.clip, case.item): case for case in evaluation.cases}
    reviews = []
    for line, review in rows:
        try:
            reviews.append(_of_this(review, evaluation, cases.get((review.clip, review.item))))
        except _Stranger as stranger:
            remedy = f"These are not reviews of the evaluation in {run}: give their own --run."
            problems.add(line, stranger.column, str(stranger), remedy=remedy)
    problems.raise_if_any()
    with sole_owner(run):
        before = read_log(run / NAME)
        known = {entry.review_only for entry in before.entries}
        fresh = list(dict.fromkeys(review for review in reviews if review not in known))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        after = append(run / NAME, fresh, now=now) if fresh else before
    return Added(run, len(fresh), len(reviews) - len(fresh), before.unfinished and bool(fresh), after)


def _evaluation(run: Path) -> Evaluation:
    """Raises InputError with the next command where there is none yet, or where it cannot be read."""
    if (run / "evaluation.json").exists():
        return read_evaluation(run / "evaluation.json")
    if not (run / "config.toml").is_file():
        remedy = "Give --run the folder of the run whose report was reviewed."
        raise InputError("there is no run here", where=str(run), remedy=remedy)
    if not (run / "adapter").is_dir():
        remedy = f"Go on with it: {to_resume(run)}\nThen: {to_evaluate(run)}"
        raise InputError("this run is not finished, and has no evaluation to review yet", where=str(run), remedy=remedy)
    remedy = f"Make one: {to_evaluate(run)}"
    raise InputError("this run has no evaluation to review yet", where=str(run), remedy=remedy)


def verify_reviews(run: Path) -> Log:
    """Raises InputError when there are no reviews, or naming the first line where the chain breaks."""
    if not (run / NAME).is_file():
        remedy = f"Take some in: {typed('review', 'add', 'REVIEW_CSV', '--run', run)}"
        raise InputError("there are no reviews", where=str(run), remedy=remedy)
    return read_log(run / NAME)


def write_labels(run: Path, out: Path) -> Written:
    """Descriptions whose meaning as written somebody named. Raises InputError when nobody did."""
    last = _last_words(verify_reviews(run))
    told = [(e.item, e.description, *_ANSWERS[e.reads_as]) for e in last if e.reads_as]
    return _written(out, LABEL_COLUMNS, told, len(last) - len(told), "no review says what a description reads as")


def write_references(run: Path, out: Path) -> Written:
    """Corrected descriptions of the run's records. Raises InputError when there are none.

    Of unrelated pairs none are given: items.csv has no row for them.
    """
    split = saved_split(run / "split.csv")
    matched = {(r.clip, r.item) for side in SIDES for r in split.side(side)}
    last = _last_words(verify_reviews(run))
    useful = [e for e in last if e.corrected_description and (e.clip, e.item) in matched]
    told = [(e.clip, e.item, e.corrected_description, e.reviewer, e.when) for e in useful]
    return _written(out, REFERENCE_COLUMNS, told, len(last) - len(told), "no review corrects the description of a record")


class _Stranger(Exception):
    """A review of something else, and the column that tells."""

    def __init__(self, column: str, said: str):
        super().__init__(said)
        self.column = column


def _of_this(review: Review, evaluation: Evaluation, case: Case | None) -> Review:
    """The review, with its description to the letter. Raises _Stranger when it is not of this evaluation."""
    if review.run != evaluation.run:
        raise _Stranger("run", f"{review.run!r} is reviewed here, and the evaluation is that of {evaluation.run!r}")
    if case is None:
        raise _Stranger("clip", f"{review.clip!r} with item {review.item} is not in the evaluation")
    if case.clip_sha256 != review.clip_sha256:
        raise _Stranger("clip_sha256", f"{review.clip!r} was another file in the evaluation")
    said = [arm for arm in case.arms.values() if _alike(arm.description) == _alike(review.description)]
    if not said:
        raise _Stranger("description", f"this was not said of {review.clip!r} in the evaluation")
    if review.decision not in [arm.decision for arm in said]:
        raise _Stranger("decision", f"the description was not decided so in the evaluation: {review.decision!r}")
    return review.model_copy(update={"description": said[0].description})


def _alike(text: str) -> str:
    """Without what a table does to white space."""
    return " ".join(text.split())


def _last_words(log: Log) -> list[Entry]:
    """Of each person the last review of each description of each clip, by the moment that the reviews name."""
    in_time = sorted(log.entries, key=lambda e: datetime.fromisoformat(e.when))
    last = {(e.clip_sha256, e.item, e.description, e.reviewer): e for e in in_time}
    return list(last.values())


def _written(out: Path, columns: Sequence[str], rows: Iterable[Sequence[str]], left_out: int, nothing: str) -> Written:
    told = list(dict.fromkeys(tuple(row) for row in rows))
    if not told:
        raise InputError(f"there is nothing to write: {nothing}", where=str(out))
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([inert(cell) for cell in row] for row in told)
    write_private(out, text.getvalue())
    return Written(out, len(told), left_out)


def added_json(found: Added) -> dict[str, object]:
    """The document of schema srlite.review_add/1."""
    return {
        "schema": "srlite.review_add/1",
        "run": str(found.run),
        "added": found.added,
        "known": found.known,
        "dropped_unfinished_line": found.dropped,
        **_log_json(found.log),
    }


def verified_json(run: Path, log: Log) -> dict[str, object]:
    """The document of schema srlite.review_verify/1."""
    return {"schema": "srlite.review_verify/1", "run": str(run), **_log_json(log), "unfinished_line": log.unfinished}


def written_json(found: Written, what: str) -> dict[str, object]:
    """The document of schema srlite.review_labels/1 or srlite.review_references/1. what: labels or references."""
    return {
        "schema": f"srlite.review_{what}/1",
        "out": str(found.out),
        "rows": found.rows,
        "left_out": found.left_out,
    }


def _log_json(log: Log) -> dict[str, object]:
    return {"lines": log.lines, "purged": log.purged, "head": log.head}
