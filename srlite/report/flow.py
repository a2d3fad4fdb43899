"""Where the records went, as STARD asks of a study of diagnostic accuracy: in, left out and why, assessed, decided."""

from __future__ import annotations

from dataclasses import dataclass

from srlite.evaluation.document import Evaluation
from srlite.report.tables import Table
from srlite.report.words import DECISION_WORDS, arm_words

_DECISIONS = ("pass", "fail", "unable_to_assess", "unscored")


@dataclass(frozen=True, slots=True)
class FlowShown:
    """Counts of rows, records and pairs. Matched: a clip with its own item; unrelated: with another."""

    rows: int
    no_outcome: int
    records: int
    train: int
    validation: int
    test: int
    matched: int
    matched_unreadable: int
    unrelated: int
    unrelated_unreadable: int
    decisions: Table


def flow_shown(evaluation: Evaluation) -> FlowShown:
    flow, cases = evaluation.flow, evaluation.cases
    matched = [case for case in cases if case.outcome]
    unrelated = [case for case in cases if not case.outcome]
    return FlowShown(
        rows=flow.records + flow.no_outcome,
        no_outcome=flow.no_outcome,
        records=flow.records,
        train=flow.train,
        validation=flow.validation,
        test=flow.test,
        matched=len(matched),
        matched_unreadable=sum(case.unreadable is not None for case in matched),
        unrelated=len(unrelated),
        unrelated_unreadable=sum(case.unreadable is not None for case in unrelated),
        decisions=_decisions(evaluation),
    )


def _decisions(evaluation: Evaluation) -> Table:
    rows = []
    for name, counts in evaluation.flow.decisions.items():
        shown = [counts.get(decision, 0) for decision in _DECISIONS]
        rows.append((arm_words(name), *(f"{n:,}" for n in shown), f"{sum(shown):,}"))
    head = ("", *(DECISION_WORDS[decision] for decision in _DECISIONS), "all")
    return Table("Decisions about the pairs of a clip and its item", head, tuple(rows))
