"""Sentences and figures against counts made by hand."""

import pytest
from report.documents import case, estimate, evaluation, said

from srlite.evaluation.comparison import compare
from srlite.report.numbers import in_table, in_words, p_value, percent
from srlite.report.words import compared, summary


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0, "0%"),
        (1, "100%"),
        (0.5, "50%"),
        (369 / 370, "99.7%"),
        (0.9999, "over 99.9%"),
        (0.0001, "under 0.1%"),
        (0.004, "0.4%"),
    ],
)
def test_nearly_all_is_not_all(share, words):
    assert percent(share) == words


def test_undefined_is_said_with_its_reason():
    none = estimate([])
    assert in_words(none) == in_table(none) == "n/a: no such pairs"


def test_an_estimate_comes_with_its_interval():
    # Wilson, 7 of 10: 0.3968 to 0.8922 (Newcombe 1998 gives the method; statsmodels the same figures)
    assert in_words(estimate([True] * 7 + [False] * 3)) == "70% (95% interval 40% to 89%)"
    assert in_table(estimate([True] * 7 + [False] * 3)) == "0.70 (0.40 to 0.89)"


def test_p_values():
    assert [p_value(p) for p in (None, 0.0001, 0.0312, 0.5)] == ["no test", "p < 0.001", "p = 0.031", "p = 0.50"]


def found(*pairs):
    """A document of matched (outcome, decision) pairs and unrelated (None, decision) ones, after training only."""
    cases = [case(i, "30_1", outcome, {"adapted": said(decision)}) for i, (outcome, decision) in enumerate(pairs)]
    return evaluation(tuple(cases), ("adapted",))


def test_the_summary_counts_what_a_person_counts():
    ten = [("pass", "pass")] * 6 + [("pass", "fail")] + [("fail", "fail")] + [("fail", "pass")] + [("pass", "unable_to_assess")]
    words = summary(found(*ten, (None, "unable_to_assess"), (None, "pass")))
    assert words[0].startswith(
        "The decision agreed with the clinician's outcome in 7 of 10 test pairs of a clip and its item: 70%"
    )
    assert 'Always answering "pass", without looking at any clip, would agree in 80%' in words[1]
    assert "with so few pairs, these decisions cannot be told from that" in words[1]
    assert any("found pass (8), the decision was pass in 6" in w and "found fail (2), it was fail in 1" in w for w in words)
    assert any(w.startswith('1 pair of a clip and its item got "unable to assess", 0 no decision') for w in words)
    assert any("it declined to assess in 1 of 2 pairs: 50%" in w for w in words)


def test_better_and_worse_than_the_majority_are_told_apart():
    better = [("pass", "pass")] * 50 + [("fail", "fail")] * 50
    worse = [("pass", "fail")] * 50 + [("fail", "pass")] * 50
    assert "do better than that" in summary(found(*better))[1]
    assert "do worse than that" in summary(found(*worse))[1]


def test_without_an_outcome_there_is_no_accuracy_and_that_is_said():
    assert summary(found((None, "pass")))[0].startswith("No accuracy can be given: no valid examples")


def test_a_comparison_says_what_chance_may_do():
    cases = [case(i, "30_1", "pass", {"base": said("fail"), "adapted": said("pass")}) for i in range(9)]
    change = compare(cases, "base", "adapted", seed=0)
    assert "is 100 percentage points higher than before training" in compared(change)
    assert "9 pairs became right and 0 became wrong (exact McNemar test, p = 0.004)" in compared(change)
    assert compared(change).endswith("Chance alone would rarely make such a change.")
    assert compared(change.model_copy(update={"p": 0.3})).endswith("Chance alone may explain such a change.")


def test_two_prompts_are_told_apart_by_the_prompt():
    cases = [case(i, "30_1", "pass", {"generic": said("fail"), "base": said("pass")}) for i in range(9)]
    words = compared(compare(cases, "generic", "base", seed=0))
    opening = "Agreement before training with the item's own prompt is 100 percentage points higher than with the broad prompt"
    assert words.startswith(opening)
    none = compared(compare((), "generic", "base", seed=0))
    assert none.startswith("Agreement with the broad prompt and before training with the item's own prompt cannot be compared")


@pytest.mark.parametrize(("passless", "more"), [(0, ""), (1, "; 1 more has"), (2, "; 2 more have")])
def test_items_without_a_pass_are_counted_apart(passless, more):
    found = [case(i, "30_1", "pass", {"adapted": said("pass")}) for i in range(3)]
    found += [case(10 + i, item, "fail", {"adapted": said("fail")}) for i, item in enumerate(["18_4", "6_3"][:passless])]
    words = summary(evaluation(tuple(found), ("adapted",)))
    ending = f"{more} no pass in the test part" if more else ""
    assert f"For 1 of 1 item, more than half of the passes were found{ending}." in words


def test_without_any_pass_there_is_no_share_of_items():
    words = summary(found(("fail", "fail")))
    assert "No item has a pass in the test part: how many of the passes were found cannot be said." in words
