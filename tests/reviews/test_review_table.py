"""The CSV of the review mode: read as it was meant, or refused with line and column, all of it at once."""

import pytest
from kept_run import case, records, review_row, write_reviews

from srlite.errors import InputError
from srlite.records.problems import Problems
from srlite.reviews.table import COLUMNS, read_reviews

CASE = case(records()[0])
SAID = ("review", "human_decision", "reason", "reads_as", "corrected_description")


def read(tmp_path, *rows):
    path, problems = write_reviews(tmp_path / "r.csv", rows), Problems("r.csv")
    found = read_reviews(path, problems)
    problems.raise_if_any()
    return found


def test_a_review_is_read_as_it_was_given(tmp_path):
    agreed = dict(review="agree", human_decision="", reason="", reads_as="", corrected_description="")
    first, second = read(
        tmp_path,
        review_row(CASE, note='two\nlines, "quoted"', reason="temporal"),
        review_row(CASE, decision="", **agreed),
    )
    assert first[0] == 2 and second[0] == 4  # physical lines
    assert first[1].note == 'two\nlines, "quoted"' and first[1].reads_as == "pass" and first[1].reason == "temporal"
    assert (second[1].decision, second[1].human_decision, second[1].reason, second[1].reads_as) == (None, None, None, None)
    assert set(review_row(CASE)) == set(COLUMNS)


def test_what_the_page_lets_one_say_is_taken(tmp_path):
    """What a description reads as, before its decision was looked at; overruled with words alone; saved by a browser."""
    blind = review_row(CASE, **dict.fromkeys(SAID, "")) | {"reads_as": "fail", "when": "2026-07-01T09:30:00.123Z"}
    (_, first), (_, second) = read(tmp_path, blind, review_row(CASE, reason="", note="It was the other leg."))
    assert (first.review, first.human_decision, first.reads_as) == (None, None, "fail")
    assert (second.review, second.reason, second.note) == ("overrule", None, "It was the other leg.")


@pytest.mark.parametrize("text", ["=1+1", "-2 steps", "@x", "'=quoted", "+a"])
def test_what_was_made_harmless_for_spreadsheets_is_read_as_it_was(tmp_path, text):
    ((_, review),) = read(tmp_path, review_row(CASE, note=text, corrected_description=text))
    assert review.note == review.corrected_description == text
    assert f"'{text}" in (tmp_path / "r.csv").read_text()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"review": "perhaps"}, "column review: 'perhaps' is not one of: agree, overrule"),
        ({"human_decision": "passed"}, "column human_decision: 'passed' is not one of: pass, fail, unable_to_assess"),
        ({"reason": "bad"}, "column reason: 'bad' is not one of: temporal, misread, no_evidence, other"),
        ({"reads_as": "yes"}, "column reads_as: 'yes' is not one of: pass"),
        ({"clip_sha256": "abc"}, "column clip_sha256: 'abc' is not a SHA-256"),
        ({"clip_sha256": ""}, "column clip_sha256: the cell is empty"),
        ({"when": ""}, "column when: the cell is empty"),
        ({"reviewer": ""}, "column reviewer: the cell is empty"),
        ({"when": "yesterday"}, "column when: 'yesterday' is not a date and time"),
        ({"when": "2026-07-01T09:30:00"}, "is not in UTC"),
        ({"when": "2026-07-01T09:30:00+02:00"}, "is not in UTC"),
        ({"human_decision": ""}, "what they decide"),
        ({"reason": ""}, "and why"),
        ({"review": ""}, "a person's decision without agree or overrule"),
        (dict.fromkeys(SAID, ""), "the row says nothing"),
        ({"review": "agree"}, "an agreement cannot have another decision: 'fail'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_what_cannot_be_meant_is_refused_with_its_place(tmp_path, changes, said):
    with pytest.raises(InputError) as caught:
        read(tmp_path, review_row(CASE), review_row(CASE, **changes))
    assert caught.value.message.startswith("line 3") and said in caught.value.message and caught.value.remedy
    assert not [word for word in ("pattern", "isoformat", "Input should", "Value error") if word in str(caught.value)]


def test_a_file_that_was_cut_off_is_told_as_one_problem(tmp_path):
    path = write_reviews(tmp_path / "r.csv", [review_row(CASE), review_row(CASE, reviewer="Dr. B")])
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], lines[2].partition(CASE.clip_sha256)[0] + CASE.clip_sha256[:9]]))
    problems = Problems("r.csv")
    assert [line for line, _ in read_reviews(path, problems)] == [2]
    with pytest.raises(InputError) as caught:
        problems.raise_if_any()
    assert caught.value.message == "line 3: the last row has 3 of 14 cells: the file seems cut off there"
    assert "Save the reviews again" in caught.value.remedy


def test_all_that_is_wrong_is_told_at_once(tmp_path):
    with pytest.raises(InputError, match="3 problems") as caught:
        read(tmp_path, review_row(CASE, review="?", when="?"), review_row(CASE, reason="?"))
    assert all(
        place in caught.value.message for place in ("line 2, column review", "line 2, column when", "line 3, column reason")
    )


def test_a_file_without_reviews_or_without_a_column(tmp_path):
    (tmp_path / "r.csv").write_text(",".join(COLUMNS) + "\n")
    with pytest.raises(InputError, match="no review in the file"):
        problems = Problems("r.csv")
        read_reviews(tmp_path / "r.csv", problems)
        problems.raise_if_any()
    with pytest.raises(InputError, match="no column reviewer"):
        read(tmp_path, {name: cell for name, cell in review_row(CASE).items() if name != "reviewer"})
