"""Run folders to report on, written by the functions that write them in training."""

import json

import pytest
from report.documents import ITEMS, cases, evaluation

from srlite.config import Settings, settings_toml
from srlite.descriptor.prompts import prompts_hash
from srlite.judge.questions import questions_hash
from srlite.records.catalogue import Catalogue, write_catalogue
from srlite.records.sides import Split
from srlite.records.split import write_split
from srlite.types import Item, Record

SETTINGS = Settings.model_validate({"video": {"frames": 8, "max_pixels": 20_000}, "schedule": {"rounds": 2}})


def slice_figures(round_, slice_, step):
    at = (round_ - 1) * 2 + slice_
    rewards = dict(reward=1.0 + 0.3 * at, outcome=0.4 + 0.1 * at, unrelated=0.3 + 0.1 * at, relevance=0.9, quality=None)
    shares = dict(abstention_matched=0.2, abstention_mismatched=0.3 + 0.1 * at)
    return dict(round=round_, slice=slice_, pairs=6, step=step) | rewards | shares


def write_run(folder, *, slices=4, lock=True, adapter=True, document=None):
    """A run that was stopped after so many slices (of two a round)."""
    folder.mkdir()
    items = [Item(code, name, criterion, age_months=int(code.split("_")[0])) for code, (name, criterion, _) in ITEMS.items()]
    write_catalogue(Catalogue(tuple(items)), folder / "catalogue.toml")
    records = [Record(f"c{i}.mp4", code, "pass" if i % 3 else "fail", child=f"k{i}") for i, code in enumerate(list(ITEMS) * 3)]
    write_split(Split(tuple(records[:8]), tuple(records[8:10]), tuple(records[10:])), folder / "split.csv")
    (folder / "config.toml").write_text(settings_toml(SETTINGS))
    if lock:
        models = dict(descriptor="tiny", descriptor_sha256="a" * 64, judge="tiny", judge_sha256="c" * 64)
        texts = dict(questions_sha256=questions_hash(), prompts_sha256=prompts_hash())
        (folder / "lock.json").write_text(json.dumps({**models, **texts, "demonstration": True, "threads": 1}))
    lines = []
    for at in range(slices):
        lines.append(slice_figures(at // 2 + 1, at % 2 + 1, 3 * (at + 1)))
        if at % 2:
            lines.append({"round": at // 2 + 1, "slice": 2, "validation": 0.5 + 0.1 * at, "validation_error": 0.08})
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if adapter:
        (folder / "adapter").mkdir()
    if document:
        (folder / "evaluation.json").write_text(document.json_text())
    return folder


@pytest.fixture
def killed(tmp_path):
    """A run that was killed in its second round."""
    return write_run(tmp_path / "run", slices=3, adapter=False)


@pytest.fixture
def evaluated(tmp_path):
    """A finished run with an evaluation that has everything in it."""
    arms = ("generic", "base", "adapted")
    return write_run(tmp_path / "run", document=evaluation(cases(24, arms), arms, closer=True))


@pytest.fixture
def reported(tmp_path):
    """reported(*cases, **more) -> the HTML of a run with an evaluation of these cases."""
    from srlite.report.writing import write_report

    def make(*found, name="run", **more):
        folder = write_run(tmp_path / name, document=evaluation(found, **more))
        return write_report(folder, frames=False).file.read_text(encoding="utf-8")

    return make
