"""The threshold of a judge that leans to one side: chosen on labels, never on what the judge is then measured with.

Contract: pure numbers. The threshold with the largest sensitivity + specificity - 1 (Youden 1950); the present one stays
where no other is better, and where there are too few labels of either answer to tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

LEAST = 10
"""Labels of each answer that are needed."""
_DIGITS = 4
_EDGE = 10.0**-_DIGITS


def youden(scored: Sequence[tuple[float, bool]], threshold: float) -> float:
    """Sensitivity + specificity - 1 of (probability of yes, the person's yes) at a threshold. Both answers must be there."""
    right = {wanted: [(p >= threshold) == wanted for p, w in scored if w == wanted] for wanted in (True, False)}
    return sum(sum(hits) / len(hits) for hits in right.values()) - 1


def chosen(scored: Sequence[tuple[float, bool]], present: float) -> float | None:
    """A better threshold than the present one, or None. Between two probabilities it lies in the middle of their log-odds."""
    yes = sum(wanted for _, wanted in scored)
    if min(yes, len(scored) - yes) < LEAST:
        return None
    odds = sorted({_log_odds(p) for p, _ in scored})
    between = [round(1 / (1 + math.exp(-(a + b) / 2)), _DIGITS) for a, b in zip(odds, odds[1:], strict=False)]
    inside = sorted((t for t in between if 0 < t < 1), key=lambda t: (-youden(scored, t), abs(t - present)))
    better = inside and youden(scored, inside[0]) > youden(scored, present)
    return inside[0] if better else None


def _log_odds(probability: float) -> float:
    p = min(max(probability, _EDGE / 2), 1 - _EDGE / 2)
    return math.log(p / (1 - p))
