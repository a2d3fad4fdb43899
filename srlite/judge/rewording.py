"""The judge's language model as a writer: paraphrases of an item's request, and whether they mean the same.

The two questions about meaning go both ways, each short and complete in itself, as the six about descriptions are.
"""

from __future__ import annotations

from collections.abc import Sequence

from srlite.judge.answers import Bands, Masses, verdict
from srlite.judge.questions import Question
from srlite.judge.scaffold import Family, Segment, asking_segment, question_segment
from srlite.judge.wire import Score, Sheet, Write
from srlite.types import Answer, Item

_SYSTEM = "You reword requests to somebody who watches a clip of a child."
_TASK = (
    "Say the request in other words, in one or two sentences. Keep its meaning, every number, every unit, every direction "
    "and every not. Write the new request only.\nRequest:"
)
_EXAMPLE = (
    "claps hands. The child claps the hands at least three times. Look for the hands meeting.",
    "Watch the hands: do they meet in a clap three times or more?",
)
_MEANING_SYSTEM = "You put questions about two requests to yourself and answer each with yes or no only."
_SAME = (
    Question("whole", "Does the second request ask for all that the first one asks for?"),
    Question("only", "Does the first request ask for all that the second one asks for?"),
)


def request_of(item: Item) -> str:
    """What a paraphrase says in other words."""
    look_for = f" Look for {item.evidence}." if item.evidence else ""
    return f"{item.name}. {item.criterion}{look_for}"


def writing(family: Family, item: Item, *, count: int, most: int, temperature: float, seed: int) -> Write:
    """The message that asks for `count` paraphrases of at most `most` tokens, after one worked example."""
    asked, answered = _EXAMPLE
    prompt = (
        Segment(f"{family.before_system}{_SYSTEM}{family.before_user}{_TASK}", markers=True),
        Segment(f" {asked}", markers=False),
        Segment(family.before_answer, markers=True),
        Segment(answered, markers=False),
        Segment(f"{family.before_user}{_TASK}", markers=True),
        Segment(f" {request_of(item)}", markers=False),
        Segment(family.before_answer, markers=True),
    )
    return Write(prompt, count, most, temperature, seed)


def comparing(family: Family, item: Item, paraphrases: Sequence[str]) -> Score:
    """The message that asks, for each paraphrase, whether it means what the item's request means."""
    prefix = (
        Segment(f"{family.before_system}{_MEANING_SYSTEM}{family.before_user}First request:", markers=True),
        Segment(f" {request_of(item)}", markers=False),
        Segment("\nSecond request:", markers=True),
    )
    asked = tuple(question_segment(question) for question in _SAME)
    sheets = tuple(Sheet(Segment(f" {text}", markers=False), asked) for text in paraphrases)
    return Score(prefix, sheets, asking_segment(family))


def meaning(masses: Sequence[Masses | None], bands: Bands) -> tuple[str, ...]:
    """What the judge has against a paraphrase, in words; empty when it means the same both ways."""
    whole, only = (verdict(m, bands).answer for m in masses)
    reasons: dict[Answer, tuple[str, str]] = {
        "no": ("the judge misses something of the request", "the judge finds something that the request does not ask for"),
        "unscored": ("the judge is undecided", "the judge is undecided"),
    }
    found = (reasons[answer][way] for way, answer in enumerate((whole, only)) if answer != "yes")
    return tuple(dict.fromkeys(found))
