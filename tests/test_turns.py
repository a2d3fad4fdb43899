"""Descriptor and judge take turns: what a turn took is handed back when it ends."""

import os
import statistics
from pathlib import Path

import pytest
from small_clinic import SMALL

from srlite.describing import ALL_QUESTIONS, prepare, sample
from srlite.descriptor.generate import Ask
from srlite.descriptor.prompts import canonical_prompt
from srlite.judge.client import Request
from srlite.records.dataset import catalogue_of
from srlite.training.job import settings_for
from srlite.workbench import open_workbench

TURNS = 20


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def children() -> set[str]:
    """Process ids of the children of this process and of its threads."""
    found = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return {pid for path in found for pid in path.read_text().split()}


@pytest.mark.slow
def test_twenty_turns_leave_no_process_and_no_rising_memory(data, trained, home):
    catalogue = catalogue_of(None)
    settings = settings_for("tiny", SMALL)[1]
    clip = next((data / "videos").glob("*18_4*"))
    used = []
    with open_workbench(settings, catalogue, videos=data / "videos", adapter=trained / "adapter") as bench:
        item = catalogue["18_4"]
        before = None
        for turn in range(TURNS):
            prompt, features, _, _ = prepare(bench, clip.name, canonical_prompt(item, 18.0))
            (group,) = sample(bench, [Ask(prompt, features, tuple(range(100 * turn, 100 * turn + 4)))])
            # Every turn something that no cache knows, so that the judge is really started.
            verdicts = bench.judge.ask([Request(item, f"{r.text} {turn}", ALL_QUESTIONS) for r in group])
            assert bench.judge.worker_pid is not None and len(verdicts) == 4
            bench.judge.close()
            assert bench.judge.worker_pid is None
            before = before or children()
            assert children() <= before  # what is there besides reads clips
            used.append(resident_mb())
    first, last = statistics.median(used[3:8]), statistics.median(used[-5:])
    assert last < first + 20, used
