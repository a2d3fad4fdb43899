"""How far the judge's probabilities can be trusted: risk against coverage, and calibration.

risk_coverage  What if answers near the threshold were taken for no answer? As the unsure band grows, fewer pairs are decided
               pass or fail (coverage), and those that are should be wrong less often (risk). An arm whose risk does not fall is
               as wrong where the judge is sure as where it is not.
calibration    Of pairs whose description is told to meet the criterion with probability 0.8, 8 in 10 should have passed.

Positive class: pass. Undefined is None. Matched pairs only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from srlite.evaluation.document import ArmName, Bin, Calibration, Case, Covered, Judged, Said
from srlite.judge.decision import DECISION_QUESTIONS, decide
from srlite.types import Decision, Verdict

BANDS = (*(step / 50 for step in range(25)), 0.49, 0.495, 0.499, 0.5)
"""Half widths of the unsure band: 0 to 0.48 in steps of 0.02, then finer: most probabilities of a judge are close to 0 or 1."""
EDGES = tuple(step / 10 for step in range(11))
"""Of the bins of p(met): ten of equal width, each above its lower edge and up to its upper one; the first holds 0, too."""


def risk_coverage(matched: Sequence[Case], arm: ArmName, thresholds: Mapping[str, float]) -> tuple[Covered, ...]:
    """One point a band, none without pairs. At band 0 the decisions are those of the cases."""
    return tuple(_covered(matched, arm, thresholds, band) for band in BANDS if matched)


def _covered(matched: Sequence[Case], arm: ArmName, thresholds: Mapping[str, float], band: float) -> Covered:
    decisions = [(decision_within(c.arms[arm], thresholds, band), c.outcome) for c in matched]
    decided = [decision == outcome for decision, outcome in decisions if decision in ("pass", "fail")]
    return Covered(
        band=band,
        coverage=len(decided) / len(matched),
        risk=1 - sum(decided) / len(decided) if decided else None,
        decided=len(decided),
    )


def decision_within(said: Said, thresholds: Mapping[str, float], band: float) -> Decision | None:
    """The decision when probabilities less than `band` from their threshold are no answer."""
    return decide({q: _verdict(said.verdicts[q], thresholds[q], band) for q in DECISION_QUESTIONS})


def _verdict(judged: Judged, threshold: float, band: float) -> Verdict:
    unsure = judged.probability is not None and abs(judged.probability - threshold) < band
    return Verdict("unscored" if unsure else judged.answer, judged.probability, judged.mass)


def calibration(matched: Sequence[Case], arm: ArmName) -> Calibration:
    """Over the pairs whose `met` decides: the evidence suffices and is no echo. Brier's score (1950): the mean of
    (p - passed)^2."""
    pairs = [(p, c.outcome == "pass") for c in matched if (p := _probability(c.arms[arm])) is not None]
    bins = tuple(_bin(pairs, low, high) for low, high in zip(EDGES, EDGES[1:], strict=False))
    if not pairs:
        return Calibration(brier=None, n=0, bins=bins, reason="no pairs whose evidence suffices")
    from sklearn.metrics import brier_score_loss

    brier = brier_score_loss([int(passed) for _, passed in pairs], [p for p, _ in pairs], pos_label=1)
    return Calibration(brier=float(brier), n=len(pairs), bins=bins)


def _probability(said: Said) -> float | None:
    """p(met), where it is needed."""
    evidence, met, echo = (said.verdicts[q] for q in DECISION_QUESTIONS)
    return met.probability if evidence.answer == "yes" and echo.answer == "no" else None


def _bin(pairs: Sequence[tuple[float, bool]], low: float, high: float) -> Bin:
    inside = [(p, passed) for p, passed in pairs if low < p <= high or (p == 0 == low)]
    n = len(inside)
    return Bin(
        low=low,
        high=high,
        n=n,
        mean_probability=sum(p for p, _ in inside) / n if n else None,
        share_passed=sum(passed for _, passed in inside) / n if n else None,
    )
