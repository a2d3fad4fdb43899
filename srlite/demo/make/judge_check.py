"""Is the tiny judge right? Its answers, through the real engine, about descriptions that were held out from its training.

Held out are pairs of an item and a description, one in ten by their hash: known words in a combination never trained on. No
description is asked about twice, so that most of them are garbled: of those there is no end, of right ones there is.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from srlite.demo.make.judge import answers, generated
from srlite.judge.client import Judge, Request
from srlite.judge.questions import QUESTIONS
from srlite.records.catalogue import Catalogue

IDS = tuple(q.id for q in QUESTIONS)


def unseen(catalogue: Catalogue, count: int, seed: int) -> list[Request]:
    """`count` requests about different descriptions that were held out."""
    rng, out, items = random.Random(f"judge check/{seed}"), {}, list(catalogue.values())
    while len(out) < count:
        item = rng.choice(items)
        text = generated(item, rng, held=True)
        out[item.code, text] = Request(item, text, IDS)
    return sorted(out.values(), key=lambda r: r.item.code)


def right_shares(judge: Judge, requests: Sequence[Request]) -> dict[str, float]:
    """Question -> share of right answers; an unscored answer is not right."""
    verdicts = judge.ask(requests)
    wanted = [answers(r.description, r.item) for r in requests]
    return {
        q: sum(v[q].answer == ("yes" if w[q] else "no") for v, w in zip(verdicts, wanted, strict=True)) / len(requests)
        for q in IDS
    }
