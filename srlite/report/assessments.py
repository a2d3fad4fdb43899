"""A page for assessments: description first, decision below it. No script is in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from srlite.config import Settings
from srlite.files import write_private
from srlite.judge.questions import QUESTIONS
from srlite.report.cases import Judgement, answers, pictures
from srlite.report.page import render
from srlite.report.shots import Sheet, frames_by_document

Document = Mapping[str, object]


def write_assessments(path: Path, found: Document, settings: Settings) -> None:
    """The page with frames, mode 0600. settings: of the run that assessed. Raises DeviceError; InputError for a clip gone."""
    with frames_by_document(settings) as frames_of:
        write_private(path, assessment_page(found, frames_of))


def assessment_page(found: Document, frames_of: Callable[[Document], Sequence[tuple[float, bytes]]]) -> str:
    """One self-contained HTML page.

    found: of schema srlite.assessments/1; its assessments are shown in their order, then the clips that failed.
    frames_of(assessment): (seconds, JPEG bytes) of each frame, small; [] where there are none. Raises KeyError for a document
    of another schema.
    """
    questions, documents = {q.id: q.text for q in QUESTIONS}, found["assessments"]
    shown = [
        {
            "document": document,
            "answers": answers([_judgement(document)], questions),
            "pictures": pictures([Sheet((seconds,), jpeg) for seconds, jpeg in frames_of(document)]),
        }
        for document in documents
    ]
    return render(
        "assessments.html.j2",
        title="Assessments",
        demonstration=any(document["demonstration"] for document in documents),
        holds_pictures=any(entry["pictures"] for entry in shown),
        shown=shown,
        failed=found["failed"],
    )


def _judgement(document: Document) -> Judgement:
    verdicts = {q: (v["answer"], v["probability"]) for q, v in document["verdicts"].items()}
    return Judgement("answer", document["decision"], verdicts)
