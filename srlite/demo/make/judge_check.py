"""Is the tiny judge right? Its answers, through the real engine, about descriptions that its training did not contain.

What the training saw is generated again from its seeds and left out, so every description here is an unseen combination of
known words for its item.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from srlite.demo.make.judge import ASKED, BATCH, RECIPE, answers, generated
from srlite.judge.client import Judge, Request
from srlite.judge.questions import QUESTIONS
from srlite.records.catalogue import Catalogue

IDS = tuple(q.id for q in QUESTIONS)


def seen_in_training(catalogue: Catalogue, stage: str) -> set[tuple[str, str]]:
    """(item, description) of every row of the first stage; `stage` is the name of its folder, which seeds it."""
    codes, seen = list(catalogue), set()
    for step in range(RECIPE.steps):
        rng = random.Random(f"{stage}/{step}")
        for _ in range(BATCH):
            item = catalogue[rng.choice(codes)]
            seen.add((item.code, generated(item, rng)))
            rng.sample(range(len(IDS)), ASKED)  # drawn in training after each text
    return seen


def unseen(catalogue: Catalogue, seen: set[tuple[str, str]], count: int, seed: int) -> list[Request]:
    """`count` requests about descriptions that are not among the seen."""
    rng, out = random.Random(f"judge check/{seed}"), {}
    while len(out) < count:
        item = catalogue[rng.choice(list(catalogue))]
        text = generated(item, rng)
        if (item.code, text) not in seen:
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
