"""The commands as a user types them: documents on stdout, messages on stderr, exit codes of the contract, no socket."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from fences import without_the_rights_of_root

from srlite.models.store import BUNDLED

LOAD = """
from pathlib import Path
from srlite.descriptor.load import load_descriptor
try:
    (Path({folder!r}) / "mine").touch()
    raise SystemExit("the folder can be written")
except PermissionError:
    pass
print(load_descriptor(Path({folder!r}), adapter=None, device="cpu", quantise=False, dtype="float32", seed=1).adapted)
"""


def test_the_watch_sees_a_socket(watched, tmp_path):
    env, log = watched
    subprocess.run(
        [sys.executable, "-c", "import socket; socket.socket().connect_ex(('127.0.0.1', 9))"],
        env={**os.environ, **env},
        check=True,
    )
    assert "socket.connect" in log.read_text()


@pytest.mark.slow
def test_the_title_page(run_cli, examples, watched, tmp_path):
    """A short training, then `srlite assess CLIP --item 18_4` finds the run; no socket is used."""
    env, log = watched
    trained = run_cli(
        "train",
        examples / "items.csv",
        examples / "videos",
        "--preset",
        "tiny",
        "--max-minutes",
        "0.2",
        cwd=tmp_path,
        env=env,
    )
    assert trained.returncode == 0, trained.stderr
    assert trained.stdout.startswith("run: runs/") and "demonstration model" in trained.stdout
    clip = sorted((examples / "videos").glob("*_18_4_*"))[0]
    shutil.copy(clip, tmp_path / "clip.mp4")
    found = run_cli("assess", "clip.mp4", "--item", "18_4", "--json", cwd=tmp_path, env=env)
    assert found.returncode == 0, found.stderr
    assert "newest finished" in found.stderr
    document = json.loads(found.stdout)
    assert document["schema"] == "srlite.assessment/1"
    assert document["clip"]["path"] == "clip.mp4" and len(document["clip"]["sha256"]) == 64
    assert document["item"] == {
        "code": "18_4",
        "name": "walks backward",
        "criterion": "The child takes at least two steps backward.",
    }
    assert document["description"] and document["demonstration"] is True
    assert document["decision"] in ("pass", "fail", "unable_to_assess", None)
    assert {"evidence", "met"} <= set(document["verdicts"])
    assert set(document["models"]) == {"descriptor", "adapter", "judge"}
    assert all(len(m["sha256"]) == 64 for m in document["models"].values())
    panel = run_cli("assess", "clip.mp4", "--item", "18_4", cwd=tmp_path, env=env)
    assert panel.returncode == 0 and "not a diagnostic device" in panel.stdout
    assert " ".join(document["description"].split()[:3]) in panel.stdout
    (tmp_path / "bad.mp4").write_text("no video")
    both = run_cli("assess", "bad.mp4", "clip.mp4", "gone.mp4", "--item", "18_4", "--jsonl", cwd=tmp_path, env=env)
    assert both.returncode == 6, both.stderr
    lines = [json.loads(line) for line in both.stdout.splitlines()]
    told = {line["clip"]["path"]: line["schema"] for line in lines}
    assert told == {"bad.mp4": "srlite.failed/1", "clip.mp4": "srlite.assessment/1", "gone.mp4": "srlite.failed/1"}
    assert all(name in both.stderr for name in ("bad.mp4", "gone.mp4", "2 of 3 clips"))
    alone = run_cli("assess", "bad.mp4", "--item", "18_4", "--json", cwd=tmp_path, env=env)
    assert alone.returncode == 3 and alone.stdout == "" and "fault of srlite" not in alone.stderr
    assert not log.exists(), log.read_text()


@pytest.mark.slow
def test_models_by_path_in_a_folder_that_cannot_be_written(run_cli, examples, watched, tmp_path):
    """As an administrator would install them, a stale part of a download beside them: planned and loaded without a socket."""
    env, log = watched
    shutil.copytree(BUNDLED, tmp_path / "models")
    (tmp_path / "models" / "descriptor" / "model.safetensors.incomplete").write_bytes(b"x" * 10)
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "models").rglob("*")}
    for path in before:
        path.chmod(0o555 if path.is_dir() else 0o444)
    models = ("--descriptor", tmp_path / "models" / "descriptor", "--judge", tmp_path / "models" / "judge.gguf")
    found = run_cli("train", examples / "items.csv", examples / "videos", *models, "--dry-run", "--json", cwd=tmp_path, env=env)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["descriptor"] == "descriptor"
    words = [sys.executable, "-c", LOAD.format(folder=str(tmp_path / "models" / "descriptor"))]
    plainly = dict(capture_output=True, text=True, env={**os.environ, **env}, preexec_fn=without_the_rights_of_root)
    loaded = subprocess.run(words, **plainly)
    assert loaded.returncode == 0 and int(loaded.stdout) > 0, loaded.stderr
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "models").rglob("*")} == before
    assert not log.exists(), log.read_text()


def test_resume_takes_no_other_settings(run_cli, examples, tmp_path):
    for words in (["--run", tmp_path, "--rounds", 9], ["--run", tmp_path, "--seed", 0], []):
        found = run_cli("train", examples / "items.csv", examples / "videos", "--resume", *words)
        assert found.returncode == 2 and "begun with" in found.stderr


def test_a_clip_that_cannot_be_opened_is_named_before_anything_is_loaded(run_cli, examples, tmp_path):
    shutil.copytree(examples / "videos", tmp_path / "videos")
    broken = sorted((tmp_path / "videos").glob("*.mp4"))[:2]
    broken[0].write_bytes(b"")
    broken[1].write_bytes(broken[1].read_bytes()[:500])
    words = (examples / "items.csv", tmp_path / "videos", "--preset", "tiny", "--run", tmp_path / "run")
    found = run_cli("train", *words)
    assert found.returncode == 3
    assert all(path.name in found.stderr for path in broken) and "2 clips" in found.stderr
    assert not (tmp_path / "run").exists()


def test_train_without_options_and_models_names_the_commands_that_mend_it(run_cli, examples, tmp_path):
    found = run_cli("train", examples / "items.csv", examples / "videos", cwd=tmp_path)
    assert found.returncode == 4 and found.stdout == ""
    assert "--preset tiny" in found.stderr and "Traceback" not in found.stderr
    assert not (tmp_path / "runs").exists()


def test_assess_without_a_run_names_the_command_that_makes_one(run_cli, examples, tmp_path):
    shutil.copy(next((examples / "videos").glob("*.mp4")), tmp_path / "clip.mp4")
    found = run_cli("assess", "clip.mp4", "--item", "30_1", cwd=tmp_path)
    assert found.returncode == 4
    assert "srlite train" in found.stderr and "Traceback" not in found.stderr


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace(text.splitlines()[1].split(",")[0], "gone.mp4"), "gone.mp4"),
        (lambda text: text.replace(",18_4,", ",99_9,"), "99_9"),
        (lambda text: text.replace(",pass,", ",perhaps,", 1), "perhaps"),
        (lambda text: text.replace("outcome", "result", 1), "outcome"),
    ],
)
def test_bad_records_are_refused_in_one_message(run_cli, examples, tmp_path, change, words):
    (tmp_path / "items.csv").write_text(change((examples / "items.csv").read_text()))
    found = run_cli("train", tmp_path / "items.csv", examples / "videos", "--preset", "tiny", "--run", tmp_path / "run")
    assert found.returncode == 3, found.stderr
    assert words in found.stderr and "Traceback" not in found.stderr
    assert not (tmp_path / "run" / "config.toml").exists()


def test_unreadable_bytes_and_missing_files(run_cli, examples, tmp_path):
    (tmp_path / "items.csv").write_bytes(b"video,item,outcome\n\xff\xfe\x00\x81,18_4,pass\n")
    for csv, videos in (
        (tmp_path / "items.csv", examples / "videos"),
        (tmp_path / "none.csv", examples / "videos"),
        (examples / "items.csv", tmp_path / "none"),
    ):
        found = run_cli("train", csv, videos, "--preset", "tiny", "--run", tmp_path / "run")
        assert found.returncode == 3, found.stderr
        assert "Traceback" not in found.stderr


def test_a_missing_model_and_an_unknown_preset(run_cli, examples, tmp_path):
    named = run_cli("train", examples / "items.csv", examples / "videos", "--preset", "24gb")
    assert named.returncode == 4 and "qwen3-vl-8b" in named.stderr
    unknown = run_cli("train", examples / "items.csv", examples / "videos", "--preset", "huge")
    assert unknown.returncode == 2 and "tiny" in unknown.stderr


def test_the_dry_run_prints_a_plan_and_makes_nothing(run_cli, examples, tmp_path):
    found = run_cli(
        "train",
        examples / "items.csv",
        examples / "videos",
        "--preset",
        "tiny",
        "--dry-run",
        "--json",
        cwd=tmp_path,
    )
    plan = json.loads(found.stdout)
    assert plan["schema"] == "srlite.plan/1" and plan["optimiser_steps_at_most"] > 0
    assert plan["train"] + plan["validation"] + plan["test"] == plan["records"] == 100
    assert list(tmp_path.iterdir()) == []


def test_plain_terminals_and_pipes(run_cli, tmp_path):
    found = run_cli("models", "list", env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "TERM": "dumb", "COLUMNS": "20"})
    assert found.returncode == 0 and "\x1b" not in found.stdout
    listed = json.loads(run_cli("models", "list", "--json").stdout)
    assert {m["id"] for m in listed["models"] if m["installed"]} == {"tiny"}
