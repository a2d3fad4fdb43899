"""The vocabulary: small frozen records that flow between the rooms.

Axis letters used in names all over the package:
    G  the descriptions sampled for one pair (the group)
    T  tokens of one description
    P  tokens of a prompt, vision placeholders included
    F  frames of a clip
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np

Outcome = Literal["pass", "fail"]
Answer = Literal["yes", "no", "unscored"]
Decision = Literal["pass", "fail", "unable_to_assess"]
Sex = Literal["female", "male"]


@dataclass(frozen=True, slots=True)
class Item:
    """An age-specific screening item. `code` is text, always: 30_1 is not 301."""

    code: str
    name: str
    criterion: str
    guidance: str = ""
    evidence: str = ""
    """What visible evidence to look for, e.g. "the lifted foot and the seconds it stays up"."""
    age_months: int | None = None
    domain: str = ""
    temporal: bool = False
    """True when order, direction or duration decides."""
    directed: bool = False
    """True when the behaviour run backward no longer meets the criterion: walking backward, but not waving."""
    duration_s: float | None = None
    needs_audio: bool = False
    related: tuple[str, ...] = ()
    """Codes that must not be paired with this item as unrelated."""
    paraphrases: tuple[str, ...] = ()
    """Other wordings of the item's request, used in training only."""


@dataclass(frozen=True, slots=True)
class Record:
    """One row of items.csv. `clip` is a path under the videos folder, with forward slashes."""

    clip: str
    item: str
    outcome: Outcome
    child: str | None = None
    sex: Sex | None = None
    age_months: float | None = None
    site: str | None = None
    split: str | None = None
    description: str | None = None
    """A clinician's own words, used as a reference, never as a target."""
    line: int = 0
    """Physical line in the file, for messages."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A clip and an item. `outcome` is None for a mismatched pair: the item is unrelated to the clip."""

    clip: str
    item: str
    outcome: Outcome | None
    age_months: float | None = None
    child: str | None = None
    sex: Sex | None = None
    site: str | None = None

    @property
    def matched(self) -> bool:
        return self.outcome is not None

    @property
    def id(self) -> str:
        return f"{self.clip}::{self.item}"


@dataclass(frozen=True, slots=True)
class Frames:
    """What the descriptor sees of one clip: upright RGB pictures and the moment of each.

    images: uint8 (F, height, width, 3); F is even (the last picture is repeated when needed).
    """

    images: np.ndarray
    times_s: tuple[float, ...]
    duration_s: float
    real: int
    """How many of the F pictures are distinct frames of the file."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rollout:
    """One sampled description. `tokens` ends with the end-of-turn token unless it was cut off."""

    tokens: tuple[int, ...]  # (T,)
    logprobs: tuple[float, ...]  # (T,) under the policy that sampled it, temperature 1
    text: str
    finished: bool


@dataclass(frozen=True, slots=True)
class Group:
    """The G descriptions sampled for one pair under one prompt (0: canonical, k: k-th paraphrase)."""

    pair: Pair
    prompt: int
    rollouts: tuple[Rollout, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judge's answer to one yes/no question.

    probability: p(yes) / (p(yes) + p(no)) at the first answer token, summed over spellings.
    mass: p(yes) + p(no); with little mass on either the answer is unscored.
    """

    answer: Answer
    probability: float | None
    mass: float

    @classmethod
    def unscored(cls, mass: float = 0.0) -> Verdict:
        return cls("unscored", None, mass)


Verdicts = Mapping[str, Verdict]
"""Question id -> verdict."""


@dataclass(frozen=True, slots=True)
class Reward:
    """The parts of one description's reward: 0 or 1, or None where unscored or not asked of this pair."""

    outcome: float | None = None
    unrelated: float | None = None
    relevance: float | None = None
    quality: float | None = None
    total: float | None = None
    """Sum of the parts in force; None when one of them is unscored."""
    abstained: bool | None = None
    """Whether the description declines to assess (of a matched pair: its evidence does not suffice); None: unscored."""


@dataclass(frozen=True, slots=True)
class Samples:
    """What more descriptions of a clip, drawn at temperature 1, were decided. None: unscored."""

    decisions: tuple[Decision | None, ...]

    def agreeing(self, decision: Decision | None) -> float | None:
        """The share of them with that decision; None without one: there is nothing to agree with."""
        return None if decision is None else self.decisions.count(decision) / len(self.decisions)


@dataclass(frozen=True, slots=True)
class Assessment:
    """What `assess` found for one clip and item; see `srlite.assessment/1` for the JSON form.

    age_months: the age that the descriptor was told. child: whom the clip shows, where the user said so; no model reads it.
    """

    clip: Mapping[str, object]
    item: Item
    description: str
    decision: Decision | None
    verdicts: Verdicts
    models: Mapping[str, object]
    demonstration: bool
    seed: int
    warnings: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    age_months: float | None = None
    child: str | None = None
    samples: Samples | None = None
