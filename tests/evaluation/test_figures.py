"""Figures of an arm against counts made by hand; what is undefined has a reason and is never 0 (known faults F3 and F4)."""

import warnings

import pytest
from cases_by_hand import BASIS, case, cases, said

from srlite.evaluation.figures import arm_figures, figures_of, item_figures

EVERY = [(outcome, decision) for outcome in ("pass", "fail") for decision in ("pass", "fail", "unable_to_assess", None)]


@pytest.fixture(autouse=True)
def no_bare_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_unable_and_unscored_are_misses_and_shown_apart():
    found = item_figures(cases(*EVERY), "adapted")
    assert (found.tp, found.fn, found.fp, found.tn) == (1, 1, 1, 1)
    assert (found.unable_pass, found.unable_fail, found.unscored) == (1, 1, 2)
    assert found.recall == pytest.approx(1 / 4) and found.precision == pytest.approx(1 / 2)


def test_abstentions_are_counted_both_ways():
    """Two right of eight; of the four that were decided, two."""
    found = figures_of(cases(*EVERY), "adapted")
    assert (found.accuracy.value, found.accuracy.n) == (2 / 8, 8)
    assert (found.accuracy_decided.value, found.accuracy_decided.n) == (2 / 4, 4)
    assert (found.sensitivity.value, found.specificity.value, found.balanced_accuracy.value) == (1 / 4, 1 / 4, 1 / 4)
    assert (found.ppv.value, found.npv.value) == (1 / 2, 1 / 2)
    assert (found.base_rate, found.majority) == (1 / 2, 1 / 2)


def test_they_are_scikit_learns():
    from sklearn.metrics import balanced_accuracy_score, precision_score, recall_score

    rows = [("pass", "pass")] * 17 + [("pass", "fail")] * 4 + [("fail", "pass")] * 3 + [("fail", "fail")] * 9
    found = figures_of(cases(*rows), "adapted")
    true, told = zip(*rows, strict=True)
    assert found.sensitivity.value == pytest.approx(recall_score(true, told, pos_label="pass"))
    assert found.specificity.value == pytest.approx(recall_score(true, told, pos_label="fail"))
    assert found.ppv.value == pytest.approx(precision_score(true, told, pos_label="pass"))
    assert found.npv.value == pytest.approx(precision_score(true, told, pos_label="fail"))
    assert found.balanced_accuracy.value == pytest.approx(balanced_accuracy_score(true, told))


def test_twelve_negatives_told_negative():
    """F3: nothing of the positives is 0 or NaN; the matrix keeps its four cells."""
    found = figures_of(cases(*[("fail", "fail")] * 12), "adapted")
    counts = found.matrix.model_dump()
    assert {"tp", "fn", "fp", "tn"} < set(counts) and {name for name, n in counts.items() if n} == {"tn"} and counts["tn"] == 12
    undefined = {name: getattr(found, name) for name in ("sensitivity", "ppv", "balanced_accuracy")}
    assert {name: (e.value, e.low, e.reason) for name, e in undefined.items()} == {
        "sensitivity": (None, None, "no pairs with outcome pass"),
        "ppv": (None, None, "no pairs decided pass"),
        "balanced_accuracy": (None, None, "no pairs with outcome pass"),
    }
    assert found.specificity.value == found.npv.value == found.accuracy.value == 1.0
    assert found.base_rate == 0.0 and found.majority == 1.0


def test_a_mean_over_items_leaves_undefined_ones_out_and_says_so():
    """F3: the mean over 0.9, undefined and 0.8 is 0.85, of two items."""
    rows = cases(*[("pass", "pass")] * 9, ("pass", "fail"), item="A") + cases(("fail", "fail"), item="B")
    rows += cases(*[("pass", "pass")] * 4, ("pass", "fail"), item="C")
    found = arm_figures(rows, "adapted", BASIS).macro_recall
    assert (found.value, found.n) == (pytest.approx(0.85), 2) and "undefined for 1 of 3 items" in found.reason
    nobody = arm_figures(cases(("fail", "fail")), "adapted", BASIS).macro_recall
    assert (nobody.value, nobody.n, nobody.reason) == (None, 0, "no item has pairs with outcome pass")


