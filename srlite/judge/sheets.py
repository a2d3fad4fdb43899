"""How descriptions and questions become one message to the worker: the form in which a judge is asked.

directly   the first token of the answer to each question decides
reasoned   the two turns of the paper: the judge first writes, in at most `thought` tokens, whether the description holds
           enough evidence for the criterion; then each question is put behind what it wrote
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from srlite.judge.questions import CANONICAL, Texts
from srlite.judge.scaffold import (
    Family,
    Segment,
    asking_segment,
    description_segment,
    prefix_segments,
    question_segment,
    second_turn_segment,
    weighing_segment,
)
from srlite.judge.wire import Score, Sheet
from srlite.types import Item


@dataclass(frozen=True, slots=True)
class Form:
    """thought: most tokens of the first turn; 0 asks directly."""

    family: Family
    thought: int = 0
    texts: Texts = CANONICAL

    def prefix(self, item: Item) -> tuple[Segment, ...]:
        return prefix_segments(self.family, item, self.texts.system)

    @property
    def behind(self) -> Segment:
        """What stands behind each description."""
        return weighing_segment(self.family) if self.thought else asking_segment(self.family)

    def question(self, question_id: str) -> Segment:
        """Raises KeyError for an id that is none of the six."""
        question = self.texts.question(question_id)
        return second_turn_segment(self.family, question) if self.thought else question_segment(question)

    def score(self, prefix: tuple[Segment, ...], asked: Iterable[tuple[str, Sequence[str]]]) -> Score:
        """The message that puts to each description the questions with these ids."""
        sheets = tuple(Sheet(description_segment(text), tuple(map(self.question, ids))) for text, ids in asked)
        return Score(prefix, sheets, self.behind, self.thought)

    def read(self, item: Item, description: str, question_id: str) -> tuple[str, ...]:
        """Every text that an answer hangs on, and the room for the first turn."""
        segments = (*self.prefix(item), description_segment(description), self.behind, self.question(question_id))
        return (*(segment.text for segment in segments), str(self.thought))
