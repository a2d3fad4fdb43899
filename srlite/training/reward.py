"""The semantic reward of section 2.3 of the paper, from the judge's verdicts.

    matched pair      outcome + relevance + quality
    mismatched pair   unrelated + relevance + quality

Each part is 0 or 1. A description that only echoes the criterion earns nothing at all. A part whose verdict is unscored makes
the whole unscored: it leaves the group's baseline and the loss, and is never counted as 0.
"""

from __future__ import annotations

from collections.abc import Collection

from srlite.types import Outcome, Pair, Reward, Verdicts

MATCHED_QUESTIONS = ("evidence", "met", "relevant", "well_formed", "echo")
MISMATCHED_QUESTIONS = ("abstains", "relevant", "well_formed", "echo")


def questions_for(pair: Pair) -> tuple[str, ...]:
    """Ids of the questions that the reward of this pair needs."""
    return MATCHED_QUESTIONS if pair.matched else MISMATCHED_QUESTIONS


def reward(pair: Pair, verdicts: Verdicts, terms: Collection[str]) -> Reward:
    """The reward of one description; `terms` are the names of the parts in force."""
    main = {"outcome": _outcome(verdicts, pair.outcome)} if pair.matched else {"unrelated": _score(verdicts, "abstains")}
    parts = main | {"relevance": _score(verdicts, "relevant"), "quality": _score(verdicts, "well_formed")}
    parts = {name: value for name, value in parts.items() if name in terms}
    echo = verdicts["echo"].answer
    if echo == "yes":
        parts = dict.fromkeys(parts, 0.0)
    unscored = echo == "unscored" or None in parts.values()
    declined = {"yes": not pair.matched, "no": pair.matched, "unscored": None}
    abstained = declined[verdicts["evidence" if pair.matched else "abstains"].answer]
    return Reward(**parts, total=None if unscored else sum(parts.values()), abstained=abstained)


def _score(verdicts: Verdicts, question: str) -> float | None:
    return {"yes": 1.0, "no": 0.0, "unscored": None}[verdicts[question].answer]


def _outcome(verdicts: Verdicts, outcome: Outcome) -> float | None:
    """1 when the evidence is sufficient and the decision it implies is the clinician's."""
    evidence, met = _score(verdicts, "evidence"), _score(verdicts, "met")
    if evidence == 0.0:
        return 0.0
    if evidence is None or met is None:
        return None
    return float((met == 1.0) == (outcome == "pass"))
