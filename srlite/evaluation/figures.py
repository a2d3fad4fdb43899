"""Figures of an arm: pure functions of the cases and of what Basis holds. The positive class is pass.

`unable_to_assess` and unscored count as wrong in accuracy and as a miss in sensitivity and specificity, and are shown apart.
Undefined is None with the reason. Shares of all pairs have Wilson's interval, the others Clopper and Pearson's (intervals.py);
`by_child` has those that resample children (bootstrap.py). A pair that could not be read is in no figure: flow.py counts it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from srlite.evaluation.bootstrap import child_of, ratio
from srlite.evaluation.coverage import calibration, risk_coverage
from srlite.evaluation.document import Arm, ArmName, ByChild, Case, Estimate, Figures, ItemFigures, Matrix
from srlite.evaluation.intervals import exact_share, mean_of_two, proportion, share
from srlite.evaluation.strata import by_sex, strata
from srlite.types import Item, Outcome

FEW = 10
"""Pairs of an outcome below which a share of them says little: of 9 that are all right, 2 in 3 may be (Clopper-Pearson)."""
_MATCHED = {
    ("pass", "pass"): "tp",
    ("pass", "fail"): "fn",
    ("fail", "pass"): "fp",
    ("fail", "fail"): "tn",
    ("pass", "unable_to_assess"): "unable_pass",
    ("fail", "unable_to_assess"): "unable_fail",
    ("pass", None): "unscored_pass",
    ("fail", None): "unscored_fail",
}


@dataclass(frozen=True)
class Basis:
    """What figures need besides the cases. items: those that the records name. thresholds: question id -> least p(yes) that is
    a yes. seed: of the resamples."""

    items: Sequence[Item]
    thresholds: Mapping[str, float]
    seed: int


def assessed(cases: Sequence[Case], arm: ArmName, *, matched: bool) -> list[Case]:
    """The cases of one kind that the arm said something of."""
    return [c for c in cases if c.matched == matched and arm in c.arms]


def right(case: Case, arm: ArmName) -> bool:
    """The decision is the clinician's; of an unrelated pair, that it cannot be assessed."""
    return case.arms[arm].decision == (case.outcome or "unable_to_assess")


def matrix_of(cases: Sequence[Case], arm: ArmName) -> Matrix:
    """Counts over the matched pairs among the cases."""
    found = Counter(_MATCHED[c.outcome, c.arms[arm].decision] for c in assessed(cases, arm, matched=True))
    return Matrix(**{name: found[name] for name in _MATCHED.values()})


def figures_of(cases: Sequence[Case], arm: ArmName) -> Figures:
    """Figures over the matched pairs among the cases."""
    m = matrix_of(cases, arm)
    n, hits = m.passed + m.failed, m.tp + m.tn
    found = exact_share(m.tp, m.passed, of="pairs with outcome pass")
    refused = exact_share(m.tn, m.failed, of="pairs with outcome fail")
    return Figures(
        matrix=m,
        accuracy=share(hits, n, of="valid examples"),
        accuracy_decided=share(hits, m.decided, of="pairs decided pass or fail"),
        sensitivity=found,
        specificity=refused,
        ppv=exact_share(m.tp, m.tp + m.fp, of="pairs decided pass"),
        npv=exact_share(m.tn, m.tn + m.fn, of="pairs decided fail"),
        balanced_accuracy=mean_of_two(found, refused),
        base_rate=m.passed / n if n else None,
        majority=max(m.passed, m.failed) / n if n else None,
        few=_few(m),
    )


def item_figures(cases: Sequence[Case], arm: ArmName) -> ItemFigures:
    """Of the cases of one item."""
    f = figures_of(cases, arm)
    m = f.matrix
    return ItemFigures(
        recall=f.sensitivity.value,
        precision=f.ppv.value,
        tp=m.tp,
        fn=m.fn,
        fp=m.fp,
        tn=m.tn,
        unable_pass=m.unable_pass,
        unable_fail=m.unable_fail,
        unscored=m.unscored_pass + m.unscored_fail,
        figures=f,
        by_sex={sex: figures_of(group, arm) for sex, group in by_sex(cases).items()},
    )


