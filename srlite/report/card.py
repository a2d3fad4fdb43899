"""The model card: what a run was made with. From its evaluation, or, before there is one, from the run's own files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from srlite.descriptor.prompts import canonical_prompt, generic_prompt, prompts_hash
from srlite.evaluation.document import Card, ItemText, Named
from srlite.judge.questions import QUESTIONS, RULES, SYSTEM, questions_hash
from srlite.records.split import default_how
from srlite.report.collect import Collected
from srlite.report.tables import Table
from srlite.types import Item


def card_of(found: Collected) -> Card | None:
    """None where the run ended before it was known what it is made with, or where its texts are no longer known."""
    if found.evaluation:
        return found.evaluation.card
    if found.lock is None or texts_changed(found):
        return None
    lock, settings = found.lock, found.settings
    return Card(
        descriptor=Named(id=lock.descriptor, sha256=lock.descriptor_sha256),
        adapter=Named(id="none yet", sha256=None),
        judge=Named(id=lock.judge, sha256=lock.judge_sha256),
        demonstration=lock.demonstration,
        questions={q.id: q.text for q in QUESTIONS},
        judge_texts={"system": SYSTEM, "rules": RULES.strip()},
        items=tuple(_text(item) for item in found.catalogue.values()),
        split=settings.split.how or default_how((*found.split.train, *found.split.validation, *found.split.test)),
        steps=max((m["step"] for m in found.metrics if "step" in m), default=None),
        settings=settings.model_dump(mode="json"),
        versions={},
    )


def texts_changed(found: Collected) -> bool:
    """Whether this srlite has other prompts or questions than the run was made with."""
    lock = found.lock
    return bool(lock) and (lock.prompts_sha256, lock.questions_sha256) != (prompts_hash(), questions_hash())


def _text(item: Item) -> ItemText:
    return ItemText(
        code=item.code,
        name=item.name,
        criterion=item.criterion,
        guidance=item.guidance,
        domain=item.domain,
        age_months=item.age_months,
        temporal=item.temporal,
        duration_s=item.duration_s,
        prompt=canonical_prompt(item, item.age_months),
        generic_prompt=generic_prompt(item, item.age_months),
    )


def data_counts(found: Collected) -> Table:
    """Records, children and items on each side of the split."""
    rows = []
    for side in ("train", "validation", "test"):
        records = found.split.side(side)
        children = {r.child for r in records if r.child}
        passed = sum(r.outcome == "pass" for r in records)
        counts = (len(records), passed, len(records) - passed, len({r.clip for r in records}), len({r.item for r in records}))
        rows.append((side, *(f"{n:,}" for n in counts), f"{len(children):,}" if children else "not named"))
    head = ("", "Records", "pass", "fail", "Clips", "Items", "Children")
    return Table("Records on each side of the split", head, tuple(rows), note=found.split.report.notes[1])


def settings_lines(settings: Mapping[str, object], prefix: str = "") -> Iterator[str]:
    """Every setting on a line: schedule.rounds = 5."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from settings_lines(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name} = {json.dumps(value, ensure_ascii=False)}"
