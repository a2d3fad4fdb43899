"""`srlite review`: reviews taken in, checked, and given out again, as a user types it."""

import csv
import json
import os
import subprocess
import sys

import pytest
from kept_run import case, contents, evaluation, records, review_row, write_reviews, write_run

import srlite
from srlite.errors import InputError
from srlite.records.dataset import catalogue_of
from srlite.records.labels import read_labels
from srlite.reviewing import write_labels, write_references

RECORDS = records()


@pytest.fixture
def run(tmp_path):
    """A run whose test part are six records and an unrelated pair."""
    folder = write_run(tmp_path / "a", RECORDS[:4], RECORDS[4:6], RECORDS[6:])
    cases = [case(r) for r in RECORDS[6:]]
    cases.append(cases[0].model_copy(update={"item": "6_3", "outcome": None}))
    (folder / "evaluation.json").write_text(evaluation("a", cases).json_text(), encoding="utf-8")
    return folder


@pytest.fixture
def cases():
    return [case(r) for r in RECORDS[6:]]


def test_reviews_are_added_once_and_verified(run, cases, run_cli, tmp_path):
    saved = write_reviews(tmp_path / "r.csv", [review_row(c, note="=SUM(A1)") for c in cases[:3]])
    added = run_cli("review", "add", saved, "--run", run)
    assert added.returncode == 0 and "3 reviews added" in added.stdout, added.stderr
    before = (run / "reviews.jsonl").read_bytes()
    again = run_cli("review", "add", saved, "--run", run, "--json")
    document = json.loads(again.stdout)
    assert document["schema"] == "srlite.review_add/1" and (document["added"], document["known"]) == (0, 3)
    assert (run / "reviews.jsonl").read_bytes() == before
    more = write_reviews(tmp_path / "more.csv", [review_row(c, note="=SUM(A1)") for c in cases[2:4]])
    assert "1 review added, 1 were there already" in run_cli("review", "add", more, "--run", run).stdout
    verified = json.loads(run_cli("review", "verify", "--run", run, "--json").stdout)
    assert verified["schema"] == "srlite.review_verify/1" and (verified["lines"], verified["purged"]) == (4, 0)
    entry = json.loads((run / "reviews.jsonl").read_text().splitlines()[0])["entry"]
    assert entry["note"] == "=SUM(A1)" and entry["reviewer"] == "Dr. A" and entry["when"] == "2026-07-01T09:30:00Z"


def test_nothing_else_of_the_run_changes(run, cases, tmp_path):
    before = contents(run)
    srlite.add_reviews(write_reviews(tmp_path / "r.csv", [review_row(cases[0])]), run=run)
    after = contents(run)
    assert after.pop("reviews.jsonl") and after == before


def test_a_changed_line_is_named(run, cases, run_cli, tmp_path):
    srlite.add_reviews(write_reviews(tmp_path / "r.csv", [review_row(c) for c in cases[:3]]), run=run)
    text = (run / "reviews.jsonl").read_text()
    lines = text.splitlines(keepends=True)
    (run / "reviews.jsonl").write_text(lines[0] + lines[1].replace('"misread"', '"temporal"') + lines[2])
    found = run_cli("review", "verify", "--run", run)
    assert found.returncode == 3 and "reviews.jsonl, line 2" in " ".join(found.stderr.split()) and found.stdout == ""
    (run / "reviews.jsonl").write_text(text + '{"previous": "')
    cut = run_cli("review", "verify", "--run", run)
    assert cut.returncode == 0 and "the chain holds" in cut.stdout and "cut off" in cut.stderr


def test_reviews_of_something_else_are_refused_together(run, cases, tmp_path):
    rows = [
        review_row(cases[0]),
        review_row(cases[1], run="b"),
        review_row(cases[1], clip="other.mp4"),
        review_row(cases[1], clip_sha256="0" * 64),
        review_row(cases[1], description="The child flies."),
        review_row(cases[1], decision="fail", human_decision="pass"),
        review_row(cases[1], when="now"),
    ]
    with pytest.raises(InputError, match="6 problems") as caught:
        srlite.add_reviews(write_reviews(tmp_path / "r.csv", rows), run=run)
    for line, column in enumerate(("run", "clip", "clip_sha256", "description", "decision", "when"), start=3):
        assert f"line {line}, column {column}:" in caught.value.message
    assert not (run / "reviews.jsonl").exists()


def test_white_space_that_a_table_changed_is_not_a_difference(run, tmp_path):
    said = "The child  walks.\r\nIt stops. "
    odd = case(RECORDS[6], description=said)
    (run / "evaluation.json").write_text(evaluation("a", [odd]).json_text(), encoding="utf-8")
    row = review_row(odd, description="The child  walks.\nIt stops.")
    for _ in range(2):
        log = srlite.add_reviews(write_reviews(tmp_path / "r.csv", [row]), run=run).log
    assert log.lines == 1 and log.entries[0].description == said


