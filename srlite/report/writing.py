"""`srlite report`: a run's folder becomes one HTML file. No model is needed, and nothing of torch is loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from srlite.files import write_private
from srlite.report.card import card_of, data_counts, settings_lines, texts_changed
from srlite.report.cases import KIND_WORDS, script_data, shown_cases
from srlite.report.closer import audit_tables, second_judge_table
from srlite.report.collect import Collected, collect
from srlite.report.curves import training_plot
from srlite.report.flow import flow_shown
from srlite.report.page import render
from srlite.report.plots import accuracy_plot, audit_plot, coverage_plot, recall_plot, reliability_plot
from srlite.report.shots import Strips, strips
from srlite.report.tables import (
    by_child,
    calibration,
    comparisons,
    coverage,
    figures,
    items,
    items_by_sex,
    matrix,
    paper_accuracy,
    paper_coverage,
    strata,
)
from srlite.report.words import glossary, main_arm, summary

SCHEMA = "srlite.report/1"


@dataclass(frozen=True, slots=True)
class Written:
    """What `write_report` leaves. `missing`: parts of the run that are not there; `without_frames`: clips without pictures."""

    file: Path
    size_bytes: int
    run: str
    cases: int
    clips_shown: int
    missing: tuple[str, ...]
    without_frames: tuple[str, ...]
    findings: tuple[str, ...]
    """The summary's sentences; empty without an evaluation."""


def write_report(
    run: Path,
    *,
    out: Path | None = None,
    frames: bool = True,
    videos: Path | None = None,
    tick: Callable[[int, int], None] = lambda done, total: None,
) -> Written:
    """Write the report of a run, finished or not, to `out` (report.html of its folder), mode 0600.

    frames: whether pictures of the clips are put in; from the clips under `videos` where it is given, else those that earlier
    commands kept on this machine. `tick(done, total)` is called for each clip. Raises InputError, ModelError, DeviceError.
    """
    found = collect(run)
    cases = found.evaluation.cases if found.evaluation else ()
    seen = strips(cases, found.settings, videos, tick=tick) if frames and cases else Strips({})
    page, file = report_page(found, seen, frames=frames), out or run / "report.html"
    write_private(file, page)
    return Written(
        file=file,
        size_bytes=len(page.encode()),
        run=found.run,
        cases=len(cases),
        clips_shown=len(seen.by_clip),
        missing=found.missing,
        without_frames=seen.missing,
        findings=tuple(summary(found.evaluation)) if found.evaluation else (),
    )


def report_page(found: Collected, seen: Strips, *, frames: bool) -> str:
    """The HTML. `frames`: whether pictures were wanted at all."""
    plot = training_plot(found.metrics)
    card = card_of(found)
    return render(
        "report.html.j2",
        script="review.js" if found.evaluation else "",
        title=f"srlite report: {found.run}",
        found=found,
        demonstration=found.demonstration,
        card=card,
        texts_changed=texts_changed(found),
        counts=data_counts(found),
        settings=list(settings_lines(card.settings)) if card else [],
        training=plot and (plot, Markup(plot.svg)),
        frames=frames,
        strips=seen,
        holds_pictures=bool(seen.by_clip),
        **(_evaluated(found, seen) if found.evaluation else {"evaluation": None}),
    )


def _evaluated(found: Collected, seen: Strips) -> dict[str, object]:
    """What the page has besides when there is an evaluation."""
    evaluation, audit, second = found.evaluation, found.evaluation.audit, found.evaluation.second_judge
    shown = shown_cases(evaluation, seen)
    of = lambda plot: plot and (plot, Markup(plot.svg))
    return {
        "evaluation": evaluation,
        "main": main_arm(evaluation),
        "sentences": summary(evaluation),
        "flow": flow_shown(evaluation),
        "paper": (paper_accuracy(evaluation), paper_coverage(evaluation)),
        "figures": figures(evaluation),
        "matrices": [matrix(name, arm) for name, arm in evaluation.arms.items()],
        "by_child": by_child(evaluation),
        "comparisons": comparisons(evaluation) if evaluation.comparisons else None,
        "items": items(evaluation),
        "strata": list(strata(evaluation)),
        "items_by_sex": items_by_sex(evaluation),
        "glossary": glossary(evaluation),
        "accuracy_plot": of(accuracy_plot(evaluation)),
        "recall_plot": of(recall_plot(evaluation)),
        "coverage_plot": of(coverage_plot(evaluation)),
        "coverage": coverage(evaluation),
        "reliability_plot": of(reliability_plot(evaluation)),
        "calibration": calibration(evaluation),
        "audit_plot": audit and of(audit_plot(audit)),
        "audit_tables": list(audit_tables(audit)) if audit else [],
        "second": second_judge_table(second) if second else None,
        "shown": shown,
        "kinds": KIND_WORDS,
        "script_data": script_data(evaluation, found.evaluation_sha256 or "", shown),
    }


def report_json(written: Written) -> dict[str, object]:
    """The document of schema srlite.report/1."""
    return {
        "schema": SCHEMA,
        "file": str(written.file),
        "bytes": written.size_bytes,
        "run": written.run,
        "cases": written.cases,
        "clips_shown": written.clips_shown,
        "findings": list(written.findings),
        "missing": list(written.missing),
        "without_frames": list(written.without_frames),
    }
