"""The semantic reward of section 2.3 of the paper, from the judge's verdicts.

    matched pair      outcome + relevance + quality
    mismatched pair   unrelated + relevance + quality

Each part is 0 or 1 as in the paper; graded, it is the judge's probability of that 1, so that descriptions with equal answers
still differ. A description that only echoes the criterion earns nothing at all. A part whose verdict is unscored makes the
whole unscored: it leaves the group's baseline and the loss, and is never counted as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from srlite.types import Outcome, Pair, Reward, Verdict, Verdicts

MATCHED_QUESTIONS = ("evidence", "met", "relevant", "well_formed", "echo")
MISMATCHED_QUESTIONS = ("abstains", "relevant", "well_formed", "echo")


def questions_for(pair: Pair) -> tuple[str, ...]:
    """Ids of the questions that the reward of this pair needs."""
    return MATCHED_QUESTIONS if pair.matched else MISMATCHED_QUESTIONS


def reward(pair: Pair, verdicts: Verdicts, terms: Collection[str], *, graded: bool) -> Reward:
    """The reward of one description; `terms` are the names of the parts in force."""
    score = _graded if graded else _binary
    main = {"outcome": _outcome(verdicts, pair.outcome, score)} if pair.matched else {"unrelated": score(verdicts["abstains"])}
    parts = main | {"relevance": score(verdicts["relevant"]), "quality": score(verdicts["well_formed"])}
    parts = {name: value for name, value in parts.items() if name in terms}
    echo = verdicts["echo"].answer
    if echo == "yes":
        parts = dict.fromkeys(parts, 0.0)
    unscored = echo == "unscored" or None in parts.values()
    declined = {"yes": not pair.matched, "no": pair.matched, "unscored": None}
    abstained = declined[verdicts["evidence" if pair.matched else "abstains"].answer]
    return Reward(**parts, total=None if unscored else sum(parts.values()), abstained=abstained)


def _binary(verdict: Verdict) -> float | None:
    return {"yes": 1.0, "no": 0.0, "unscored": None}[verdict.answer]


def _graded(verdict: Verdict) -> float | None:
    return None if verdict.answer == "unscored" else verdict.probability


def _outcome(verdicts: Verdicts, outcome: Outcome, score: Callable[[Verdict], float | None]) -> float | None:
    """1 when the evidence is sufficient and the decision it implies is the clinician's; graded, the product of both."""
    evidence, met = score(verdicts["evidence"]), score(verdicts["met"])
    if verdicts["evidence"].answer == "no" and met is None:
        return 0.0  # it does not suffice: what it says besides is not needed
    if evidence is None or met is None:
        return None
    return evidence * (met if outcome == "pass" else 1.0 - met)
