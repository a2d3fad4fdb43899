"""Runs, caches and an evaluation as jobs leave them, written by the product's own writers, without a model: for what reads,
prunes and reviews them."""

import csv
import hashlib
import json
import unicodedata
from pathlib import Path

from srlite.clipcache import entry_place
from srlite.config import Settings
from srlite.evaluation.document import Card, Case, Evaluation, Flow, Judged, Named, Said
from srlite.files import write_private
from srlite.records.dataset import catalogue_of
from srlite.records.sides import Split
from srlite.training.rollouts import add_groups, complete_groups, write_rewards
from srlite.training.run import begin
from srlite.types import Group, Pair, Record, Reward, Rollout

CHILD = "Zoë-17"
SPELT = " zoe\u0308-17"
"""The same id as another keyboard writes it."""
CLIPS = {
    '2026/zoë, "walks".mp4': CHILD,
    "2026/z2.mp4": SPELT,
    "a1.mp4": "C1",
    "a2.mp4": "C1",
    "b1.mp4": "Zoë-170",
    "b2.mp4": "Zoë-170",
}
"""Clip -> whom it shows."""
RENAMED = {"2026/z2.mp4": "a second name.mp4"}
"""A clip of the child's, and its name in a run that names no children."""
MINE = tuple(clip for clip, child in CLIPS.items() if child in (CHILD, SPELT))


def content(clip):
    return f"bytes of {clip}".encode()


def sha256(clip):
    return hashlib.sha256(content(clip)).hexdigest()


def records(*, named=True, rename=lambda clip: clip):
    codes = ("18_4", "18_3")
    return tuple(
        Record(
            rename(clip), code, "pass" if i % 2 else "fail", child=child.strip() if named else None, age_months=18.0, line=2 + i
        )
        for i, (clip, child) in enumerate(CLIPS.items())
        for code in codes
    )


def group(record, words="The child walks."):
    pair = Pair(record.clip, record.item, record.outcome, record.age_months, record.child)
    return Group(pair, 0, (Rollout((5, 6, 2), (-0.5, -0.25, 0.0), words, True), Rollout((7, 2), (-1.0, 0.0), "", True)))


def write_run(folder: Path, train, validation, test, *, log=()) -> Path:
    """A finished run with two slices, the second of them cut off while it was sampled."""
    split = Split(tuple(train), tuple(validation), tuple(test))
    run = begin(folder, Settings(), catalogue_of(None), split)
    everyone = (*split.train, *split.validation, *split.test)
    run.own_clips({r.clip: sha256(r.clip) for r in everyone})
    groups = [group(r) for r in split.train]
    first, second = run.slice_folder(1, 1), run.slice_folder(1, 2)
    complete_groups(groups, first / "rollouts.jsonl")
    rewards = [(Reward(outcome=1.0, total=float(i)), Reward(outcome=0.0, total=0.5)) for i in range(len(groups))]
    write_rewards(rewards, first / "rewards.jsonl")
    add_groups(groups, second / "rollouts.jsonl")
    with (second / "rollouts.unfinished.jsonl").open("a") as file:
        file.write(json.dumps({"pair": {"clip": split.train[0].clip}})[:-2])
    for clip in sorted({r.clip for r in everyone}):
        write_private(second / "features" / entry_place(Path(), sha256(clip), "settings", ".safetensors").name, b"tensors")
    for line in ("the adapter sits on 7 modules", *log, "a last line"):
        run.log(line)
    run.add_metrics({"round": 1, "slice": 1, "reward": 1.0})
    write_private(folder / "adapter" / "adapter_model.safetensors", b"weights")
    write_private(folder / "report.html", "<html>a report</html>")
    write_private(folder / "evaluation.json", evaluation(folder.name, [case(r) for r in split.test]).json_text())
    return folder


def case(record, description="The child takes two steps backward.", decision="pass", base="The child stands."):
    judged = {"evidence": Judged(answer="yes", probability=0.9, mass=1.0)}
    return Case(
        clip=record.clip,
        clip_sha256=sha256(record.clip),
        item=record.item,
        outcome=record.outcome,
        child=record.child,
        sex=None,
        age_months=record.age_months,
        site=None,
        arms={
            "base": Said(description=base, tokens=5, decision="fail", verdicts=judged),
            "adapted": Said(description=description, tokens=7, decision=decision, verdicts=judged),
        },
    )


def evaluation(run, cases, unreadable=()) -> Evaluation:
    nobody = Named(id="tiny", sha256=None)
    card = Card(
        descriptor=nobody,
        adapter=nobody,
        judge=nobody,
        demonstration=True,
        questions={},
        judge_texts={},
        items=(),
        split="child",
        steps=8,
        settings={},
        versions={},
    )
    flow = Flow(
        records=12,
        no_outcome=0,
        train=8,
        validation=2,
        test=len(cases),
        test_pairs=len(cases),
        unrelated_pairs=0,
        unreadable_pairs=len(unreadable),
        decisions={},
        unscored={},
    )
    return Evaluation(
        run=run, demonstration=True, arms={}, flow=flow, unreadable=tuple(unreadable), card=card, cases=tuple(cases)
    )


def write_items(folder: Path) -> Path:
    """items.csv and videos/ of the same clinic."""
    for clip in CLIPS:
        write_private(folder / "videos" / clip, content(clip))
    with (folder / "items.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("video", "item", "outcome", "child"))
        writer.writerows((r.clip, r.item, r.outcome, CLIPS[r.clip]) for r in records())
    return folder / "items.csv"


def review_row(case, **changes) -> dict[str, str]:
    """A row as the report's review mode writes it: the adapted arm is overruled."""
    said = case.arms["adapted"]
    row = {
        "run": "a",
        "clip": case.clip,
        "clip_sha256": case.clip_sha256,
        "item": case.item,
        "description": said.description,
        "decision": said.decision or "",
        "review": "overrule",
        "human_decision": "fail",
        "reason": "misread",
        "note": "",
        "reads_as": "pass",
        "corrected_description": "The child takes one step.",
        "reviewer": "Dr. A",
        "when": "2026-07-01T09:30:00Z",
    }
    return row | changes


def write_reviews(path: Path, rows) -> Path:
    from srlite.escape import inert

    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({name: inert(cell) for name, cell in row.items()} for row in rows)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below, but the locks that a process leaves behind."""
    files = (p for p in folder.rglob("*") if p.is_file() and p.name != ".lock")
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in files}


def plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()
