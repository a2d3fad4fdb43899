"""A run on disk: begun, checkpointed, finished, taken up again, and refused."""

import json
import stat
import subprocess
import sys
from dataclasses import asdict

import pytest

from srlite.config import Settings, settings_from
from srlite.errors import InputError, ModelError, UsageError
from srlite.records.dataset import catalogue_of
from srlite.records.sides import Split
from srlite.training.owner import sole_owner
from srlite.training.run import Run, State, begin, check_place, finished_run, newest_finished, take_up
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


def test_a_changed_item_text_is_noticed_at_resume(tmp_path):
    catalogue = catalogue_of(None)
    run = begin(tmp_path / "run", Settings(), catalogue, SPLIT)
    assert take_up(run.folder, catalogue, RECORDS) == (run, SPLIT)
    path = run.folder / "catalogue.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("two steps backward", "two steps aside"), encoding="utf-8")
    with pytest.raises(InputError, match="the text of item 18_4 has changed"):
        take_up(run.folder, catalogue, RECORDS)


def test_resuming_nothing_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no run to resume"):
        take_up(tmp_path, catalogue_of(None), RECORDS)


def test_metrics_after_the_checkpoint_are_dropped_at_resume(tmp_path):
    run = begin(tmp_path / "run", Settings(), catalogue_of(None), SPLIT)
    for at in ((1, 1), (1, 2), (2, 1)):
        run.add_metrics({"round": at[0], "slice": at[1]})
    run.keep_metrics_until(State(step=4, round=1, slice=2))
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


def put_checkpoint(run, state, *, done=True):
    folder = run.folder / "checkpoints" / state.name
    folder.mkdir(parents=True)
    for name in ("adapter_model.safetensors", "optimiser.safetensors"):
        (folder / name).write_text(str(state.step))
    (folder / "state.json").write_text(json.dumps(asdict(state)))
    if done:
        (folder / "DONE").touch()
    return folder


def test_only_complete_checkpoints_count_and_the_best_validated_is_chosen(tmp_path):
    run = begin(tmp_path / "run", Settings(), catalogue_of(None), SPLIT)
    for round_, score in ((1, None), (2, 0.7), (3, 0.9), (4, 0.9), (5, 0.8)):
        put_checkpoint(run, State(step=4 * round_, round=round_, slice=1, score=score))
    put_checkpoint(run, State(step=24, round=6, slice=1, score=1.0), done=False)
    put_checkpoint(run, State(step=28, round=7, slice=1, score=1.0)).rename(run.folder / "checkpoints" / ".007.part")
    assert [state.step for state, _ in run.checkpoints()] == [4, 8, 12, 16, 20]
    assert not run.finished
    assert run.finish().step == 16
    assert run.finished and (run.adapter / "adapter_model.safetensors").read_text() == "16"


@pytest.mark.parametrize(
    ("scores", "chosen"),
    [
        ([(0.87, 0.05), (0.80, 0.05), (0.85, 0.05), (0.77, 0.05)], 3),  # an early best one may be luck
        ([(0.87, 0.01), (0.80, 0.05), (0.85, 0.05), (0.77, 0.05)], 1),
        ([(0.70, 0.05), (0.80, 0.05), (0.90, 0.05)], 3),
        ([(0.90, 0.05), (0.85, 0.0), (0.84, 0.20)], 2),  # the best one's own error counts
    ],
)
def test_the_newest_within_one_standard_error_of_the_best_is_chosen(tmp_path, scores, chosen):
    run = begin(tmp_path / "run", Settings(), catalogue_of(None), SPLIT)
    for round_, (score, error) in enumerate(scores, start=1):
        put_checkpoint(run, State(step=round_, round=round_, slice=1, score=score, score_error=error))
    assert run.finish().round == chosen


def test_the_hundredth_slice_comes_after_the_ninety_ninth(tmp_path):
    run = begin(tmp_path / "run", Settings(), catalogue_of(None), SPLIT)
    for slice_ in (100, 9, 99, 10000):
        put_checkpoint(run, State(step=slice_, round=1, slice=slice_))
    assert [state.slice for state, _ in run.checkpoints()] == [9, 99, 100, 10000]
    assert run.finish().slice == 10000


def test_a_line_that_a_power_cut_left_unfinished_is_not_read(tmp_path):
    run = begin(tmp_path / "run", Settings(), catalogue_of(None), SPLIT)
    run.add_metrics({"round": 1, "slice": 1})
    with (run.folder / "metrics.jsonl").open("a") as out:
        out.write('{"round": 1, "sli')
    run.keep_metrics_until(State(step=4, round=1, slice=1))
    run.add_metrics({"round": 1, "slice": 2})
    assert [m["slice"] for m in run.metrics()] == [1, 2]


@pytest.mark.parametrize("content", [None, "", "{}", '{"judge": 1}'])
def test_a_run_without_a_readable_lock_belongs_to_no_model(tmp_path, content):
    run = begin(tmp_path / "run", Settings(), catalogue_of(None), SPLIT)
    if content is not None:
        (run.folder / "lock.json").write_text(content)
    with pytest.raises(ModelError, match=r"lock\.json"):
        run.lock()


def test_an_unfinished_run_names_resume(tmp_path):
    run = begin(tmp_path / "b two", Settings(), catalogue_of(None), SPLIT)
    with pytest.raises(ModelError) as caught:
        finished_run(run.folder)
    assert caught.value.remedy == f"Go on with it: srlite train ITEMS_CSV VIDEOS --run '{run.folder}' --resume"
    with pytest.raises(ModelError, match="no run here"):
        finished_run(tmp_path)


def test_a_run_killed_while_it_began_can_be_begun_again(tmp_path):
    run = begin(tmp_path / "run", Settings(), catalogue_of(None), SPLIT)
    (run.folder / "config.toml").unlink()
    (run.folder / ".lock").touch()  # as `train` leaves it: it holds the lock before it writes anything
    assert begin(tmp_path / "run", Settings(), catalogue_of(None), SPLIT).settings() == Settings()


@pytest.mark.parametrize("name", ["split.csv", "catalogue.toml"])
def test_a_users_own_file_of_a_name_that_a_run_uses_is_not_overwritten(tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        begin(tmp_path, Settings(), catalogue_of(None), SPLIT)
    assert (tmp_path / name).read_text() == "mine"


def test_a_file_is_not_called_a_folder_that_is_not_empty(tmp_path):
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(UsageError, match="not a folder"):
        check_place(tmp_path / "notes", resume=False)


def test_a_second_process_is_kept_out_and_a_dead_one_is_not(tmp_path):
    hold = (
        "import sys, time; from pathlib import Path; from srlite.training.owner import sole_owner\n"
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
