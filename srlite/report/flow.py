"""Where the records went, as STARD asks of a study of diagnostic accuracy: in, left out and why, assessed, decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from srlite.evaluation.document import ArmName, Evaluation, Flow
from srlite.evaluation.flow import KINDS
from srlite.report.tables import Table
from srlite.report.words import DECISION_WORDS, arm_words


@dataclass(frozen=True, slots=True)
class FlowShown:
    """The counts, and the decisions about both kinds of pairs. Matched: a clip with its own item; unrelated: with another."""

    counts: Flow
    matched: int
    unrelated: int
    unreadable_unrelated: int
    decisions: tuple[Table, ...]


def flow_shown(evaluation: Evaluation) -> FlowShown:
    flow = evaluation.flow
    unreadable_unrelated = flow.unreadable_pairs - flow.unreadable_matched
    tables = [_decisions("Decisions about a clip and its item", flow.decisions)]
    if flow.unrelated_decisions:
        tables.append(_decisions("Decisions about a clip and an unrelated item", flow.unrelated_decisions))
    return FlowShown(
        counts=flow,
        matched=flow.test_pairs + flow.unreadable_matched,
        unrelated=flow.unrelated_pairs + unreadable_unrelated,
        unreadable_unrelated=unreadable_unrelated,
        decisions=tuple(tables),
    )


def _decisions(title: str, by_arm: Mapping[ArmName, Mapping[str, int]]) -> Table:
    rows = []
    for name, counts in by_arm.items():
        shown = [counts.get(decision, 0) for decision in KINDS]
        rows.append((arm_words(name), *(f"{n:,}" for n in shown), f"{sum(shown):,}"))
    head = ("", *(DECISION_WORDS[decision] for decision in KINDS), "all")
    return Table(title, head, tuple(rows))
