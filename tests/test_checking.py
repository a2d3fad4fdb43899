"""`srlite check` and `srlite init`: what a clinic runs first."""

import csv
import json
import shutil
import tomllib

import pytest

import srlite
from srlite.config import Settings, settings_from, settings_template
from srlite.errors import InputError
from srlite.starter import begin

ROWS = ("video", "item", "outcome", "child")


def write_rows(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([ROWS, *rows])


@pytest.fixture
def clinic(examples, tmp_path):
    """Four clips of two children, one of them cut short, one empty, one not a video; a row each."""
    videos = tmp_path / "videos"
    videos.mkdir()
    good = sorted((examples / "videos").glob("*_18_4_*"))[:3]
    for path, name in zip(good, ("a [b].mp4", "second.mp4", "cut.mp4"), strict=True):
        shutil.copy(path, videos / name)
    whole = (videos / "cut.mp4").read_bytes()
    (videos / "cut.mp4").write_bytes(whole[: len(whole) // 2])
    (videos / "empty.mp4").touch()
    (videos / "notes.mp4").write_text("no video")
    rows = [(p.name, "18_4", ("pass", "fail")[n % 2], f"c{n}") for n, p in enumerate(sorted(videos.iterdir()))]
    write_rows(tmp_path / "items.csv", rows)
    return tmp_path


def test_the_examples_are_fine(run_cli, examples):
    found = run_cli("check", examples / "items.csv", examples / "videos", "--json")
    assert found.returncode == 0, found.stderr
    document = json.loads(found.stdout)
    assert document["schema"] == "srlite.check/1" and document["records"] == 100 and not document["problems"]
    assert len(document["clips"]) == 100 and {c["action"] for c in document["clips"]} == {"ok"}
    first = document["clips"][0]["info"]
    assert (first["codec"], first["width"], first["height"], first["rotation"]) == ("h264", 128, 128, 0)
    assert first["frames"] == first["frames_declared"] > 0 and not first["variable"] and not first["hdr"]
    items = {i["code"]: i for i in document["items"]}
    assert len(items) == 12 and sum(i["passed"] + i["failed"] for i in items.values()) == 100
    with (examples / "items.csv").open(encoding="utf-8") as file:
        lonely = [r["outcome"] for r in csv.DictReader(file) if r["item"] == "12_4"]
    assert "fail" not in lonely and items["12_4"]["untestable"] == "no fail"


def test_bad_clips_are_named_and_the_rest_counted(run_cli, clinic):
    found = run_cli("check", clinic / "items.csv", clinic / "videos", "--json")
    assert found.returncode == 6 and "of 5 clips cannot be read" in found.stderr, found.stderr
    clips = {c["clip"]: c for c in json.loads(found.stdout)["clips"]}
    assert clips["a [b].mp4"]["action"] == clips["second.mp4"]["action"] == "ok"
    refused = {name: c["said"][0] for name, c in clips.items() if c["action"] == "refused"}
    assert {"empty.mp4", "notes.mp4"} <= set(refused) <= {"empty.mp4", "notes.mp4", "cut.mp4"}
    assert clips["cut.mp4"]["action"] != "ok"


@pytest.mark.parametrize("columns", ["60", "100"])
def test_the_table_names_what_is_wrong_and_counts_what_is_not(run_cli, clinic, columns):
    found = run_cli("check", clinic / "items.csv", clinic / "videos", env={"COLUMNS": columns})
    assert found.returncode == 6
    assert "empty" in found.stdout and "5 clips: 2 ok" in found.stdout and "[b]" not in found.stdout
    everything = run_cli("check", clinic / "items.csv", clinic / "videos", "--all", env={"COLUMNS": columns})
    assert "[b]" in everything.stdout


def test_every_problem_of_the_rows_is_listed_and_the_clips_are_looked_at(run_cli, examples, tmp_path):
    shutil.copy(next((examples / "videos").iterdir()), tmp_path / "only.mp4")
    write_rows(tmp_path / "items.csv", [(f"gone{n}.mp4", "18_4", f"[red]perhaps{n}\x1b[2J", "c") for n in range(30)])
    found = run_cli("check", tmp_path / "items.csv", tmp_path, "--json")
    document = json.loads(found.stdout)
    assert found.returncode == 3 and "30 problems" in " ".join(found.stderr.split())
    assert [p["line"] for p in document["problems"]] == list(range(2, 32))
    assert [c["clip"] for c in document["clips"]] == ["only.mp4"] and not document["items"]
    table = run_cli("check", tmp_path / "items.csv", tmp_path, env={"COLUMNS": "160"})
    assert "[red]perhaps29" in table.stdout and "\x1b" not in table.stdout + table.stderr


def test_rows_only_reads_no_clip(clinic):
    assert srlite.check(clinic / "items.csv", clinic / "videos", rows_only=True).clips == ()


def test_a_split_that_cannot_be_cut_is_a_problem_of_the_rows(examples, tmp_path):
    shutil.copy(next((examples / "videos").iterdir()), tmp_path / "only.mp4")
    write_rows(tmp_path / "items.csv", [("only.mp4", "18_4", "pass", "c1")])
    found = srlite.check(tmp_path / "items.csv", tmp_path)
    assert [p.text for p in found.problems] == ["1 children cannot be cut into two sides"] and len(found.clips) == 1


def test_what_training_will_refuse_is_told(clinic, examples):
    (clinic / "one.toml").write_text('[items."18_4"]\nname = "walks"\ncriterion = "Walks."\n')
    alone = srlite.check(clinic / "items.csv", clinic / "videos", catalogue=clinic / "one.toml", rows_only=True)
    (said,) = [n for n in alone.notes if n.startswith("train will refuse")]
    assert "mismatched pairs are wanted, 0 are possible" in said and "--mismatched-share 0" in said
    fine = srlite.check(examples / "items.csv", examples / "videos", rows_only=True)
    assert not any("refuse" in n for n in fine.notes)


def test_an_unused_split_column_is_told(clinic):
    lines = (clinic / "items.csv").read_text().splitlines()
    (clinic / "items.csv").write_text("\n".join([lines[0] + ",split", *(line + ",train" for line in lines[1:])]))
    by_child = srlite.check(clinic / "items.csv", clinic / "videos", rows_only=True)
    assert any("column split, which is not used" in note for note in by_child.notes)


def test_training_refuses_before_the_first_slice_what_check_refuses(clinic, home):
    for name in ("empty.mp4", "notes.mp4"):
        (clinic / "videos" / name).unlink()
    lines = (clinic / "items.csv").read_text().splitlines()
    (clinic / "items.csv").write_text("\n".join(line for line in lines if "empty" not in line and "notes" not in line))
    whole = (clinic / "videos" / "second.mp4").read_bytes()
    start, table = whole.index(b"mdat") + 4, whole.index(b"moov") - 4  # in the order that the examples have
    (clinic / "videos" / "cut.mp4").write_bytes(whole[:start] + bytes(table - start) + whole[table:])
    found = srlite.check(clinic / "items.csv", clinic / "videos")
    assert [c.clip for c in found.refused] == ["cut.mp4"]
    with pytest.raises(InputError, match="cut.mp4"):
        srlite.train(clinic / "items.csv", clinic / "videos", run=clinic / "run", preset="tiny")
    assert not (clinic / "run" / "rounds").exists()


# ---- init ---------------------------------------------------------------------------------------------------------------


def test_init_begins_something_that_check_and_train_understand(run_cli, examples, tmp_path):
    found = run_cli("init", "clinic", cwd=tmp_path)
    assert found.returncode == 0 and found.stdout.split() == [
        f"clinic/{name}" for name in ("items.csv", "items.toml", "srlite.toml", "HOW-TO.md")
    ]
    folder = tmp_path / "clinic"
    assert all(p.stat().st_mode & 0o077 == 0 for p in folder.rglob("*"))
    clips = sorted((examples / "videos").glob("*_18_4_*"))[:2]
    (folder / "videos" / "2026").mkdir()
    for clip, name in zip(clips, ("c001_walks.mp4", "c002_walks.mp4"), strict=True):
        shutil.copy(clip, folder / "videos" / "2026" / name)
    words = (folder / "items.csv", folder / "videos", "--catalogue", folder / "items.toml")
    checked = run_cli("check", *words, "--split", "per-item")
    assert checked.returncode == 0, checked.stderr
    again = run_cli("init", folder)
    assert again.returncode == 2 and "not empty" in " ".join(again.stderr.split())


def test_the_settings_file_names_every_setting_and_its_default():
    lines = [line for line in settings_template().splitlines() if not line.startswith("# ")]
    uncommented = "\n".join(line.removeprefix("#") for line in lines if not line.endswith("="))
    assert settings_from(tomllib.loads(uncommented), where="here") == Settings()
    unset = {line.removeprefix("#").removesuffix(" =") for line in lines if line.endswith("=")}
    assert unset == {"how", "slice_pairs", "max_imbalance", "learnt_at_once"}


def test_settings_beside_items_csv_are_used_and_options_win(run_cli, examples, tmp_path):
    shutil.copy(examples / "items.csv", tmp_path)
    (tmp_path / "srlite.toml").write_text("[schedule]\nrounds = 3\nlearning_rate = 0.5\n")
    words = ("train", tmp_path / "items.csv", examples / "videos", "--preset", "tiny", "--dry-run", "--json")
    beside = run_cli(*words)
    assert "srlite.toml" in beside.stderr
    assert {k: json.loads(beside.stdout)[k] for k in ("rounds", "learning_rate")} == {"rounds": 3, "learning_rate": 0.5}
    assert json.loads(run_cli(*words, "--rounds", 4).stdout)["rounds"] == 4
    (tmp_path / "other.toml").write_text("[schedule]\nturns = 3\n")
    wrong = run_cli(*words, "--settings", tmp_path / "other.toml")
    assert wrong.returncode == 3 and "other.toml" in wrong.stderr and "schedule.turns" in wrong.stderr


def test_init_writes_over_nothing(tmp_path):
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(srlite.errors.UsageError):
        begin(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
