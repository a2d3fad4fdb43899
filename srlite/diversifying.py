"""`srlite prompts diversify`: the item prompts in other words, for training (the paper's "LLM-diversified" prompts).

The judge's language model writes candidates, once; each is looked at for its numbers, units, negations and directions, and
put to the judge both ways. What passes goes into a catalogue that people can edit; what does not is listed with the reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from srlite.config import Settings
from srlite.errors import UsageError
from srlite.judge.client import Judge
from srlite.judge.rewording import comparing, meaning, writing
from srlite.judge.wire import Scored, Written
from srlite.models.store import find_judge
from srlite.records.catalogue import Catalogue
from srlite.records.rewording import losses
from srlite.types import Item
from srlite.workbench import judge_alone

CANDIDATES, TRIES = 8, 3
"""Texts written at a time, and how often."""
MOST_TOKENS, TEMPERATURE = 60, 0.9


@dataclass(frozen=True, slots=True)
class Rejected:
    text: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reworded:
    """An item with its new paraphrases behind those that it had."""

    item: Item
    kept: tuple[str, ...]
    rejected: tuple[Rejected, ...]


def diversify(
    catalogue: Catalogue,
    codes: Sequence[str],
    *,
    judge: str,
    settings: Settings,
    count: int,
    tick: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Reworded, ...]:
    """`count` new paraphrases for each item, or as many as were found among CANDIDATES * TRIES.

    Raises InputError for an unknown item, ModelError and DeviceError for the judge.
    """
    items = [catalogue[code] for code in codes]
    if len({item.code for item in items}) < len(items):
        raise UsageError("an item is named twice", remedy="Name each item once.")
    out = []
    with Judge(judge_alone(settings, find_judge(judge)), cache=None) as asked:
        for done, item in enumerate(items):
            tick(done, len(items))
            out.append(_reworded(asked, item, count, settings.seed))
    tick(len(items), len(items))
    return tuple(out)


def with_paraphrases(catalogue: Catalogue, found: Sequence[Reworded]) -> Catalogue:
    """The catalogue with the new paraphrases added."""
    new = {r.item.code: replace(r.item, paraphrases=r.item.paraphrases + r.kept) for r in found}
    return Catalogue(tuple(new.get(code, item) for code, item in catalogue.items()))


def _reworded(judge: Judge, item: Item, count: int, seed: int) -> Reworded:
    kept: list[str] = []
    rejected: list[Rejected] = []
    for attempt in range(TRIES):
        for text, reasons in _candidates(judge, item, seed + attempt * CANDIDATES, known=(*item.paraphrases, *kept)):
            if reasons:
                rejected.append(Rejected(text, reasons))
            elif len(kept) < count:
                kept.append(text)
        if len(kept) == count:
            break
    return Reworded(item, tuple(kept), tuple(rejected))


def _candidates(judge: Judge, item: Item, seed: int, known: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Different texts that were written, each with what speaks against it."""
    written = judge.put(
        writing(judge.family, item, count=CANDIDATES, most=MOST_TOKENS, temperature=TEMPERATURE, seed=seed), where=item
    )
    assert isinstance(written, Written)
    texts = list(dict.fromkeys(t for text in written.texts if (t := text.strip().strip('"')) and t not in known))
    seen = {text: losses(item, text) for text in texts}
    asked = [text for text, found in seen.items() if not found]
    if asked:
        scored = judge.put(comparing(judge.family, item, asked), where=item)
        assert isinstance(scored, Scored)
        seen |= {text: meaning(m, judge.settings.bands["met"]) for text, m in zip(asked, scored.masses, strict=True)}
    yield from seen.items()


def diversified_json(found: Sequence[Reworded], written: str) -> dict[str, object]:
    """The document of schema srlite.paraphrases/1."""
    return {
        "schema": "srlite.paraphrases/1",
        "catalogue": written,
        "items": {
            r.item.code: {
                "kept": list(r.kept),
                "rejected": [{"text": text.text, "reasons": list(text.reasons)} for text in r.rejected],
            }
            for r in found
        },
    }
