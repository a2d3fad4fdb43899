"""What the models were asked, in full, for the model card. No torch: a report of an unfinished run needs it, too."""

from __future__ import annotations

from srlite.config import Settings
from srlite.descriptor.prompts import canonical_prompt, generic_prompt
from srlite.evaluation.document import ItemText
from srlite.judge.questions import FIXED_TEXTS, QUESTIONS, SECOND_TURN, WEIGHING
from srlite.types import Item

_FIXED = ("system", "item", "criterion", "rules", "text", "before text", "after text", "question", "answer")
"""Names of questions.FIXED_TEXTS, in its order."""


def question_texts() -> dict[str, str]:
    return {q.id: q.text for q in QUESTIONS}


def judge_texts(settings: Settings) -> dict[str, str]:
    """What the judge reads around item, description and question."""
    fixed = dict(zip(_FIXED, FIXED_TEXTS, strict=True))
    return fixed | ({"weighing": WEIGHING, "second turn": SECOND_TURN} if settings.judge.mode == "reasoned" else {})


def item_text(item: Item) -> ItemText:
    return ItemText(
        code=item.code,
        name=item.name,
        criterion=item.criterion,
        guidance=item.guidance,
        domain=item.domain,
        age_months=item.age_months,
        temporal=item.temporal,
        directed=item.directed,
        duration_s=item.duration_s,
        prompt=canonical_prompt(item, item.age_months),
        generic_prompt=generic_prompt(item, item.age_months),
    )