def test_369_to_1_and_always_the_common_answer():
    """F4: accuracy .997 is what the majority baseline reaches; balanced accuracy .5; the rare class is said to be too rare."""
    rows = cases(*[("pass", "pass")] * 369, ("fail", "pass"))
    found, by_child = figures_of(rows, "adapted"), arm_figures(rows, "adapted", BASIS).by_child
    assert found.accuracy.value == found.majority == found.base_rate == pytest.approx(0.997, abs=5e-4)
    assert found.balanced_accuracy.value == 0.5
    assert (found.specificity.low, found.specificity.high) == (0.0, pytest.approx(0.975))  # Clopper-Pearson of 0 of 1
    assert found.sensitivity.low == pytest.approx(0.025 ** (1 / 369)) and found.sensitivity.high == 1.0
    assert found.few == "too few to say much: 1 with outcome fail (below 10)"
    assert by_child.specificity.low is None and by_child.specificity.reason.endswith("have no pairs with outcome fail")
    assert by_child.accuracy.low < 0.997 <= by_child.accuracy.high and by_child.children == 370


def test_one_positive_that_is_found():
    found = figures_of(cases(("pass", "pass"), *[("fail", "fail")] * 20), "adapted")
    assert (found.sensitivity.low, found.sensitivity.high) == (pytest.approx(0.025), 1.0)
    assert found.balanced_accuracy.value == 1.0 and found.balanced_accuracy.low < 0.52
    assert found.few == "too few to say much: 1 with outcome pass (below 10)"


def test_an_arm_counts_matched_and_unrelated_pairs_apart():
    rows = cases(("pass", "pass"), ("fail", None), (None, "unable_to_assess"), (None, "pass"), (None, None))
    arm = arm_figures(rows, "adapted", BASIS)
    assert (arm.accuracy.value, arm.accuracy.n) == (1 / 2, 2)
    assert (arm.abstention.value, arm.abstention.n) == (pytest.approx(1 / 3), 3)
    assert arm.truth is None and arm.length_tokens == 10 and arm.relevance.n == 5


def test_a_pair_that_could_not_be_read_is_in_no_figure():
    rows = cases(("pass", "pass")) + [case("fail", number=7, unreadable="no video")]
    arm = arm_figures(rows, "adapted", BASIS)
    assert arm.accuracy.n == 1 and arm.overall.matrix.failed == 0


def test_unscored_relevance_is_left_out_and_truth_is_a_share():
    told = [said("pass", true=True), said("pass", relevant="unscored", true=False), said("pass", relevant="no", true=True)]
    arm = arm_figures([case("pass", number=i, adapted=s) for i, s in enumerate(told)], "adapted", BASIS)
    assert (arm.relevance.value, arm.relevance.n) == (1 / 2, 2)
    assert (arm.truth.value, arm.truth.n) == (pytest.approx(2 / 3), 3)


def test_items_above_half_are_counted_strictly():
    rows = cases(("pass", "pass"), ("pass", "fail"), item="A") + cases(("pass", "pass"), item="B")
    rows += cases(("fail", "fail"), item="C")
    assert arm_figures(rows, "adapted", BASIS).items_recall_above_half == 1


def test_without_any_pair_everything_is_undefined():
    arm = arm_figures([], "adapted", BASIS)
    assert {arm.accuracy.reason, arm.by_child.accuracy.reason} == {"no valid examples"}
    assert {arm.length_tokens, arm.overall.base_rate, arm.overall.majority, arm.truth} == {None} and arm.coverage == ()
    assert arm.calibration.reason == "no pairs whose evidence suffices"


def test_children_are_resampled_with_all_their_clips():
    """Five children, four clips each, three of them always told right: what is known is known of five."""
    rows = [
        case("pass", number=4 * child + i, child=f"c{child}", adapted="pass" if child < 3 else "fail")
        for child in range(5)
        for i in range(4)
    ]
    arm = arm_figures(rows, "adapted", BASIS)
    assert arm.by_child.children == 5 and arm.by_child.unnamed == 0
    assert arm.by_child.accuracy.value == arm.accuracy.value == pytest.approx(0.6)
    assert arm.by_child.accuracy.low < arm.accuracy.low and arm.by_child.accuracy.high > arm.accuracy.high


def test_clips_without_a_child_are_said_to_be():
    rows = [case("pass", number=i, child="c" if i else None, adapted="pass") for i in range(3)]
    assert (arm_figures(rows, "adapted", BASIS).by_child.children, arm_figures(rows, "adapted", BASIS).by_child.unnamed) == (
        2,
        1,
    )
