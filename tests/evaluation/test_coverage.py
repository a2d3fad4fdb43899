"""Risk against coverage by hand, calibration against scikit-learn."""

import numpy as np
import pytest
from cases_by_hand import HALF, case, cases, said
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from srlite.evaluation.coverage import BANDS, EDGES, calibration, decision_within, risk_coverage
from srlite.evaluation.figures import figures_of

SURE_AND_RIGHT = said("pass", evidence=0.99, met=0.95)
UNSURE_AND_WRONG = said("pass", evidence=0.99, met=0.55)


def met(p):
    return said("pass" if p >= 0.5 else "fail", evidence=0.99, met=float(p))


def test_wrong_answers_near_the_threshold_are_given_up_first():
    rows = [case("pass", number=0, adapted=SURE_AND_RIGHT), case("fail", number=1, adapted=UNSURE_AND_WRONG)]
    found = {c.band: (c.decided, c.coverage, c.risk) for c in risk_coverage(rows, "adapted", HALF)}
    assert found[0.0] == found[0.04] == (2, 1.0, 0.5)
    assert found[0.06] == found[0.38] == (1, 0.5, 0.0)
    assert found[0.42] == found[0.499] == found[0.5] == (0, 0.0, None)  # echo: no, with 0.1


def test_without_a_band_the_decisions_are_those_of_the_cases():
    rows = cases(*[(o, d) for o in ("pass", "fail") for d in ("pass", "fail", "unable_to_assess", None)])
    first, figures = risk_coverage(rows, "adapted", HALF)[0], figures_of(rows, "adapted")
    assert (first.coverage, first.risk) == (figures.accuracy_decided.n / 8, 1 - figures.accuracy_decided.value)


def test_coverage_only_shrinks():
    rows = [case("pass", number=i, adapted=met(p)) for i, p in enumerate(np.random.default_rng(0).random(50))]
    shares = [c.coverage for c in risk_coverage(rows, "adapted", HALF)]
    assert shares == sorted(shares, reverse=True) and len(shares) == len(BANDS) and shares[0] == 1 > shares[-1]


def test_the_band_lies_around_each_questions_own_threshold():
    assert decision_within(said("pass", evidence=0.99, met=0.72), {**HALF, "met": 0.7}, 0.05) is None
    assert decision_within(said("pass", evidence=0.99, met=0.78), {**HALF, "met": 0.7}, 0.05) == "pass"


def test_insufficient_evidence_stays_insufficient_whatever_met_is():
    assert decision_within(said("unable_to_assess", evidence=0.01, met=0.5), HALF, 0.3) == "unable_to_assess"


def test_calibration_is_scikit_learns():
    rng = np.random.default_rng(1)
    p = np.round(rng.random(200), 6)
    passed = rng.random(200) < p
    found = calibration([case("pass" if y else "fail", number=i, adapted=met(p[i])) for i, y in enumerate(passed)], "adapted")
    share, mean = calibration_curve(passed, p, n_bins=len(EDGES) - 1, strategy="uniform")
    filled = [b for b in found.bins if b.n]
    assert [b.share_passed for b in filled] == pytest.approx(list(share))
    assert [b.mean_probability for b in filled] == pytest.approx(list(mean))
    assert found.brier == pytest.approx(np.mean((p - passed) ** 2)) == brier_score_loss(passed, p)
    assert found.n == 200 == sum(b.n for b in found.bins)


@pytest.mark.parametrize(("p", "at"), [(0.0, 0), (0.1, 0), (0.100001, 1), (1.0, 9)])
def test_an_edge_belongs_to_the_bin_below_it(p, at):
    assert [b.n for b in calibration([case("pass", adapted=met(p))], "adapted").bins].index(1) == at


def test_only_pairs_whose_evidence_suffices_are_calibrated():
    found = calibration(cases(("pass", "unable_to_assess"), ("pass", None), ("pass", "pass")), "adapted")
    assert found.n == 1 and found.brier == pytest.approx((1 - 0.9) ** 2)
    nobody = calibration(cases(("pass", None)), "adapted")
    assert (nobody.brier, nobody.n, nobody.reason) == (None, 0, "no pairs whose evidence suffices")
    assert len(nobody.bins) == 10 and {b.share_passed for b in nobody.bins} == {None}
