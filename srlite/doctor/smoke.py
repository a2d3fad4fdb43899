"""The two things that break most often, tried for real with what is bundled: reading a clip, and asking a judge."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from srlite.config import Settings
from srlite.demo.clips import write_clip
from srlite.demo.world import clinic
from srlite.doctor.findings import Finding
from srlite.errors import SrliteError
from srlite.judge.canaries import CANARIES, ITEM
from srlite.judge.client import Judge, Request
from srlite.judge.decision import DECISION_QUESTIONS, decide
from srlite.models.store import find_judge
from srlite.video.pool import ClipReaders
from srlite.workbench import judge_alone


def look_at_smoke() -> Iterator[Finding]:
    yield _tried("reading clips", _read_a_clip)
    yield _tried("judging", _ask_the_judge)


def _tried(subject: str, work) -> Finding:
    began = time.monotonic()
    try:
        words = work()
    except SrliteError as error:
        return Finding(subject, "fault", error.message, error.remedy)
    return Finding(subject, "ok", f"{words} in {time.monotonic() - began:.1f} s")


def _read_a_clip() -> str:
    """A clip made for it: encoded, decoded, resized."""
    with tempfile.TemporaryDirectory() as folder, ClipReaders(limit_s=60.0) as readers:
        path = Path(folder) / "clip.mp4"
        write_clip(next(iter(clinic(1, 1, children=1, unseen_share=0.0))), path)
        frames = readers.read(path, count=8, multiple=32, max_pixels=16384)
    return f"a clip of {frames.duration_s:.1f} s was written and read"


def _ask_the_judge() -> str:
    """The bundled judge on descriptions whose decision is known."""
    settings = judge_alone(Settings(), find_judge("tiny"))
    with Judge(settings, None) as judge:
        found = judge.ask([Request(ITEM, c.description, DECISION_QUESTIONS) for c in CANARIES])
    right = sum(decide(v) == c.decision for v, c in zip(found, CANARIES, strict=True))
    if right < len(CANARIES):
        remedy = "llama.cpp computes something else than it should here: install another build of it."
        raise SrliteError(f"the bundled judge decides {right} of {len(CANARIES)} known descriptions rightly", remedy=remedy)
    return f"the bundled judge decided {right} known descriptions rightly"
