"""Rewards from verdicts: all three states of every question, both kinds of pair."""

import itertools
from functools import partial

import pytest

from srlite.training.reward import MATCHED_QUESTIONS, MISMATCHED_QUESTIONS, questions_for, reward
from srlite.types import Pair, Verdict

ALL = ("outcome", "unrelated", "relevance", "quality")
PASS, FAIL, UNRELATED = (
    Pair("a.mp4", "30_1", "pass"),
    Pair("a.mp4", "30_1", "fail"),
    Pair("a.mp4", "18_3", None),
)


binary = partial(reward, graded=False)


def verdicts(**answers):
    given = dict(evidence="yes", met="yes", relevant="yes", well_formed="yes", abstains="no", echo="no") | answers
    return {q: Verdict(a, None if a == "unscored" else float(a == "yes"), 1.0) for q, a in given.items()}


@pytest.mark.parametrize(
    ("pair", "answers", "outcome"),
    [
        (PASS, {}, 1.0),
        (PASS, {"met": "no"}, 0.0),
        (FAIL, {}, 0.0),
        (FAIL, {"met": "no"}, 1.0),
        (PASS, {"evidence": "no"}, 0.0),
        (FAIL, {"evidence": "no", "met": "no"}, 0.0),
        (FAIL, {"evidence": "no", "met": "unscored"}, 0.0),
        (PASS, {"met": "unscored"}, None),
        (PASS, {"evidence": "unscored"}, None),
    ],
)
def test_outcome_needs_sufficient_evidence_and_agreement(pair, answers, outcome):
    found = binary(pair, verdicts(**answers), ALL)
    assert found.outcome == outcome
    assert found.unrelated is None
    assert found.total == (None if outcome is None else outcome + 2.0)


def test_a_mismatched_pair_earns_by_abstaining():
    assert binary(UNRELATED, verdicts(abstains="yes", evidence="no"), ALL).total == 3.0
    assert binary(UNRELATED, verdicts(abstains="no"), ALL).total == 2.0
    assert binary(UNRELATED, verdicts(), ALL).outcome is None


def test_an_echo_of_the_criterion_earns_nothing():
    for pair in (PASS, FAIL, UNRELATED):
        assert binary(pair, verdicts(echo="yes", abstains="yes"), ALL).total == 0.0


@pytest.mark.parametrize("pair", [PASS, UNRELATED])
def test_one_unscored_part_makes_the_whole_unscored(pair):
    for question in questions_for(pair):
        assert binary(pair, verdicts(**{question: "unscored"}), ALL).total is None


def test_terms_can_be_switched_off():
    for terms in itertools.chain.from_iterable(itertools.combinations(ALL, n) for n in range(5)):
        found = binary(PASS, verdicts(relevant="no"), terms)
        assert found.total == ("outcome" in terms) + ("quality" in terms)
        assert (found.relevance is None) == ("relevance" not in terms)


def test_a_switched_off_part_cannot_make_it_unscored():
    assert binary(PASS, verdicts(relevant="unscored"), ("outcome",)).total == 1.0


def test_the_outcome_is_in_no_question():
    assert "outcome" not in MATCHED_QUESTIONS + MISMATCHED_QUESTIONS
    assert questions_for(PASS) == questions_for(FAIL)


@pytest.mark.parametrize(
    ("pair", "answers", "abstained"),
    [
        (PASS, {}, False),
        (FAIL, {"evidence": "no"}, True),
        (PASS, {"evidence": "unscored"}, None),
        (UNRELATED, {}, False),
        (UNRELATED, {"abstains": "yes"}, True),
        (UNRELATED, {"abstains": "unscored"}, None),
    ],
)
def test_what_declines_to_assess_is_told_apart(pair, answers, abstained):
    assert binary(pair, verdicts(**answers), ALL).abstained is abstained


def graded(pair, **probabilities):
    given = dict(evidence=1.0, met=1.0, relevant=1.0, well_formed=1.0, abstains=0.0, echo=0.0) | probabilities
    answers = {q: Verdict("unscored" if p is None else "yes" if p >= 0.5 else "no", p, 1.0) for q, p in given.items()}
    return reward(pair, answers, ALL, graded=True)


def test_graded_descriptions_with_equal_answers_differ():
    assert graded(PASS, evidence=0.9, met=0.8).outcome == pytest.approx(0.72)
    assert graded(FAIL, evidence=0.9, met=0.2).outcome == pytest.approx(0.72)
    assert graded(PASS, relevant=0.7).total == pytest.approx(2.7)
    assert graded(UNRELATED, abstains=0.6).total == pytest.approx(2.6)
    assert graded(PASS, evidence=0.3, met=0.9).outcome == pytest.approx(0.27)


def test_graded_with_sure_verdicts_is_the_papers():
    for pair in (PASS, FAIL, UNRELATED):
        for evidence, met, abstains in itertools.product((0.0, 1.0), repeat=3):
            sure = dict(evidence=evidence, met=met, abstains=abstains)
            answers = {q: "yes" if p else "no" for q, p in sure.items()}
            assert graded(pair, **sure) == binary(pair, verdicts(**answers), ALL)


def test_graded_keeps_unscored_and_the_guard():
    assert graded(PASS, met=None).total is None and graded(PASS, evidence=0.2, met=None).outcome == 0.0
    assert graded(PASS, echo=0.6).total == 0.0
