"""The evaluation as a person sees it in the terminal."""

import pytest
from cases_by_hand import case, cases, evaluation, said

from srlite.console import Screen
from srlite.console.evaluation import show_evaluation

ARMS = ("generic", "base", "ablated", "adapted")


def shown(capsys, found, *, columns=100, full=False, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    show_evaluation(Screen(), found, full=full)
    return capsys.readouterr().out


@pytest.fixture
def rich():
    """Four arms, two items, two sexes, an unreadable clip, a second judge."""
    decisions = ("pass", "fail", "unable_to_assess", None)
    told = lambda i: {a: said(decisions[(i * (k + 1)) % 4], second=decisions[i % 4]) for k, a in enumerate(ARMS)}
    about = lambda i: {"item": ("18_4", "6_3")[i % 2], "child": f"c{i % 7}", "sex": "female", "age": 18}
    found = [case(("pass", "fail", None)[i % 3], number=i, **about(i), **told(i)) for i in range(24)]
    return evaluation([*found, case("pass", number=99, unreadable="no video")], ARMS, second=True)


@pytest.mark.parametrize("columns", [20, 60, 100])
@pytest.mark.parametrize("full", [False, True])
def test_nothing_is_wider_than_the_terminal(capsys, monkeypatch, rich, columns, full):
    text = shown(capsys, rich, columns=columns, full=full, monkeypatch=monkeypatch)
    assert max(map(len, text.splitlines())) <= columns and "Traceback" not in text


def test_the_page_says_what_a_reviewer_asks_for(capsys, monkeypatch, rich):
    text = " ".join(shown(capsys, rich, columns=200, monkeypatch=monkeypatch).split())
    for words in (
        "majority baseline",
        "base rate of pass",
        "balanced accuracy",
        "sensitivity (pass)",
        "Clopper-Pearson",
        "exact McNemar p =",
        "abstention",
        "decided by other-judge",
        "1 unreadable",
        "too few to say much: 8 with outcome pass and 8 with outcome fail",
        "not a diagnostic device",
    ):
        assert words in text, words
    assert "By sex" not in text


def test_full_adds_groups_and_curves_and_names_the_empty_ones(capsys, monkeypatch, rich):
    text = " ".join(shown(capsys, rich, columns=200, full=True, monkeypatch=monkeypatch).split())
    assert "By sex, adapted" in text and "By age, adapted" in text and "By domain, adapted" in text
    assert "n/a: no valid examples" in text  # no boys
    assert "Risk against coverage" in text and "Brier score" in text


def test_what_is_undefined_has_its_reason(capsys, monkeypatch):
    text = " ".join(shown(capsys, evaluation(cases(("fail", "fail"))), columns=200, monkeypatch=monkeypatch).split())
    assert "n/a: no pairs with outcome pass" in text and "n/a: no unrelated pairs" in text and "nan" not in text


def test_an_item_code_that_looks_like_markup_is_a_code(capsys, monkeypatch):
    found = evaluation([case("pass", item="[/b]\x1b[31m", adapted="pass")])
    text = shown(capsys, found, monkeypatch=monkeypatch)
    assert "[/b]" in text and "\x1b" not in text
