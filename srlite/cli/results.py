"""The forms in which `srlite assess` gives its results: panels or JSON on stdout, files beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from srlite.assessing.document import (
    CSV_COLUMNS,
    SCHEMA_OF_FAILED,
    assessment_json,
    assessments_json,
    csv_cells,
    csv_line,
    failed_json,
)
from srlite.assessing.fhir import fhir_bundle
from srlite.assessing.job import Failed
from srlite.config import read_settings
from srlite.console import Screen
from srlite.console.assessment import say_counts, show_assessment
from srlite.errors import Findings, UsageError
from srlite.files import append_private, private_folder, write_private
from srlite.records.asked import Asked
from srlite.records.spellings import child_key
from srlite.types import Assessment


@dataclass(frozen=True, slots=True)
class Results:
    """`alone`: a single clip was named, whose document or error stands for itself. `run`: the folder of the run that assesses.
    `subject`, `effective`: see fhir_bundle.

    JSON lines and rows of the CSV file are written clip by clip; what speaks of all clips is written in the end.
    """

    screen: Screen
    run: Path
    alone: bool
    json: bool
    jsonl: bool
    csv: Path | None
    report: Path | None
    fhir: Path | None
    subject: str | None
    effective: str | None

    def begin(self, asked: Sequence[Asked]) -> None:
        """Before anything is assessed. Raises UsageError for one subject and several children, DeviceError for files."""
        if self.subject and len({child_key(one.child) for one in asked if one.child}) > 1:
            remedy = "Assess the clips of one child at a time, or leave --subject out."
            raise UsageError("--subject is one person, and the list names several children", remedy=remedy)
        for place in (self.fhir, self.report):
            if place:
                private_folder(place.parent)
        if self.csv:
            write_private(self.csv, csv_line(CSV_COLUMNS))

    def give(self, found: Assessment | Failed) -> None:
        """Raises the error of a clip that was to be assessed alone."""
        if self.csv:
            append_private(self.csv, csv_line(csv_cells(found)))
        if isinstance(found, Failed):
            if self.alone:
                raise found.error
            self.screen.error(found.error)
            if self.jsonl:
                _line({"schema": SCHEMA_OF_FAILED, **failed_json(found)})
        elif self.jsonl:
            _line(assessment_json(found))
        elif not self.json:
            show_assessment(self.screen, assessment_json(found))

    def finish(self, found: Sequence[Assessment | Failed]) -> None:
        """Raises Findings when some clips could not be assessed."""
        good = [one for one in found if isinstance(one, Assessment)]
        failed = len(found) - len(good)
        if self.json:
            self.screen.json(assessment_json(good[0]) if self.alone else assessments_json(found))
        if self.fhir:
            bundle = fhir_bundle(good, issued=datetime.now(UTC), subject=self.subject, effective=self.effective)
            write_private(self.fhir, json.dumps(bundle, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        if self.report:
            from srlite.report.assessments import write_assessments

            write_assessments(self.report, assessments_json(found), read_settings(self.run / "config.toml"))
            self.screen.say(f"report: {self.report}")
        if not self.alone:
            say_counts(self.screen, [one.decision for one in good], failed)
        if failed:
            raise Findings(f"{failed} of {len(found)} clips could not be assessed", remedy="The reasons stand above.")


def _line(document: Mapping[str, object]) -> None:
    print(json.dumps(document, ensure_ascii=False, allow_nan=False), flush=True)
