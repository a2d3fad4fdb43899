"""A run on disk: begun, checkpointed, finished, taken up again, and refused."""

import json
import stat
import subprocess
import sys

import pytest

from srlite.config import Settings, settings_from
from srlite.errors import InputError, ModelError, UsageError
from srlite.records.dataset import catalogue_of
from srlite.records.sides import Split
from srlite.training.run import Run, State, begin, newest_finished, sole_owner, take_up
from srlite.types import Record

RECORDS = tuple(Record(f"{i}.mp4", "30_1", "pass" if i % 2 else "fail", child=f"c{i}", line=i + 2) for i in range(6))
SPLIT = Split(RECORDS[:3], RECORDS[3:4], RECORDS[4:])


def test_a_run_keeps_its_settings_split_and_catalogue(tmp_path):
    settings = settings_from({"seed": 7, "schedule": {"learning_rate": 1e-3}}, where="test")
    run = begin(tmp_path / "run", settings, catalogue_of(None), SPLIT)
    assert run.settings() == settings
    assert run.catalogue() == catalogue_of(None)
    assert run.split(RECORDS) == SPLIT


def test_its_files_are_for_their_owner_only(tmp_path):
    run = begin(tmp_path / "run", Settings(), catalogue_of(None), SPLIT)
    run.log("x")
    run.add_metrics({"round": 1, "slice": 1})
    for path in run.folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE(run.folder.stat().st_mode) == 0o700


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        begin(tmp_path, Settings(), catalogue_of(None), SPLIT)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_refused_folder_is_left_as_it_was(tmp_path, examples):
    from srlite.training.job import train

    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    for run, resume, error in ((tmp_path / "full", False, UsageError), (tmp_path / "none", True, InputError)):
        with pytest.raises(error):
            train(examples / "items.csv", examples / "videos", run=run, preset="tiny", resume=resume)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["full", "thesis.txt"]


def test_a_changed_row_is_noticed_at_resume(tmp_path):
    begin(tmp_path / "run", Settings(), catalogue_of(None), SPLIT)
    changed = (Record("0.mp4", "30_1", "pass", child="c0", line=2), *RECORDS[1:])
    with pytest.raises(InputError, match="0.mp4"):
        take_up(tmp_path / "run", catalogue_of(None), changed)


def test_resuming_nothing_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no run to resume"):
        take_up(tmp_path, catalogue_of(None), RECORDS)


def test_metrics_after_the_checkpoint_are_dropped_at_resume(tmp_path):
    run = begin(tmp_path / "run", Settings(), catalogue_of(None), SPLIT)
    for at in ((1, 1), (1, 2), (2, 1)):
        run.add_metrics({"round": at[0], "slice": at[1]})
    run.keep_metrics_until(State(step=4, round=1, slice=2, threads=1))
    assert [(m["round"], m["slice"]) for m in run.metrics()] == [(1, 1), (1, 2)]


def test_without_a_finished_run_the_command_that_makes_one_is_named(tmp_path):
    with pytest.raises(ModelError, match="srlite train"):
        newest_finished(tmp_path)


def test_the_newest_finished_run_is_found(tmp_path):
    import os

    for age, name in ((30, "a"), (10, "b"), (20, "c")):
        (tmp_path / name / "adapter").mkdir(parents=True)
        os.utime(tmp_path / name / "adapter", (1e9 - age, 1e9 - age))
    (tmp_path / "unfinished").mkdir()
    assert newest_finished(tmp_path).folder.name == "b"


def test_only_complete_checkpoints_count_and_the_best_validated_is_chosen(tmp_path):
    run = begin(tmp_path / "run", Settings(), catalogue_of(None), SPLIT)
    for step, score, done in (
        (4, None, True),
        (8, 0.7, True),
        (12, 0.9, True),
        (16, 0.9, True),
        (20, 0.8, True),
        (24, 1.0, False),
    ):
        folder = run.folder / "checkpoints" / f"001-{step:02d}-{step:06d}"
        folder.mkdir(parents=True)
        (folder / "adapter_model.safetensors").write_text(str(step))
        (folder / "state.json").write_text(json.dumps({"step": step, "round": 1, "slice": step, "threads": 1, "score": score}))
        if done:
            (folder / "DONE").touch()
    assert [state.step for state, _ in run.checkpoints()] == [4, 8, 12, 16, 20]
    assert not run.finished
    assert run.finish().step == 16
    assert run.finished and (run.adapter / "adapter_model.safetensors").read_text() == "16"


def test_a_second_process_is_kept_out_and_a_dead_one_is_not(tmp_path):
    hold = (
        "import sys, time; from pathlib import Path; from srlite.training.run import sole_owner\n"
        "with sole_owner(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    other = subprocess.Popen([sys.executable, "-c", hold, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(UsageError, match="another process"), sole_owner(tmp_path):
            pass
    finally:
        other.kill()
        other.wait()
    with sole_owner(tmp_path):
        assert Run(tmp_path).checkpoints() == []
