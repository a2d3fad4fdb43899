"""What is printed: text of users and models is shown, never obeyed, at any width."""

import pytest

from srlite.console import Screen
from srlite.console.assessment import show_assessment
from srlite.errors import InputError
from srlite.escape import plain
from srlite.training.progress import SliceDone

HOSTILE = "The [b]child[/b] \x1b[31mwalks\x07 \u202ebackward [/]"
DOCUMENT = {
    "clip": {"path": f"videos/{HOSTILE.replace('/', '')}.mp4"},
    "item": {"code": "[/b]", "name": HOSTILE, "criterion": HOSTILE},
    "description": HOSTILE,
    "decision": None,
    "verdicts": {
        name: {"answer": "unscored", "probability": None}
        for name in ("evidence", "met", "relevant", "well_formed", "abstains", "echo")
    },
    "samples": None,
    "warnings": [HOSTILE],
    "demonstration": True,
}


def shown(capsys):
    found = capsys.readouterr()
    return found.out + found.err


@pytest.mark.parametrize("columns", ["20", "100"])
def test_markup_and_control_characters_are_text(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    screen = Screen()
    show_assessment(screen, DOCUMENT)
    screen.error(InputError(HOSTILE, where=HOSTILE, remedy=HOSTILE))
    screen.note(HOSTILE)
    screen.table("t", ("a",), [(HOSTILE,)])
    text = shown(capsys)
    assert "[b]" in text and "[/]" in text
    assert not set(text) & {"\x1b", "\x07", "\u202e"}


def test_a_missing_decision_is_said_not_guessed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    show_assessment(Screen(), DOCUMENT)
    text = shown(capsys)
    assert "no decision (unscored)" in text and "demonstration model" in text and "not a diagnostic device" in text


def test_samples_stand_below_the_decision(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    samples = {"k": 8, "agreeing": 0.75, "decisions": {"pass": 6, "fail": 0, "unable_to_assess": 1, "unscored": 1}}
    show_assessment(Screen(), DOCUMENT | {"decision": "pass", "samples": samples})
    text = " ".join(shown(capsys).split())
    assert "of 8 more descriptions, 75% decided as this one: pass 6, unable to assess 1, unscored 1" in text
    show_assessment(Screen(), DOCUMENT | {"samples": samples | {"agreeing": None}})
    assert "of 8 more descriptions, pass 6" in " ".join(shown(capsys).split())


FIGURES = dict.fromkeys(("outcome", "unrelated", "relevance", "quality", "kl", "validation", "sample_tokens_per_s")) | {
    "round": 2,
    "slice": 3,
    "reward": 1.5,
    "zero_signal_share": 0.62,
    "length_tokens": 17.4,
    "cache_hits": 4,
    "unscored_share": 0.03,
}


def test_a_slice_says_how_much_of_it_taught_nothing(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    screen = Screen()
    with screen.bar() as bar:
        bar.hear(SliceDone(FIGURES, left_s=90.0))
    text = shown(capsys)
    assert "no signal 62%" in text and "17 tokens" in text and "unscored 3.0%" in text


def test_quiet_silences_all_but_errors(capsys):
    screen = Screen(quiet=True)
    screen.note("a note")
    screen.say("a sentence")
    screen.error(InputError("wrong"))
    found = capsys.readouterr()
    assert found.out == "" and "wrong" in found.err and "note" not in found.err and "sentence" not in found.err


def test_plain_keeps_what_can_be_read():
    assert plain("走路 é\nline") == "走路 é\nline"
    assert plain("a\x00b\u2066c") == "a\ufffdb\ufffdc"


def test_paraphrases_show_what_was_kept_and_why_the_rest_was_not(capsys):
    entry = {"text": "Watch [red]the child walk.", "reasons": ["it loses the number 2", "it loses the unit step"]}
    document = {"items": {"18_4": {"kept": ["Two steps backward?"], "rejected": [entry]}}, "catalogue": "more.toml"}
    Screen().paraphrases(document)
    shown = " ".join(capsys.readouterr().out.split())
    assert "18_4: 1 new paraphrase Two steps backward?" in shown and "catalogue: more.toml" in shown
    assert "rejected (it loses the number 2; it loses the unit step): Watch [red]the child walk." in shown
