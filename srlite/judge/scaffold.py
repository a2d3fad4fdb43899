"""How the texts become one conversation of a model family: prefix | description | asking | question.

    prefix       chat markers, the fixed sentences, the item's name and criterion; the same for all
    descriptions of an item description  the text that the descriptor wrote, in quotation marks
    asking       the end of the user's turn, the start of the judge's, and in it the label of a question; the same for all
    question     the question and the label of the answer

So a question costs its own ten tokens and no chat markers: the judge puts it to itself. With a first turn in which it weighs
the evidence: prefix | description | weighing | what it writes | question, this one with the chat markers.

Contract: a text is a tuple of segments that are tokenised APART and put behind one another, whoever
tokenises (llama.cpp here, a trainer elsewhere). In a `markers` segment the family's chat markers are special
tokens; everything that people or models wrote is a segment of its own in which they are plain text. A start
token (BOS) is not among the segments: whoever tokenises puts one in front when, and only when, the
vocabulary asks for it.

The templates are ours, by family; a chat template inside the model file is not used.
"""

from __future__ import annotations

from dataclasses import dataclass

from srlite.errors import ModelError
from srlite.judge.questions import (
    AFTER_DESCRIPTION,
    ANSWER_LABEL,
    BEFORE_DESCRIPTION,
    CRITERION_LABEL,
    DESCRIPTION_LABEL,
    ITEM_LABEL,
    QUESTION_LABEL,
    RULES,
    SECOND_TURN,
    SYSTEM,
    WEIGHING,
    Question,
)
from srlite.types import Item


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text. `markers`: chat markers in it are special tokens; else all of it is plain text."""

    text: str
    markers: bool


@dataclass(frozen=True, slots=True)
class Family:
    """Chat markers of a model family and the GGUF architectures it covers."""

    name: str
    architectures: tuple[str, ...]
    before_system: str
    before_user: str
    before_answer: str

    @property
    def needed_tokens(self) -> tuple[str, ...]:
        """Markers without which the vocabulary cannot be one of this family."""
        return ("<|im_start|>", "<|im_end|>")


_ANSWER = "<|im_end|>\n<|im_start|>assistant\n"
_FAMILIES = (
    Family("qwen2", ("qwen2",), "<|im_start|>system\n", "<|im_end|>\n<|im_start|>user\n", _ANSWER),
    # Qwen3 thinks before it answers unless an empty thought is already there.
    Family(
        "qwen3",
        ("qwen3", "qwen3moe"),
        "<|im_start|>system\n",
        "<|im_end|>\n<|im_start|>user\n",
        _ANSWER + "<think>\n\n</think>\n\n",
    ),
)


def family_of(architecture: str) -> Family | None:
    """The family that a GGUF architecture belongs to; None where there is no template for it."""
    return next((family for family in _FAMILIES if architecture in family.architectures), None)


def known_families() -> str:
    return ", ".join(family.name for family in _FAMILIES)


def family_named(name: str) -> Family:
    """The family of that name. Raises ModelError when there is no template for it."""
    for family in _FAMILIES:
        if family.name == name:
            return family
    raise ModelError(
        f"there is no judge template for the model family {name!r}",
        remedy=f"Choose a judge of one of these families: {known_families()}.",
    )


def prefix_segments(family: Family, item: Item, system: str = SYSTEM) -> tuple[Segment, ...]:
    """What all descriptions of an item share, up to and including the label in front of the description.

    system: another wording of the first sentence, for trying out.
    """
    return (
        Segment(f"{family.before_system}{system}{family.before_user}{ITEM_LABEL}", markers=True),
        Segment(f" {item.name}", markers=False),
        Segment(CRITERION_LABEL, markers=True),
        Segment(f" {item.criterion}", markers=False),
        Segment(f"{RULES}{DESCRIPTION_LABEL}", markers=True),
    )


def description_segment(description: str) -> Segment:
    """The description as data, in its quotation marks."""
    return Segment(f"{BEFORE_DESCRIPTION}{description}{AFTER_DESCRIPTION}", markers=False)


def asking_segment(family: Family) -> Segment:
    """What stands between a description and a question put directly."""
    return Segment(f"{family.before_answer}{QUESTION_LABEL}", markers=True)


def weighing_segment(family: Family) -> Segment:
    """What stands between a description and the judge's first turn."""
    return Segment(f"{WEIGHING}{family.before_answer}", markers=True)


def question_segment(question: Question) -> Segment:
    """The question and everything up to the first token of the answer, behind `asking_segment`."""
    return Segment(f" {question.text}{ANSWER_LABEL}", markers=True)


def second_turn_segment(family: Family, question: Question) -> Segment:
    """The same behind the judge's first turn, which it closes."""
    opened = f"{family.before_user}{SECOND_TURN}{asking_segment(family).text}"
    return Segment(f"{opened}{question_segment(question).text}", markers=True)
