"""What the judge's verdicts make of a description.

    evidence no, or echo yes   ->  unable_to_assess
    else met yes / no          ->  pass / fail
    a needed verdict unscored  ->  None

A verdict is needed only where it can still change the outcome: with insufficient evidence, `met` is not
looked at.
"""

from __future__ import annotations

from srlite.types import Decision, Verdicts

DECISION_QUESTIONS = ("evidence", "met", "echo")
"""Ids of the questions that `decide` reads."""


def decide(verdicts: Verdicts) -> Decision | None:
    """The decision. Raises KeyError when one of DECISION_QUESTIONS was not put to the judge."""
    evidence, met, echo = (verdicts[question].answer for question in DECISION_QUESTIONS)
    if evidence == "no" or echo == "yes":
        return "unable_to_assess"
    if "unscored" in (evidence, met, echo):
        return None
    return "pass" if met == "yes" else "fail"
