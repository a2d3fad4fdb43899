"""From the first answer token to a verdict: pure functions, no model.

Contract: an answer counts only when its whole first token spells yes or no (any case, full-width letters,
spaces around it, 是 / 否). Words that merely contain them (`Yesterday`, `Eyes`, `nope`) count for neither
side. Nothing is generated and no running text is parsed.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

from srlite.types import Verdict

_SPELLINGS: dict[str, Literal["yes", "no"]] = {
    "yes": "yes",
    "是": "yes",
    "是的": "yes",
    "no": "no",
    "否": "no",
    "不是": "no",
}
_SPACE_MARKERS = "\u2581\u0120\u010a"  # SentencePiece's space, the byte-level BPE's space and newline


@dataclass(frozen=True, slots=True)
class Masses:
    """Probabilities that the first answer token spells yes, and no (softmax over the whole vocabulary)."""

    yes: float
    no: float

    @property
    def total(self) -> float:
        return self.yes + self.no


@dataclass(frozen=True, slots=True)
class Bands:
    """When masses become an answer.

    min_mass: least yes + no; below it the judge answered something else, and the verdict is unscored.
    threshold: least probability of yes that is a yes.
    unsure: half width of the band around the threshold that is unscored; 0 for none.
    """

    min_mass: float
    threshold: float
    unsure: float

    def __post_init__(self) -> None:
        if not 0 < self.threshold < 1 or not 0 <= self.min_mass <= 1 or self.unsure < 0:
            raise ValueError(f"judge bands out of range: {self}")


def spelling(piece: str) -> Literal["yes", "no"] | None:
    """Which answer a token's whole text spells: `" Yes"` and `"ＹＥＳ"` are yes, `"Yesterday"` is None."""
    return _SPELLINGS.get(unicodedata.normalize("NFKC", piece.strip(_SPACE_MARKERS)).strip().casefold())


def verdict(masses: Masses | None, bands: Bands) -> Verdict:
    """Masses to a verdict; None, where there was no room to judge, is unscored. An answer inside the unsure band is unscored,
    too, and keeps its probability."""
    if masses is None:
        return Verdict.unscored()
    if masses.total <= 0 or masses.total < bands.min_mass:
        return Verdict.unscored(masses.total)
    probability = masses.yes / masses.total
    if abs(probability - bands.threshold) < bands.unsure:
        return Verdict("unscored", probability, masses.total)
    return Verdict("yes" if probability >= bands.threshold else "no", probability, masses.total)


def open_thought(text: str) -> bool:
    """Whether a text breaks off inside a thought (`<think>` without its `</think>`)."""
    return text.rfind("<think>") > text.rfind("</think>")
