"""Spellings of yes and no, masses to verdicts, verdicts to a decision."""

from __future__ import annotations

import pytest

from srlite.judge.answers import Bands, Masses, open_thought, spelling, verdict
from srlite.judge.decision import DECISION_QUESTIONS, decide
from srlite.types import Verdict

YES, NO, UNSCORED = Verdict("yes", 0.9, 1.0), Verdict("no", 0.1, 1.0), Verdict.unscored()


@pytest.mark.parametrize("piece", ["Yes", " yes", "YES", "yes\n", "▁Yes", "Ġyes", "Ｙｅｓ", "ＹＥＳ", "是", "是的"])
def test_spelled_yes(piece: str) -> None:
    assert spelling(piece) == "yes"


@pytest.mark.parametrize("piece", ["No", " no", "NO", "▁no", "Ġno", "ｎｏ", "否", "不是"])
def test_spelled_no(piece: str) -> None:
    assert spelling(piece) == "no"


@pytest.mark.parametrize(
    "piece",
    [
        "",
        " ",
        "Yesterday",
        "Eyes",
        "nope",
        "not",
        "yes no",
        "Yes. No.",
        "no (not yes)",
        "yesyes",
        "是不是",
        "Answer: Yes",
        ":",
    ],
)
def test_neither(piece: str) -> None:
    assert spelling(piece) is None


def test_probability_is_shared_between_yes_and_no() -> None:
    bands = Bands(min_mass=0.5, threshold=0.5, unsure=0.0)
    found = verdict(Masses(yes=0.6, no=0.2), bands)
    assert (found.answer, found.probability, found.mass) == ("yes", pytest.approx(0.75), pytest.approx(0.8))
    assert verdict(Masses(yes=0.2, no=0.6), bands).answer == "no"


@pytest.mark.parametrize("masses", [Masses(0.3, 0.1), Masses(0.0, 0.0)])
def test_little_mass_is_unscored_not_no(masses: Masses) -> None:
    found = verdict(masses, Bands(min_mass=0.5, threshold=0.5, unsure=0.0))
    assert (found.answer, found.probability) == ("unscored", None)


def test_the_unsure_band_lies_around_the_threshold() -> None:
    bands = Bands(min_mass=0.0, threshold=0.3, unsure=0.1)
    answers = [verdict(Masses(p, 1 - p), bands).answer for p in (0.19, 0.21, 0.39, 0.41)]
    assert answers == ["no", "unscored", "unscored", "yes"]


@pytest.mark.parametrize("bands", [(0.5, 0.0, 0.0), (0.5, 1.0, 0.0), (1.1, 0.5, 0.0), (0.5, 0.5, -0.1)])
def test_impossible_bands_are_refused(bands: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="out of range"):
        Bands(*bands)


@pytest.mark.parametrize(
    ("evidence", "met", "echo", "expected"),
    [
        (YES, YES, NO, "pass"),
        (YES, NO, NO, "fail"),
        (NO, YES, NO, "unable_to_assess"),
        (NO, UNSCORED, UNSCORED, "unable_to_assess"),
        (YES, YES, YES, "unable_to_assess"),
        (UNSCORED, YES, YES, "unable_to_assess"),
        (UNSCORED, YES, NO, None),
        (YES, UNSCORED, NO, None),
        (YES, NO, UNSCORED, None),
    ],
)
def test_decision(evidence: Verdict, met: Verdict, echo: Verdict, expected: str | None) -> None:
    assert decide({"evidence": evidence, "met": met, "echo": echo}) == expected


def test_a_question_that_was_not_asked_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(KeyError):
        decide({question: YES for question in DECISION_QUESTIONS[:-1]})


@pytest.mark.parametrize(
    ("text", "is_open"),
    [
        ("<think>\n\n</think>\n\nYes", False),
        ("<think>is it yes? no", True),
        ("it goes on</think>No", False),
        ("<think>a</think> b <think>c", True),
        ("", False),
        ("The text says enough.", False),
    ],
)
def test_a_thought_that_was_cut_off_is_known(text: str, is_open: bool) -> None:
    assert open_thought(text) is is_open