def arm_figures(cases: Sequence[Case], arm: ArmName, basis: Basis) -> Arm:
    """All figures of the arm."""
    matched, unrelated = (assessed(cases, arm, matched=kind) for kind in (True, False))
    said = [c.arms[arm] for c in (*matched, *unrelated)]
    relevant = [s.verdicts["relevant"].answer for s in said]
    true = [s.true for s in said]
    overall, items = figures_of(matched, arm), items_of(matched, arm)
    return Arm(
        accuracy=overall.accuracy,
        abstention=proportion([right(c, arm) for c in unrelated], of="unrelated pairs"),
        relevance=proportion([a == "yes" for a in relevant if a != "unscored"], of="descriptions whose relevance is scored"),
        truth=proportion(true) if true and None not in true else None,
        length_tokens=sum(s.tokens for s in said) / len(said) if said else None,
        items_recall_above_half=len(above_half(matched, arm)),
        macro_recall=_macro([f.recall for f in items.values()], "pairs with outcome pass"),
        macro_precision=_macro([f.precision for f in items.values()], "pairs decided pass"),
        items=items,
        overall=overall,
        by_child=_by_child(matched, unrelated, arm, basis.seed),
        strata={
            name: {group: figures_of(members, arm) for group, members in groups.items()}
            for name, groups in strata(matched, basis.items).items()
        },
        coverage=risk_coverage(matched, arm, basis.thresholds),
        calibration=calibration(matched, arm),
    )


def items_of(matched: Sequence[Case], arm: ArmName) -> dict[str, ItemFigures]:
    """Code -> figures, for every item that has matched pairs."""
    return {code: item_figures(group, arm) for code, group in _by_item(matched).items()}


def above_half(matched: Sequence[Case], arm: ArmName) -> frozenset[str]:
    """The items whose recall is above one half, as the paper counts them."""
    counts = {code: matrix_of(group, arm) for code, group in _by_item(matched).items()}
    return frozenset(code for code, m in counts.items() if 2 * m.tp > m.passed)


def _by_item(cases: Sequence[Case]) -> dict[str, list[Case]]:
    return {code: [c for c in cases if c.item == code] for code in sorted({c.item for c in cases})}


def _macro(values: Sequence[float | None], of: str) -> Estimate:
    """The mean over the items where it is defined."""
    defined = [v for v in values if v is not None]
    if not defined:
        return Estimate(value=None, n=0, reason=f"no item has {of}")
    left_out = f"; undefined for {len(values) - len(defined)} of {len(values)} items" if len(defined) < len(values) else ""
    return Estimate(value=sum(defined) / len(defined), n=len(defined), reason=f"a mean over items, without interval{left_out}")


def _few(m: Matrix) -> str | None:
    counts = (("pass", m.passed), ("fail", m.failed))
    said = [f"{n} with outcome {outcome}" for outcome, n in counts if n < FEW]
    return f"too few to say much: {' and '.join(said)} (below {FEW})" if said else None


def _by_child(matched: Sequence[Case], unrelated: Sequence[Case], arm: ArmName, seed: int) -> ByChild:
    named = {child_of(c): c.child is not None for c in (*matched, *unrelated)}
    by_outcome = lambda outcome: _resampled(matched, arm, seed, f"pairs with outcome {outcome}", outcome)
    return ByChild(
        children=len(named),
        unnamed=sum(not known for known in named.values()),
        accuracy=_resampled(matched, arm, seed, "valid examples"),
        sensitivity=by_outcome("pass"),
        specificity=by_outcome("fail"),
        abstention=_resampled(unrelated, arm, seed, "unrelated pairs"),
    )


def _resampled(cases: Sequence[Case], arm: ArmName, seed: int, of: str, outcome: Outcome | None = None) -> Estimate:
    """The share of right decisions among those with the outcome, or all; the children of all of them are drawn."""
    counted = [outcome is None or c.outcome == outcome for c in cases]
    hits = [right(c, arm) and used for c, used in zip(cases, counted, strict=True)]
    return ratio(hits, counted, [child_of(c) for c in cases], seed=seed, of=of)
