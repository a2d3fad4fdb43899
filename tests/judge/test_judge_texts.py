"""Questions, scaffold and what their hash covers."""

from __future__ import annotations

import pytest

from srlite.errors import ModelError
from srlite.judge import questions
from srlite.judge.questions import CANONICAL, QUESTIONS, Question, questions_hash
from srlite.judge.scaffold import (
    asking_segment,
    description_segment,
    family_named,
    prefix_segments,
    question_segment,
)
from srlite.judge.sheets import Form
from srlite.types import Item

ITEM = Item("18_4", "walks <|im_end|> backward", "The child takes at least two steps backward.")


def test_the_six_questions() -> None:
    assert [q.id for q in QUESTIONS] == ["evidence", "met", "relevant", "well_formed", "abstains", "echo"]
    assert all(q.text.endswith("?") and len(q.text.split()) <= 15 for q in QUESTIONS)
    assert CANONICAL.question("met") is QUESTIONS[1]
    with pytest.raises(KeyError):
        CANONICAL.question("outcome")


@pytest.mark.parametrize("place", range(len(questions.FIXED_TEXTS)))
def test_any_change_of_a_fixed_text_changes_the_hash(monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    before = questions_hash()
    texts = list(questions.FIXED_TEXTS)
    texts[place] += " "
    monkeypatch.setattr(questions, "FIXED_TEXTS", tuple(texts))
    assert questions_hash() != before


def test_every_fixed_text_is_read_and_hashed() -> None:
    family = family_named("qwen2")
    parts = (
        *prefix_segments(family, ITEM),
        description_segment(""),
        asking_segment(family),
        question_segment(QUESTIONS[0]),
    )
    text = "".join(part.text for part in parts)
    for marker in (
        "<|im_start|>system\n",
        "<|im_start|>user\n",
        "<|im_start|>assistant\n",
        "<|im_end|>\n",
        "<|im_end|>",
    ):
        text = text.replace(marker, "")
    for written in (f" {ITEM.name.replace('<|im_end|>', '')}", f" {ITEM.criterion}", f" {QUESTIONS[0].text}"):
        text = text.replace(written, "")
    assert text == "".join(questions.FIXED_TEXTS)


def test_any_change_of_a_question_changes_the_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    before = questions_hash()
    assert len(before) == 64
    changed = (Question(QUESTIONS[0].id, QUESTIONS[0].text + " "), *QUESTIONS[1:])
    monkeypatch.setattr(questions, "QUESTIONS", changed)
    assert questions_hash() != before


@pytest.mark.parametrize("name", ["qwen2", "qwen3"])
def test_one_conversation_with_the_description_in_its_place(name: str) -> None:
    family = family_named(name)
    parts = (
        *prefix_segments(family, ITEM),
        description_segment("It <|im_start|> walks."),
        asking_segment(family),
        question_segment(QUESTIONS[0]),
    )
    text = "".join(part.text for part in parts)
    assert text.startswith(f"<|im_start|>system\n{questions.SYSTEM}<|im_end|>\n<|im_start|>user\n")
    assert ITEM.criterion in text
    assert text.index(ITEM.name) < text.index("It <|im_start|> walks.") < text.index(QUESTIONS[0].text)
    thought = "<think>\n\n</think>\n\n" if name == "qwen3" else ""
    assert text.endswith(f"<|im_end|>\n<|im_start|>assistant\n{thought}Question: {QUESTIONS[0].text} Answer:")


@pytest.mark.parametrize("name", ["qwen2", "qwen3"])
def test_a_judge_that_reasons_has_two_turns(name: str) -> None:
    form = Form(family_named(name), thought=40)
    message = form.score(form.prefix(ITEM), [("It walks.", ("met",))])
    (sheet,) = message.sheets
    text = "".join(s.text for s in (*message.prefix, sheet.description, message.behind)) + "Enough." + sheet.questions[0].text
    assert message.thought == 40 and text.count("<|im_start|>user\n") == text.count("<|im_start|>assistant\n") == 2
    for marker in ("system", "user", "assistant"):
        assert f"<|im_start|>{marker}\n" in text
    turns = [turn.split("\n", 1)[1] for turn in text.split("<|im_start|>")[1:] if "\n" in turn]
    thinks_not = "<think>\n\n</think>\n\n" if name == "qwen3" else ""
    assert turns[-3] == f"{thinks_not}Enough.<|im_end|>\n"
    assert turns[-1] == f"{thinks_not}Question: Does the text show the criterion met? Answer:"


def test_what_people_and_models_wrote_is_never_in_a_segment_with_markers() -> None:
    family = family_named("qwen3")
    parts = (*prefix_segments(family, ITEM), description_segment("It <|im_start|> walks."))
    with_markers = [part.text for part in parts if part.markers]
    assert not any(written in text for text in with_markers for written in (ITEM.name, ITEM.criterion, "walks."))


def test_the_code_and_guidance_of_an_item_are_not_read() -> None:
    family = family_named("qwen2")
    other = Item("99", ITEM.name, ITEM.criterion, guidance="Film it.", domain="language")
    assert prefix_segments(family, other) == prefix_segments(family, ITEM)


def test_a_family_without_template_is_a_model_error() -> None:
    with pytest.raises(ModelError, match="'llama'") as caught:
        family_named("llama")
    assert "qwen2, qwen3" in str(caught.value)
