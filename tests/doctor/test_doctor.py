"""doctor looks, says what mends what, and its archive has nothing of any child in it."""

import json
import zipfile
from pathlib import Path

import pytest

from srlite.doctor import hardware, models
from srlite.doctor.bundle import known_names, without_names, without_paths, write_bundle
from srlite.doctor.examination import examination_json, examine
from srlite.errors import InputError, UsageError
from srlite.judge.build import offloads_to_card
from srlite.sizing import Place


@pytest.fixture(scope="module")
def document():
    return examination_json(examine())


def finding(document, subject):
    return next(f for f in document["findings"] if f["subject"] == subject)


def test_this_machine_reads_clips_and_judges(document):
    assert finding(document, "reading clips")["level"] == "ok"
    assert finding(document, "judging")["level"] == "ok" and "7 known" in finding(document, "judging")["words"]
    assert finding(document, "llama.cpp")["level"] == "ok"
    assert document["schema"] == "srlite.doctor/1" and document["fit"] is True
    assert "torch" in finding(document, "packages")["words"]


def test_what_is_not_installed_is_told_with_its_command(document):
    preset = finding(document, "preset 12gb")
    assert preset["level"] == "note" and preset["remedy"] == "srlite models pull --preset 12gb"
    assert "qwen3-vl-4b" in preset["words"] and "fits" in preset["words"]
    assert finding(document, "preset tiny")["level"] == "ok"


def test_a_preset_that_is_too_large_for_a_card_says_so():
    found = {f.subject: f.words for f in models.look_at_models(Place(6 * 10**9, "a small card", here=True))}
    assert "does not fit into 6.0 GB (a small card)" in found["preset 24gb"]
    assert "does not fit" not in found["preset 8gb"]


def test_every_model_by_itself_on_a_card():
    found = models.fits_by_model(Place(8 * 10**9, "a card", here=True))
    assert found["qwen3-vl-4b"].startswith("yes, ") and found["qwen3-vl-8b"].startswith("no, ")
    assert found["qwen3-4b"].startswith("yes, ") and "tiny" not in found


@pytest.mark.parametrize(
    ("card", "driver", "level", "words"),
    [
        (None, None, "note", "no CUDA card"),
        (None, "555.1", "fault", "torch cannot use the card (driver 555.1)"),
        (hardware.Card("RTX", 12 * 10**9, 11 * 10**9, "8.6", True), "555.1", "ok", "11.0 of 12.0 GB free"),
    ],
)
def test_a_card_in_words(card, driver, level, words):
    first = next(iter(hardware._card(card, driver)))
    assert first.level == level and words in first.words


def test_a_card_without_bfloat16_is_a_fault_and_a_busy_one_a_note():
    found = {f.subject: f for f in hardware._card(hardware.Card("GTX", 8 * 10**9, 2 * 10**9, "7.5", False), "1")}
    assert found["number format"].level == "fault" and "--preset cpu" in found["number format"].remedy
    assert found["card memory"].level == "note"


def test_the_build_of_llama_cpp_is_asked_in_a_process_of_its_own():
    offloads, said = offloads_to_card()
    assert offloads is not None and said == ""


# ---- the archive --------------------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "runs" / "of-anna"
    folder.mkdir(parents=True)
    rows = [
        "clip,item,side,outcome,child,age_months",
        "anna_b.mp4,18_4,train,pass,Anna B.,18",
        "ward 3/7.mp4,18_4,test,fail,7,19",
    ]
    (folder / "split.csv").write_text("\n".join(rows) + "\n")
    (folder / "config.toml").write_text('seed = 7\n\n[models]\ndescriptor = "/home/clinic/anna/model"\n')
    left_out = "anna_b.mp4 is left out of round 1: ~/anna/videos/anna_b.mp4 cannot be read"
    log = f"17 pairs, 7 left out\n{left_out}\nchild Anna B. in ward 3/7.mp4\n"
    (folder / "log.txt").write_text(log)
    (folder / "metrics.jsonl").write_text('{"round": 1, "reward": 0.5}\n')
    return folder


def test_nothing_of_a_child_is_in_the_archive(run, tmp_path):
    inside = write_bundle(tmp_path / "out.zip", {"findings": [{"words": "12 GB are free in /home/anna/srlite"}]}, run)
    assert inside == ["doctor.json", "config.toml", "log.txt", "metrics.jsonl"]
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    whole = "\n".join(texts.values())
    for name in ("anna", "Anna", "ward 3", "/home", "clinic"):
        assert name not in whole
    assert "17 pairs" in texts["log.txt"] and "clip-1 is left out of round 1" in texts["log.txt"]
    assert "child-2" in texts["log.txt"] and '"reward": 0.5' in texts["metrics.jsonl"]
    assert json.loads(texts["doctor.json"]) == {"findings": [{"words": "12 GB are free in [path]"}]}
    assert (tmp_path / "out.zip").stat().st_mode & 0o777 == 0o600


def test_names_are_whole_words_and_always_the_same(run):
    names = known_names(run / "split.csv")
    assert without_names("7 and 17 and anna_b and anna_bc", names) == f"{names['7']} and 17 and clip-1 and anna_bc"


@pytest.mark.parametrize("text", ["/home/anna/x.mp4", "C:\\Users\\anna\\x", "~/anna", "'/a b/c'"])
def test_paths_go(text):
    assert "anna" not in without_paths(text) and "[path]" in without_paths(text)


def test_a_rate_is_no_path():
    assert without_paths("3 tokens/s and 1/2 of it") == "3 tokens/s and 1/2 of it"


def test_a_split_that_cannot_be_read_makes_no_archive(run, tmp_path):
    (run / "split.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="names cannot be taken out"):
        write_bundle(tmp_path / "out.zip", {}, run)
    assert not (tmp_path / "out.zip").exists()


def test_nothing_is_written_over(tmp_path):
    (tmp_path / "out.zip").write_text("mine")
    with pytest.raises(UsageError, match="there already"):
        write_bundle(tmp_path / "out.zip", {}, None)
    assert (tmp_path / "out.zip").read_text() == "mine"


def test_the_command_prints_one_document_and_an_archive(run_cli, run, tmp_path):
    found = run_cli("doctor", "--json", "--bundle", tmp_path / "help.zip", "--run", run, cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["schema"] == "srlite.doctor/1"
    assert "Read it before you send it" in found.stderr and Path(tmp_path / "help.zip").exists()
