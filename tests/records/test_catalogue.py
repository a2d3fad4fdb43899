"""The catalogue: codes are text, nothing unknown passes, what is written is read back."""

from __future__ import annotations

import pickle
import stat
from pathlib import Path

import pytest

from srlite.errors import InputError
from srlite.records.catalogue import Catalogue, ItemText, dangling, merge, read_catalogue, write_catalogue
from srlite.records.problems import Problems
from srlite.records.spellings import DOMAINS
from srlite.types import Item

STANDS = """
[items.30_1]
name = "Stands on one foot"
criterion = "Stands on one foot for 2 seconds without support."
domain = "Gross motor"
age_months = 30
temporal = true
duration_s = 2
related = ["36_1"]
paraphrases = ["Is the child standing on one leg?"]

[items.301]
name = "Another"
criterion = "Something else."
"""


def read(tmp_path: Path, text: str) -> Catalogue:
    path = tmp_path / "items.toml"
    path.write_text(text, encoding="utf-8")
    return read_catalogue(path)


def refusal(tmp_path: Path, text: str) -> str:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert "items.toml" in str(caught.value)
    return str(caught.value)


def test_bare_and_quoted_keys_are_the_same_text(tmp_path):
    bare = read(tmp_path, STANDS)
    quoted = read(tmp_path, STANDS.replace("[items.30_1]", '[items."30_1"]'))
    assert bare == quoted
    assert list(bare) == ["30_1", "301"]
    item = bare["30_1"]
    assert (item.code, item.domain, item.age_months, item.temporal, item.duration_s) == (
        "30_1",
        "gross motor",
        30,
        True,
        2.0,
    )
    assert item.related == ("36_1",) and len(item.paraphrases) == 1
    assert bare["301"].name == "Another"


def test_unknown_code_names_the_nearest(tmp_path):
    catalogue = read(tmp_path, STANDS)
    with pytest.raises(InputError, match="30-1") as caught:
        catalogue.get("30-1")
    assert "30_1" in caught.value.remedy
    assert "30-1" not in catalogue and "30_1" in catalogue


def test_unknown_key_and_missing_criterion_come_together(tmp_path):
    said = refusal(tmp_path, '[items.30_1]\nname = "x"\ncriterium = "y"\n')
    assert "criterium" in said and "criterion is missing" in said and "30_1" in said


def test_related_without_quotes_is_refused_since_toml_reads_a_number(tmp_path):
    said = refusal(tmp_path, '[items.30_1]\nname = "x"\ncriterion = "y"\nrelated = [36_1]\n')
    assert "related" in said and "361" in said and "quotes" in said


def test_numbers_in_quotes_are_no_numbers(tmp_path):
    assert "age_months" in refusal(tmp_path, '[items.a]\nname = "x"\ncriterion = "y"\nage_months = "30"\n')


def test_dotted_code_without_quotes_says_so(tmp_path):
    said = refusal(tmp_path, '[items.12.1]\nname = "x"\ncriterion = "y"\n')
    assert 'items."12.1"' in said


def test_unknown_domain_lists_the_domains(tmp_path):
    said = refusal(tmp_path, '[items.a]\nname = "x"\ncriterion = "y"\ndomain = "motor"\n')
    assert "'motor'" in said and all(domain in said for domain in DOMAINS)


@pytest.mark.parametrize("text", ["", "[things.a]\n", "items = 3\n", "[items.a\n", "[items.a]\n[items.a]\n"])
def test_files_that_are_no_catalogue(tmp_path, text):
    refusal(tmp_path, text)


def test_five_domains_in_the_spellings_of_forms(tmp_path):
    written = ["GROSS_MOTOR", "fine-motor", "语言", "Personal social", "适应能力"]
    text = "".join(f'[items.i{n}]\nname = "x"\ncriterion = "y"\ndomain = "{d}"\n' for n, d in enumerate(written))
    assert tuple(item.domain for item in read(tmp_path, text).values()) == DOMAINS


def test_round_trip_of_any_text(tmp_path):
    nasty = 'quote " and \\ back\nline\r\n\ttab \x00\x07\x7f 走路 é e\u0301 \u2028 [x] # = "" 🙂'
    items = (
        Item(
            code="30_1",
            name=nasty,
            criterion=nasty,
            guidance=nasty,
            evidence=nasty,
            age_months=0,
            domain="language",
            temporal=True,
            duration_s=1e-05,
            needs_audio=True,
            related=('a"b', "走"),
            paraphrases=(nasty, "b"),
        ),
        Item(code="1_000", name="x", criterion="y"),
        Item(code='od.d "code" 走', name="x", criterion="y", duration_s=2.5),
    )
    path = tmp_path / "catalogue.toml"
    write_catalogue(Catalogue(items), path)
    assert read_catalogue(path) == Catalogue(items)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["catalogue.toml"]


def test_empty_catalogue_round_trip(tmp_path):
    write_catalogue(Catalogue(()), tmp_path / "c.toml")
    assert read_catalogue(tmp_path / "c.toml") == Catalogue(())


def test_catalogue_is_mapping_like_and_can_be_sent_to_a_child_process():
    catalogue = Catalogue((Item("a", "x", "y"), Item("b", "x", "y")))
    assert dict(catalogue) == {"a": catalogue["a"], "b": catalogue["b"]} and len(catalogue) == 2
    assert pickle.loads(pickle.dumps(catalogue)) == catalogue
    with pytest.raises(InputError, match="twice"):
        Catalogue((Item("a", "x", "y"), Item("a", "z", "y")))


def test_merge_adds_new_items_and_fills_what_is_empty():
    problems = Problems("items.csv")
    known = Catalogue((Item("a", "Name", "Criterion", evidence="the foot"),))
    rows = [
        ItemText("a", 2, name="Name", guidance="From the front"),
        ItemText("b", 3, name="New", criterion="Does it", domain="Language"),
        ItemText("b", 4),
    ]
    merged = merge(known, rows, problems)
    assert len(problems) == 0
    assert merged["a"] == Item("a", "Name", "Criterion", guidance="From the front", evidence="the foot")
    assert merged["b"] == Item("b", "New", "Does it", domain="language")


def test_merge_names_both_sides_of_a_conflict():
    problems = Problems("items.csv")
    rows = [
        ItemText("a", 2, criterion="Three seconds"),
        ItemText("b", 3, name="One", criterion="x"),
        ItemText("b", 7, name="Two", criterion="x"),
        ItemText("c", 9, name="No criterion"),
    ]
    merge(Catalogue((Item("a", "Name", "Two seconds"),)), rows, problems)
    with pytest.raises(InputError) as caught:
        problems.raise_if_any()
    said = str(caught.value)
    assert "line 2, column criterion: item a: 'Three seconds', but the catalogue has 'Two seconds'" in said
    assert "line 7, column name: item b: 'Two', but line 3 has 'One'" in said
    assert "line 9: item c has no criterion" in said


def test_dangling_related_code_is_said():
    notes = dangling(Catalogue((Item("a", "x", "y", related=("b", "z")), Item("b", "x", "y"))))
    assert len(notes) == 1 and "z" in notes[0]
