"""Assessments as JSON documents and as rows of a CSV file."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence

from srlite.assessing.job import Failed
from srlite.escape import inert
from srlite.judge.questions import QUESTIONS
from srlite.types import Assessment, Samples, Verdict

SCHEMA = "srlite.assessment/1"
SCHEMA_OF_SEVERAL = "srlite.assessments/1"
SCHEMA_OF_FAILED = "srlite.failed/1"
UNSCORED = "unscored"
_QUESTIONS = tuple(q.id for q in QUESTIONS)
CSV_COLUMNS = (
    *("clip", "sha256", "item", "name", "child", "age_months", "decision", "description"),
    *(column for q in _QUESTIONS for column in (q, f"{q}_probability")),
    *("samples", "samples_agreeing", "duration_s", "warnings", "demonstration", "descriptor", "adapter", "judge", "error"),
)


def assessment_json(found: Assessment) -> dict[str, object]:
    """The document of schema srlite.assessment/1."""
    item = found.item
    return {
        "schema": SCHEMA,
        "clip": dict(found.clip),
        "item": {"code": item.code, "name": item.name, "criterion": item.criterion},
        "child": found.child,
        "age_months": found.age_months,
        "description": found.description,
        "decision": found.decision,
        "verdicts": {name: _verdict_json(v) for name, v in found.verdicts.items()},
        "samples": _samples_json(found.samples, found) if found.samples else None,
        "models": dict(found.models),
        "demonstration": found.demonstration,
        "warnings": list(found.warnings),
        "seconds": dict(found.seconds),
        "seed": found.seed,
    }


def assessments_json(found: Sequence[Assessment | Failed]) -> dict[str, object]:
    """The document of schema srlite.assessments/1, each list in the order asked."""
    return {
        "schema": SCHEMA_OF_SEVERAL,
        "assessments": [assessment_json(one) for one in found if isinstance(one, Assessment)],
        "failed": [failed_json(one) for one in found if isinstance(one, Failed)],
    }


def failed_json(found: Failed) -> dict[str, object]:
    """A clip that could not be assessed, and why: as it stands in srlite.assessments/1, and in the lines of srlite.failed/1."""
    asked = found.asked
    return {
        "clip": {"path": str(asked.clip)},
        "item": {"code": asked.item},
        "child": asked.child,
        "error": found.error.message,
        "remedy": found.error.remedy,
    }


def csv_line(cells: Iterable[str]) -> str:
    """One line, its end included. A spreadsheet runs none of its cells."""
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerow(map(inert, cells))
    return out.getvalue()


def csv_cells(found: Assessment | Failed) -> list[str]:
    """A cell for each of CSV_COLUMNS; of a clip that failed only what was asked and the error."""
    values = _failed_values(found) if isinstance(found, Failed) else _values(found)
    return [_cell(values.get(column)) for column in CSV_COLUMNS]


def _verdict_json(verdict: Verdict) -> dict[str, object]:
    p = verdict.probability
    return {
        "answer": verdict.answer,
        "probability": None if p is None else round(p, 6),
        "mass": round(verdict.mass, 6),
    }


def _samples_json(samples: Samples, found: Assessment) -> dict[str, object]:
    counts = Counter(decision or UNSCORED for decision in samples.decisions)
    agreeing = samples.agreeing(found.decision)
    return {
        "k": len(samples.decisions),
        "agreeing": None if agreeing is None else round(agreeing, 6),
        "decisions": {name: counts[name] for name in ("pass", "fail", "unable_to_assess", UNSCORED)},
    }


def _failed_values(found: Failed) -> dict[str, object]:
    asked = found.asked
    return {"clip": asked.clip, "item": asked.item, "child": asked.child, "error": found.error.message}


def _values(found: Assessment) -> dict[str, object]:
    clip, item = found.clip, found.item
    about = {"clip": clip["path"], "sha256": clip["sha256"], "duration_s": clip["duration_s"]}
    about |= {"item": item.code, "name": item.name, "child": found.child, "age_months": found.age_months}
    about |= {"decision": found.decision or UNSCORED, "description": found.description}
    about |= {"warnings": "; ".join(found.warnings), "demonstration": "yes" if found.demonstration else "no"}
    for name in _QUESTIONS:
        verdict = _verdict_json(found.verdicts[name])
        about |= {name: verdict["answer"], f"{name}_probability": verdict["probability"]}
    if found.samples:
        shown = _samples_json(found.samples, found)
        about |= {"samples": shown["k"], "samples_agreeing": shown["agreeing"]}
    return about | {role: model["id"] for role, model in found.models.items()}


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)
