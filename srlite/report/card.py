"""The model card: what a run was made with. From its evaluation, or, before there is one, from the run's own files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from srlite.descriptor.prompts import prompts_hash
from srlite.evaluation.document import Card, Named
from srlite.evaluation.texts import item_text, judge_texts, question_texts
from srlite.judge.questions import questions_hash
from srlite.records.spellings import SIDES
from srlite.records.split import default_how
from srlite.report.collect import Collected
from srlite.report.tables import Table


def card_of(found: Collected) -> Card | None:
    """None where the run ended before it was known what it is made with, or where its texts are no longer known."""
    if found.evaluation:
        return found.evaluation.card
    if found.lock is None or texts_changed(found):
        return None
    lock, settings = found.lock, found.settings
    values = settings.model_dump(mode="json")  # models by name: a folder may be called after a person
    return Card(
        descriptor=Named(id=lock.descriptor, sha256=lock.descriptor_sha256),
        adapter=Named(id="none yet", sha256=None),
        judge=Named(id=lock.judge, sha256=lock.judge_sha256),
        demonstration=lock.demonstration,
        questions=question_texts(),
        judge_texts=judge_texts(settings),
        items=tuple(map(item_text, found.catalogue.values())),
        split=settings.split.how or default_how((*found.split.train, *found.split.validation, *found.split.test)),
        steps=max((m["step"] for m in found.metrics if "step" in m), default=None),
        settings=values | {"models": values["models"] | {"descriptor": lock.descriptor, "judge": lock.judge}},
        versions={},
    )


def texts_changed(found: Collected) -> bool:
    """Whether this srlite has other prompts or questions than the run was made with."""
    lock = found.lock
    return bool(lock) and (lock.prompts_sha256, lock.questions_sha256) != (prompts_hash(), questions_hash())


def data_counts(found: Collected) -> Table:
    """Records, children and items on each side of the split."""
    rows = []
    for side in SIDES:
        records = found.split.side(side)
        children = {r.child for r in records if r.child}
        passed = sum(r.outcome == "pass" for r in records)
        counts = (len(records), passed, len(records) - passed, len({r.clip for r in records}), len({r.item for r in records}))
        rows.append((side, *(f"{n:,}" for n in counts), f"{len(children):,}" if children else "not named"))
    head = ("", "Records", "pass", "fail", "Clips", "Items", "Children")
    return Table("Records on each side of the split", head, tuple(rows), note=found.split.report.overlap)


def settings_lines(settings: Mapping[str, object], prefix: str = "") -> Iterator[str]:
    """Every setting on a line: schedule.rounds = 5."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from settings_lines(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name} = {json.dumps(value, ensure_ascii=False)}"
