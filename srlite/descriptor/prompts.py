"""What the descriptor is asked: plain user-turn text for an item, without any of a model's special tokens.

    canonical     the child's age, the exact item and criterion, how it was filmed, what to look for; used everywhere
                  but in training
    paraphrase k  the same request in other words (the paper's "LLM-diversified" prompts); used in training only
    generic       a broad question about the domain, for comparison

The outcome is never part of a prompt.
"""

from __future__ import annotations

import hashlib

from srlite.types import Item

CLOSING = (
    "State briefly what is visible. If the evidence is occluded, outside the clip or about something else, "
    "say that it cannot be assessed."
)


def _age(age_months: float | None) -> str:
    return "" if age_months is None else f"The child is {age_months:g} months old. "


def canonical_prompt(item: Item, age_months: float | None) -> str:
    """The item-specific prompt of section 2.2 of the paper."""
    filming = f" {item.guidance}" if item.guidance else ""
    look_for = f" Look for {item.evidence}." if item.evidence else ""
    return f"{_age(age_months)}Item: {item.name}. Criterion: {item.criterion}{filming}{look_for} {CLOSING}"


def training_prompt(item: Item, age_months: float | None, wording: int) -> str:
    """Wording 0 is the canonical prompt, wording k the item's k-th paraphrase (counted from 1)."""
    if wording == 0:
        return canonical_prompt(item, age_months)
    return f"{_age(age_months)}{item.paraphrases[wording - 1]} {CLOSING}"


def generic_prompt(item: Item, age_months: float | None) -> str:
    """The broad prompt that the paper compares with: one developmental domain, no item, no way to abstain."""
    domain = f"{item.domain} " if item.domain else ""
    return f"{_age(age_months)}Summarise the {domain}behaviour of the child in this clip."


def prompts_hash() -> str:
    """SHA-256 over everything fixed in the prompts, by way of an item whose texts are placeholders."""
    item = Item("code", "<name>", "<criterion>", "<guidance>", "<evidence>", domain="<domain>", paraphrases=("<paraphrase>",))
    texts = (canonical_prompt(item, 1), training_prompt(item, 1, 1), generic_prompt(item, 1), canonical_prompt(item, None))
    return hashlib.sha256("\x1f".join(texts).encode()).hexdigest()
