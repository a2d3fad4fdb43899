"""`srlite judge check`: the bundled judge against answers that are right, and against answers that are not."""

import csv
import json
import tomllib

import pytest

from srlite.config import settings_from
from srlite.demo.make.judge import answers
from srlite.errors import InputError
from srlite.judging import _decision, _kappa, check_judge, judge_check_json
from srlite.records.dataset import catalogue_of
from srlite.records.labels import COLUMNS, QUESTION_COLUMNS, Label

CATALOGUE = catalogue_of(None)
TEXTS = (
    "The child faces left and moves right, walking backward.",
    "The child steps forward, facing left while moving left.",
    "A screen hides the child. Unable to assess walking backward.",
    "The child takes the offered spoon.",
    "Facing left, the child backward takes steps the.",
    "",
)
SETTINGS = settings_from({"threads": 1, "models": {"device": "cpu"}}, where="test")


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    return path


@pytest.fixture
def labels(tmp_path):
    """Six descriptions with the parser's answers."""
    item = CATALOGUE["18_4"]
    right = [[("no", "yes")[answers(text, item)[q]] for q in QUESTION_COLUMNS] for text in TEXTS]
    return write(tmp_path / "labels.csv", [("18_4", text, *row) for text, row in zip(TEXTS, right, strict=True)])


def test_a_judge_that_agrees_on_enough_labels_is_fit(run_cli, examples, tmp_path):
    """Ten yes and ten no to the two questions that decide, as the examples have them."""
    rows = [row[:4] for row in list(csv.reader((examples / "labels.csv").open(encoding="utf-8")))[1:]]
    kinds = (("yes", "yes"), ("yes", "no"), ("no", "no"))
    some = [[*row, "", "", "", ""] for kind in kinds for row in [row for row in rows if tuple(row[2:]) == kind][:10]]
    found = run_cli("judge", "check", write(tmp_path / "labels.csv", some), "--judge", "tiny", env={"COLUMNS": "140"})
    assert found.returncode == 0 and "This judge is fit to train with." in found.stdout


def test_few_labels_tell_what_they_tell_and_no_more(labels, home):
    found = judge_check_json(check_judge(labels, judge="tiny", catalogue=None, settings=SETTINGS))
    assert found["schema"] == "srlite.judge_check/1" and found["demonstration"] is True and found["labels"] == 6
    assert found["fit"] is False and found["canaries"] is None
    assert [text.split("of `")[1][:8] for text in found["unfit"]] == ["evidence", "met` 1 o"]
    assert all("too few labels to say" in text for text in found["unfit"])
    met = found["questions"]["met"]
    assert (met["tp"], met["fn"], met["fp"], met["tn"], met["unscored"]) == (1, 0, 0, 5, 0)
    assert met["kappa"] == met["sensitivity"]["value"] == 1.0 and met["sensitivity"]["n"] == 1
    assert found["questions"]["echo"]["kappa"] is None  # nobody says yes there: undefined, not 0
    assert found["decisions"] == found["decisions"] | {"value": 1.0, "n": 6}
    assert found["steady"]["n"] == 12 and found["steady"]["value"] == 1.0
    assert found["tokens_per_s"] > 0 and len(found["judge"]["sha256"]) == 64
    json.dumps(found, allow_nan=False)
    assert not list(home.rglob("verdicts.sqlite"))


def test_people_who_see_it_otherwise_make_it_unfit(run_cli, labels, tmp_path):
    rows = list(csv.reader(labels.open(encoding="utf-8")))[1:]
    contrary = [(item, text, *({"yes": "no", "no": "yes"}[a] for a in given)) for item, text, *given in rows]
    found = run_cli("judge", "check", write(tmp_path / "contrary.csv", contrary), "--judge", "tiny", env={"COLUMNS": "140"})
    assert found.returncode == 6
    assert "not fit to train with" in found.stdout and "demonstration model" in found.stdout
    assert "kappa -" in " ".join(found.stderr.split())


def test_a_judge_that_is_not_there_is_named(run_cli, labels):
    found = run_cli("judge", "check", labels, "--judge", "qwen3-8b")
    assert found.returncode == 4 and "qwen3-8b" in found.stderr


@pytest.mark.parametrize(
    ("given", "decision"),
    [
        ({"evidence": True, "met": True}, "pass"),
        ({"evidence": True, "met": False}, "fail"),
        ({"evidence": False}, "unable_to_assess"),
        ({"evidence": True, "met": True, "echo": True}, "unable_to_assess"),
        ({"evidence": True}, None),
        ({"met": True}, None),
    ],
)
def test_what_people_decide_follows_from_their_answers(given, decision):
    assert _decision(Label(CATALOGUE["18_4"], "text", given)) == decision


def test_kappa_is_cohens():
    """Cohen 1960: 2 x 2 with 20, 5, 10, 15 gives 0.4."""
    scored = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    assert _kappa(scored) == pytest.approx(0.4)
    assert _kappa([(True, True)] * 5) is None


@pytest.mark.slow
def test_thresholds_are_chosen_on_one_half_and_measured_on_the_other(run_cli, examples, tmp_path):
    """A threshold that was moved away is set right again."""
    out = tmp_path / "thresholds.toml"
    (tmp_path / "srlite.toml").write_text("[judge.thresholds]\nevidence = 0.9999\n")
    rows = list(csv.reader((examples / "labels.csv").open(encoding="utf-8")))[1:]
    some = write(tmp_path / "labels.csv", rows[::3])
    words = ("judge", "check", some, "--judge", "tiny", "--settings", tmp_path / "srlite.toml")
    found = run_cli(*words, "--thresholds", out, "--json")
    document = json.loads(found.stdout)
    assert document["labels"] + document["chosen_on"] == len(rows[::3]) and 30 < document["chosen_on"] < 60
    assert 0.0 < document["thresholds"]["evidence"] < 0.9999
    written = tomllib.loads(out.read_text(encoding="utf-8"))
    assert written == {"judge": {"thresholds": document["thresholds"]}}
    assert document["judge"]["sha256"] in out.read_text(encoding="utf-8") and "labels.csv" in out.read_text(encoding="utf-8")
    assert settings_from(written, where="here").judge.thresholds == document["thresholds"]
    again = run_cli(*words, "--thresholds", out)
    assert again.returncode == 2 and "there already" in " ".join(again.stderr.split())


def test_too_few_labels_for_two_halves(labels, home):
    with pytest.raises(InputError, match="6 labels are too few"):
        check_judge(labels, judge="tiny", catalogue=None, settings=SETTINGS, choose=True)
