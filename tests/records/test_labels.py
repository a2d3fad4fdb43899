"""labels.csv: a person's answers, read or refused all at once."""

import pytest

from srlite.errors import InputError
from srlite.records.dataset import catalogue_of
from srlite.records.labels import read_labels

CATALOGUE = catalogue_of(None)


def read(tmp_path, text):
    (tmp_path / "labels.csv").write_text(text, encoding="utf-8")
    return read_labels(tmp_path / "labels.csv", CATALOGUE)


def test_answers_are_read_and_gaps_are_gaps(tmp_path):
    first, second = read(
        tmp_path,
        'item;description;met;evidence;remark\n30_1;"Stands; on one foot.";Yes;1;x\n18_4;;否;;\n',
    )
    assert (first.item.code, first.description, first.answers) == (
        "30_1",
        "Stands; on one foot.",
        {"met": True, "evidence": True},
    )
    assert (second.description, second.answers) == ("", {"met": False})


def test_a_description_made_harmless_for_spreadsheets_is_read_as_it_was(tmp_path):
    found = read(tmp_path, "item,description,met\n30_1,'=Stands.,yes\n30_1,'quoted,yes\n")
    assert [label.description for label in found] == ["=Stands.", "'quoted"]


def test_all_that_is_wrong_is_told_at_once(tmp_path):
    with pytest.raises(InputError) as caught:
        read(tmp_path, "item,description,met\n30_2,Stands.,yes\n30_1,Stands.,perhaps\n")
    assert "line 2, column item: there is no item '30_2'" in caught.value.message
    assert "line 3, column met: 'perhaps' is no answer" in caught.value.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("item,description\n30_1,Stands.\n", "nobody has answered"),
        ("item,description,met\n30_1,Stands.,\n", "nobody has answered"),
        ("item,met\n30_1,yes\n", "no column description"),
        ("", "empty"),
    ],
)
def test_a_file_that_says_nothing_is_refused(tmp_path, text, words):
    with pytest.raises(InputError, match=words):
        read(tmp_path, text)