def test_a_run_without_an_evaluation_or_reviews_says_what_to_do(run, cases, tmp_path):
    with pytest.raises(InputError, match="no reviews") as caught:
        write_labels(run, tmp_path / "labels.csv")
    assert "srlite review add" in caught.value.remedy
    (run / "evaluation.json").unlink()
    spaced, saved = run.rename(run.parent / "b two"), write_reviews(tmp_path / "r.csv", [review_row(cases[0])])
    assert (spaced / "adapter").is_dir()
    with pytest.raises(InputError, match="has no evaluation to review yet") as caught:
        srlite.add_reviews(saved, run=spaced)
    assert caught.value.remedy == f"Make one: srlite evaluate ITEMS_CSV VIDEOS --run '{spaced}' --compare base"
    (spaced / "adapter").rename(tmp_path / "adapter")
    with pytest.raises(InputError, match="not finished") as caught:
        srlite.add_reviews(saved, run=spaced)
    resume, then = caught.value.remedy.splitlines()
    assert f"--run '{spaced}' --resume" in resume and "srlite evaluate" in then
    with pytest.raises(InputError, match="there is no run here"):
        srlite.add_reviews(saved, run=tmp_path)


def test_two_at_once_do_not_fork_the_chain(run, cases, tmp_path):
    """Real processes: each adds its own, or is told that another is at work and succeeds later."""
    files = [write_reviews(tmp_path / f"{n}.csv", [review_row(c, reviewer=f"Dr. {n}") for c in cases]) for n in range(4)]
    words = [[sys.executable, "-m", "srlite.cli", "review", "add", str(f), "--run", str(run)] for f in files]
    at_once = [subprocess.Popen(w, env=os.environ, stderr=subprocess.PIPE, text=True, stdout=subprocess.PIPE) for w in words]
    ends = [(child.communicate()[1], child.returncode) for child in at_once]
    assert all(code == 0 or (code == 2 and "another process is at work" in " ".join(said.split())) for said, code in ends)
    assert 0 in {code for _, code in ends}
    for word in words:
        subprocess.run(word, check=True, capture_output=True)
    found = srlite.add_reviews(files[0], run=run)
    assert (found.added, found.log.lines) == (0, 4 * len(cases))


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_labels_are_what_judge_check_reads(run, tmp_path):
    said = {"pass": "Two steps back.", "fail": "-1 step back.", "unable_to_assess": "The child is hidden.", "": "Left out."}
    cases = [case(r, description=text) for r, text in zip(RECORDS[6:10], said.values(), strict=True)]
    (run / "evaluation.json").write_text(evaluation("a", cases).json_text(), encoding="utf-8")
    rows = [review_row(c, reads_as=reads) for c, reads in zip(cases, said, strict=True)]
    srlite.add_reviews(write_reviews(tmp_path / "r.csv", rows), run=run)
    written = write_labels(run, tmp_path / "labels.csv")
    assert (written.rows, written.left_out) == (3, 1)
    found = {label.description: dict(label.answers) for label in read_labels(tmp_path / "labels.csv", catalogue_of(None))}
    assert found == {
        "Two steps back.": {"evidence": True, "met": True},
        "-1 step back.": {"evidence": True, "met": False},
        "The child is hidden.": {"evidence": False},
    }
    assert "'-1 step back." in (tmp_path / "labels.csv").read_text()  # harmless in a spreadsheet


def test_a_persons_later_word_counts_and_persons_stay_apart(run, cases, tmp_path):
    rows = [
        review_row(cases[0], reads_as="fail", when="2026-07-02T09:00:00Z"),
        review_row(cases[0], reads_as="pass", when="2026-07-01T09:00:00Z"),  # an older file taken in later
        review_row(cases[0], reads_as="unable_to_assess", reviewer="Dr. B"),
    ]
    for row in rows:
        srlite.add_reviews(write_reviews(tmp_path / "r.csv", [row]), run=run)
    write_labels(run, tmp_path / "labels.csv")
    assert [(r["evidence"], r["met"]) for r in rows_of(tmp_path / "labels.csv")] == [("yes", "no"), ("no", "")]


def test_references_are_corrections_of_records(run, cases, run_cli, tmp_path):
    unrelated = cases[0].model_copy(update={"item": "6_3"})
    rows = [
        review_row(cases[0], corrected_description="=One step"),
        review_row(cases[1], corrected_description=""),
        review_row(unrelated, corrected_description="It cannot be assessed."),
    ]
    srlite.add_reviews(write_reviews(tmp_path / "r.csv", rows), run=run)
    found = run_cli("review", "references", "--run", run, "--out", tmp_path / "more.csv")
    assert found.returncode == 0 and "1 row; 2 reviews left out" in found.stdout, found.stderr
    assert rows_of(tmp_path / "more.csv") == [
        {
            "video": cases[0].clip,
            "item": cases[0].item,
            "description": "'=One step",
            "reviewer": "Dr. A",
            "when": "2026-07-01T09:30:00Z",
        }
    ]
    assert (tmp_path / "more.csv").stat().st_mode & 0o777 == 0o600
    again = run_cli("review", "references", "--run", run, "--out", tmp_path / "more.csv")
    assert again.returncode == 2 and "nothing is written over" in " ".join(again.stderr.split())


def test_nothing_to_write_is_said_and_no_file_is_made(run, cases, tmp_path):
    row = review_row(cases[0], reads_as="", corrected_description="")
    srlite.add_reviews(write_reviews(tmp_path / "r.csv", [row]), run=run)
    for write, words in ((write_labels, "reads as"), (write_references, "corrects")):
        with pytest.raises(InputError, match=words):
            write(run, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
