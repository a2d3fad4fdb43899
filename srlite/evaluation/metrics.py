"""Figures of one arm (base or adapted) from its decisions. The positive class is pass.

An undefined figure is None, never 0. `unable_to_assess` and unscored count as wrong in accuracy and as a miss in recall, and
are shown apart. Intervals are Wilson's at 95 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from srlite.describing import Decided


@dataclass(frozen=True, slots=True)
class Proportion:
    """A share of n with its Wilson interval; all None but n when n is 0."""

    value: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class ItemFigures:
    """One item's counts. unable_*: decided unable_to_assess where the outcome was pass / fail; unscored: no decision."""

    tp: int
    fn: int
    fp: int
    tn: int
    unable_pass: int
    unable_fail: int
    unscored: int
    unscored_pass: int

    @property
    def recall(self) -> float | None:
        return _ratio(self.tp, self.tp + self.fn + self.unable_pass + self.unscored_pass)

    @property
    def precision(self) -> float | None:
        return _ratio(self.tp, self.tp + self.fp)


@dataclass(frozen=True, slots=True)
class Arm:
    """All figures of one arm; truth only where the clips are of the demonstration world."""

    accuracy: Proportion
    abstention: Proportion
    relevance: Proportion
    truth: Proportion | None
    length_tokens: float | None
    items: Mapping[str, ItemFigures]

    @property
    def items_recall_above_half(self) -> int:
        return sum(1 for figures in self.items.values() if (figures.recall or 0) > 0.5)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def proportion(hits: Sequence[bool]) -> Proportion:
    """Wilson's interval (Wilson 1927, without continuity correction)."""
    if not hits:
        return Proportion(None, None, None, 0)
    from scipy.stats import binomtest

    interval = binomtest(sum(hits), len(hits)).proportion_ci(confidence_level=0.95, method="wilson")
    return Proportion(sum(hits) / len(hits), float(interval.low), float(interval.high), len(hits))


def item_figures(decided: Sequence[Decided]) -> ItemFigures:
    """Counts over the matched pairs of one item."""
    seen = [(d.pair.outcome, d.decision) for d in decided]
    count = lambda outcome, decision: sum(1 for s in seen if s == (outcome, decision))  # noqa: E731
    return ItemFigures(
        tp=count("pass", "pass"),
        fn=count("pass", "fail"),
        fp=count("fail", "pass"),
        tn=count("fail", "fail"),
        unable_pass=count("pass", "unable_to_assess"),
        unable_fail=count("fail", "unable_to_assess"),
        unscored=count("pass", None) + count("fail", None),
        unscored_pass=count("pass", None),
    )


def arm_figures(decided: Sequence[Decided], true: Sequence[bool] | None = None) -> Arm:
    """`true`: for each description whether it is true of its clip, in the same order."""
    matched = [d for d in decided if d.pair.matched]
    unrelated = [d for d in decided if not d.pair.matched]
    codes = sorted({d.pair.item for d in matched})
    relevant = [d.verdicts["relevant"].answer for d in decided]
    return Arm(
        accuracy=proportion([d.decision == d.pair.outcome for d in matched]),
        abstention=proportion([d.decision == "unable_to_assess" for d in unrelated]),
        relevance=proportion([answer == "yes" for answer in relevant if answer != "unscored"]),
        truth=None if true is None else proportion(true),
        length_tokens=_ratio(sum(d.tokens for d in decided), len(decided)),
        items={code: item_figures([d for d in matched if d.pair.item == code]) for code in codes},
    )
