"""`srlite assess` as a user types it: folders, lists, every form of output, exit codes."""

import csv
import json
import os
import pty
import shutil
import subprocess
import sys

import pytest
from cut_clips import clip_of
from fhir.resources.R4B.bundle import Bundle

from srlite.assessing.job import Failed
from srlite.cli.results import Results
from srlite.console import Screen
from srlite.errors import Findings, InputError, UsageError


@pytest.fixture(scope="module")
def session(data, broken, tmp_path_factory):
    """A clinic's folder: two clips and a broken one of one item, notes, and a list."""
    folder = tmp_path_factory.mktemp("session") / "clips"
    folder.mkdir()
    shutil.copy(clip_of(data, "18_3"), folder / "a.mp4")
    shutil.copy(broken, folder / "b.mp4")
    shutil.copy(clip_of(data, "18_3", 1), folder / "c.mp4")
    (folder / "notes.txt").write_text("Anna was tired")
    (folder.parent / "list.csv").write_text("video,item,child,age_months\nc.mp4,18_3,Anna,20\na.mp4,18_4,Boris,\n")
    return folder


def test_a_folder_in_every_form(run_cli, session, trained, tmp_path):
    out = tmp_path / "out"
    files = ("--csv", out / "table.csv", "--fhir", out / "bundle.json", "--report", out / "page.html", "--subject", "Patient/7")
    found = run_cli("assess", session, "--item", "18_3", "--run", trained, "--samples", 2, "--jsonl", *files)
    assert found.returncode == 6, found.stderr
    lines = [json.loads(line) for line in found.stdout.splitlines()]
    assert [line["schema"] for line in lines] == ["srlite.assessment/1", "srlite.failed/1", "srlite.assessment/1"]
    failed = lines.pop(1)
    assert failed["clip"] == {"path": str(session / "b.mp4")} and failed["item"] == {"code": "18_3"}
    assert failed["error"] and failed["remedy"].endswith("leave it out.")
    assert [line["clip"]["path"] for line in lines] == [str(session / "a.mp4"), str(session / "c.mp4")]
    assert all(line["schema"] == "srlite.assessment/1" and line["samples"]["k"] == 2 for line in lines)
    shown = found.stderr.replace("\n", "")
    assert "b.mp4" in shown and "notes.txt" in shown and "1 of 3 clips could not be assessed" in shown
    assert "3 clips: " in shown and "1 could not be assessed" in shown
    with (tmp_path / "out" / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    assert [row["clip"] for row in rows] == [str(session / name) for name in ("a.mp4", "b.mp4", "c.mp4")]
    assert [row["description"] for row in rows] == [lines[0]["description"], "", lines[1]["description"]]
    text = (tmp_path / "out" / "bundle.json").read_text(encoding="utf-8")
    bundle = Bundle.model_validate_json(text)
    assert [e.resource.derivedFrom[0].identifier.value for e in bundle.entry] == [line["clip"]["sha256"] for line in lines]
    assert [e.resource.subject.reference for e in bundle.entry] == ["Patient/7"] * 2
    assert not [word for word in ("a.mp4", "c.mp4", str(tmp_path), session.parent.name, trained.name) if word in text]
    page = (out / "page.html").read_text(encoding="utf-8")
    assert page.count("data:image/jpeg;base64,") == sum(len(line["clip"]["frames_s"]) for line in lines) == 16
    assert all(line["description"] in page for line in lines) and page.count("2 more descriptions") == 2
    assert all((out / name).stat().st_mode & 0o077 == 0 for name in ("table.csv", "bundle.json", "page.html"))
    again = run_cli("assess", session, "--item", "18_3", "--run", trained, *files)
    assert again.returncode == 2 and "nothing is written over" in again.stderr


def test_a_list_in_one_document(run_cli, session, trained):
    found = run_cli("assess", session, "--items-csv", session.parent / "list.csv", "--run", trained, "--json")
    assert found.returncode == 0, found.stderr
    document = json.loads(found.stdout)
    assert document["schema"] == "srlite.assessments/1" and document["failed"] == []
    assert [(a["item"]["code"], a["child"], a["age_months"]) for a in document["assessments"]] == [
        ("18_3", "Anna", 20.0),
        ("18_4", "Boris", 18),
    ]


FORMS = dict(run=None, alone=False, json=True, jsonl=False, csv=None, fhir=None, report=None, subject=None, effective=None)


def test_where_every_clip_is_broken_there_is_still_a_document(together, capsys):
    failed = [one for one in together[0] if isinstance(one, Failed)]
    with pytest.raises(Findings, match="1 of 1 clips"):
        Results(Screen(), **FORMS).finish(failed)
    document = json.loads(capsys.readouterr().out)
    assert document["assessments"] == [] and document["failed"][0]["clip"]["path"] == str(failed[0].asked.clip)


def test_a_clip_alone_fails_with_its_own_error(together, capsys):
    (failed,) = (one for one in together[0] if isinstance(one, Failed))
    with pytest.raises(InputError) as caught:
        Results(Screen(), **FORMS | {"alone": True}).give(failed)
    assert caught.value is failed.error and capsys.readouterr().out == ""


def test_one_subject_is_not_several_children(asked, tmp_path):
    bundle = FORMS | {"fhir": tmp_path / "bundle.json", "subject": "Patient/7"}
    with pytest.raises(UsageError, match="several children"):
        Results(Screen(), **bundle).begin(asked)
    Results(Screen(), **bundle).begin(asked[:3])  # of two it is not said whom they show
    assert list(tmp_path.iterdir()) == []


def test_a_moving_line_on_the_terminal_leaves_stdout_alone(session, trained):
    """stderr is a terminal, stdout a file: the documents go to the file and nothing else does."""
    master, slave = pty.openpty()
    words = [sys.executable, "-m", "srlite.cli", "assess", session / "a.mp4", session / "c.mp4"]
    words += ["--item", "18_3", "--run", trained, "--jsonl"]
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    child = subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=slave, env=env)
    os.close(slave)
    seen = b""
    try:
        while block := os.read(master, 4096):
            seen += block
    except OSError:  # how Linux tells the end of a terminal
        pass
    out = child.stdout.read()
    os.close(master)
    assert child.wait() == 0, seen
    assert [json.loads(line)["clip"]["path"] for line in out.splitlines()] == [str(session / n) for n in ("a.mp4", "c.mp4")]
    assert b"describe" in seen and b"judge" in seen and b"srlite.assessment/1" not in seen


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give either --item or --items-csv"),
        (("--item", "18_3", "--items-csv", "list.csv"), "give either --item or --items-csv"),
        (("more.mp4", "--items-csv", "list.csv"), "the one folder of its clips"),
        (("--items-csv", "list.csv", "--age-months", 20), "column age_months"),
        (("--item", "18_3", "--json", "--jsonl"), "exclude each other"),
        (("--item", "18_3", "--subject", "Patient/7"), "Give --fhir"),
        (("--item", "18_3", "--fhir", "b.json", "--subject", "Anna"), "no reference"),
        (("--item", "18_3", "--fhir", "b.json", "--effective", "soon"), "no date or time"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_once(run_cli, tmp_path, words, said):
    found = run_cli("assess", "clips", *words, cwd=tmp_path)
    assert found.returncode == 2 and said in " ".join(found.stderr.split()), found.stderr
    assert list(tmp_path.iterdir()) == []
