"""items.csv as clinics and their spreadsheets write it (kinds of fault B1 to B8)."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from srlite.errors import InputError
from srlite.records.catalogue import Catalogue
from srlite.records.items import RecordsFile, read_records
from srlite.types import Item

CATALOGUE = Catalogue(tuple(Item(code, f"Name {code}", f"Criterion {code}") for code in ("30_1", "12_4", "1_000", "301")))


def read(tmp_path: Path, content: str | bytes, catalogue: Catalogue = CATALOGUE) -> RecordsFile:
    path = tmp_path / "items.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return read_records(path, catalogue)


def refusal(tmp_path: Path, content: str | bytes, catalogue: Catalogue = CATALOGUE) -> str:
    with pytest.raises(InputError) as caught:
        read(tmp_path, content, catalogue)
    assert "items.csv" in str(caught.value)
    return str(caught.value)


def rows(*lines: str, heading: str = "video,item,outcome") -> str:
    return "\n".join([heading, *lines]) + "\n"


# B1, B2: ids are text


def test_item_codes_stay_text(tmp_path):
    found = read(tmp_path, rows("a.mp4,30_1,1", "a.mp4,301,0", "b.mp4,12_4,1", "c.mp4,1_000,0"))
    assert [r.item for r in found.records] == ["30_1", "301", "12_4", "1_000"]
    assert [r.outcome for r in found.records] == ["pass", "fail", "pass", "fail"]


def test_child_ids_are_kept_as_typed_and_look_alikes_are_said(tmp_path):
    ids = ["007", "7", "012", "1e5", "0301", "１２", "12", "²", "C1", "c1"]
    found = read(
        tmp_path,
        rows(*(f"{n}.mp4,30_1,1,{i}" for n, i in enumerate(ids)), heading="video,item,outcome,child"),
    )
    assert [r.child for r in found.records] == ids
    different = next(note for note in found.notes if "different children" in note)
    assert "007 / 7" in different and "012 / 12 / １２" in different and "1e5" not in different
    same = next(note for note in found.notes if "one child" in note)
    assert "C1 = c1" in same


# B3, B4: encodings

CHINESE = "视频,项目,结果\r\n走路.mp4,30_1,是\r\n跑步.mp4,12_4,否\r\n"


@pytest.mark.parametrize(
    ("encoding", "reported"),
    [("utf-8", "utf-8"), ("utf-8-sig", "utf-8"), ("gbk", "gb18030"), ("gb18030", "gb18030")],
)
def test_chinese_files_in_their_encodings(tmp_path, encoding, reported):
    found = read(tmp_path, CHINESE.encode(encoding))
    assert [(r.clip, r.outcome) for r in found.records] == [("走路.mp4", "pass"), ("跑步.mp4", "fail")]
    assert found.encoding == reported
    assert any("GB18030" in note for note in found.notes) == (reported == "gb18030")


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_utf_16_unicode_text_with_tabs(tmp_path, mark):
    order = "utf-16-le" if mark == b"\xff\xfe" else "utf-16-be"
    found = read(tmp_path, mark + CHINESE.replace(",", "\t").encode(order))
    assert (found.encoding, found.separator, len(found.records)) == ("utf-16", "\t", 2)
    assert any("UTF-16" in note for note in found.notes)


def test_byte_order_mark_before_a_quoted_heading(tmp_path):
    plain = b'"item",video,outcome\r\n30_1,a.mp4,1\r\n'
    assert read(tmp_path, b"\xef\xbb\xbf" + plain).records == read(tmp_path, plain).records


@pytest.mark.parametrize("text", ["a.mp4,30_1,1,Müller sagt größer", "a.mp4,30_1,1,café", "a.mp4,30_1,1,ça été"])
def test_latin_1_is_refused_not_guessed(tmp_path, text):
    data = rows(text, heading="video,item,outcome,description").encode("latin-1")
    assert "neither UTF-8 nor GB18030" in refusal(tmp_path, data)


def test_damaged_utf_8_is_not_taken_for_gb18030(tmp_path):
    data = bytearray(rows("走路.mp4,30_1,1", "跑步.mp4,30_1,0", "站立.mp4,30_1,0").encode())
    data[data.index("跑".encode())] = 0x41
    said = refusal(tmp_path, bytes(data))
    assert "line 3" in said and "damaged" in said


def test_workbooks_and_other_files_are_named(tmp_path):
    path = tmp_path / "items.csv"
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("xl/workbook.xml", "<x/>")
    with pytest.raises(InputError, match="xlsx"):
        read_records(path, CATALOGUE)
    assert ".xls)" in refusal(tmp_path, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 100)
    assert "null bytes" in refusal(tmp_path, b"video,item\0,outcome\n")
    assert "empty" in refusal(tmp_path, b"\n")


def test_missing_file_names_its_neighbour(tmp_path):
    read(tmp_path, rows("a.mp4,30_1,1"))
    with pytest.raises(InputError, match="no such file") as caught:
        read_records(tmp_path / "item.csv", CATALOGUE)
    assert "items.csv" in caught.value.remedy


# B5: separators


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("item;video;outcome\n30_1;a.mp4;1\n", ";"),
        ("sep=;\nitem;video;outcome\n30_1;a.mp4;1\n", ";"),
        ("sep=|\r\nitem|video|outcome\r\n30_1|a.mp4|1\r\n", "|"),
        ("item\tvideo\toutcome\n30_1\ta.mp4\t1\n", "\t"),
        ('item,video,outcome,description\n30_1,a.mp4,1,"one; two; three; four"\n', ","),
        ("item,video,outcome,a;b;c;d\n30_1,a.mp4,1,x\n", ","),
    ],
)
def test_separators(tmp_path, text, separator):
    found = read(tmp_path, text)
    assert found.separator == separator
    assert [(r.item, r.clip, r.outcome) for r in found.records] == [("30_1", "a.mp4", "pass")]


def test_heading_line_without_our_columns_says_what_was_found(tmp_path):
    said = refusal(tmp_path, "item|video|outcome\n30_1|a.mp4|1\n")
    assert "'item|video|outcome'" in said and "line 1" in said


def test_doubled_and_unused_headings(tmp_path):
    assert "twice" in refusal(tmp_path, rows("a.mp4,30_1,1,0", heading="video,item,outcome, Outcome "))
    found = read(tmp_path, rows("a.mp4,30_1,1,x", heading="video,item,outcome,remark"))
    assert "columns not used: remark" in found.notes


# B6: ids ruined by a spreadsheet

RUINED = [
    "4-Dec",
    "Dec-04",
    "2026/12/4",
    "46004",
    "12.1",
    "3.01E+02",
    "12月4日",
    "04. Dez",
    "2026-12-04 00:00:00",
]


def test_ruined_codes_are_refused_with_their_lines(tmp_path):
    lines = ["ok.mp4,12_4,1", *(f"{n}.mp4,{code},1" for n, code in enumerate(RUINED))]
    said = refusal(tmp_path, rows(*lines))
    for line, code in enumerate(RUINED, start=3):
        assert f"line {line}, column item: {code!r} looks like" in said
    assert "as Text" in said and "12_4" not in said and f"{len(RUINED)} problems" in said


def test_codes_that_a_catalogue_knows_are_not_ruined(tmp_path):
    known = Catalogue((Item("12.1", "x", "y"), Item("46004", "x", "y")))
    assert len(read(tmp_path, rows("a.mp4,12.1,1", "a.mp4,46004,1"), known).records) == 2


def test_text_in_the_row_does_not_make_a_ruined_code_whole(tmp_path):
    said = refusal(tmp_path, rows("a.mp4,4-Dec,1,N,C", heading="video,item,outcome,name,criterion"))
    assert "a date" in said and "there is no text" not in said


def test_ruined_child_ids(tmp_path):
    said = refusal(tmp_path, rows("a.mp4,30_1,1,3.01E+02", "b.mp4,30_1,1,4-Dec", heading="video,item,outcome,child"))
    assert "line 2, column child" in said and "line 3, column child" in said


# B8: spellings


def test_headings_and_outcomes_in_all_spellings(tmp_path):
    passes = [
        "Yes",
        "YES ",
        "y",
        "1",
        "1.0",
        "TRUE",
        "pass",
        "是",
        "有",
        "Ｙｅｓ",
        "通过",
        "yes\u00a0",
        "\u200byes",
    ]
    fails = ["no", "0", "0.0", "否", "无", "没有", "未通过", "Fail", "FALSE"]
    lines = [f"{n}.mp4,30_1,{word}" for n, word in enumerate(passes + fails)]
    found = read(tmp_path, rows(*lines, heading=" Video ,ITEM,\u200b Outcome "))
    assert [r.outcome for r in found.records] == ["pass"] * len(passes) + ["fail"] * len(fails)
    mapping = next(note for note in found.notes if note.startswith("outcomes read as"))
    assert "pass = " in mapping and "'通过' 1" in mapping and "'yes' 2" in mapping
    assert mapping.index("'否'") > mapping.index("fail = ") > mapping.index("'是'")


@pytest.mark.parametrize("word", ["①", "1¹", "x", "-", "yes?", "2", "eyes", "not yes"])
def test_no_outcome_is_guessed(tmp_path, word):
    assert "column outcome" in refusal(tmp_path, rows(f"a.mp4,30_1,{word}"))


def test_unknown_outcomes_are_errors_and_all_are_listed(tmp_path):
    said = refusal(tmp_path, rows("a.mp4,30_1,1", "b.mp4,30_1,maybe", "c.mp4,30_1,2", "d.mp4,30_1,n/a"))
    assert "3 problems" in said
    for line, word in ((3, "maybe"), (4, "2"), (5, "n/a")):
        assert f"line {line}, column outcome: '{word}'" in said


def test_rows_without_outcome_are_left_out_and_counted(tmp_path):
    found = read(tmp_path, rows("a.mp4,30_1,1", "b.mp4,30_1,", "c.mp4,30_1,\u00a0", "d.mp4,30_1,\u200b", "e.mp4,30_1"))
    assert len(found.records) == 1
    assert "4 rows without an outcome were left out" in found.notes
    assert "none of the 1 rows has an outcome" in refusal(tmp_path, rows("b.mp4,30_1,"))


# Rows


def test_repeated_rows_are_dropped_and_contradictions_refused(tmp_path):
    found = read(tmp_path, rows("a.mp4,30_1,1", "a.mp4,30_1,yes", "a.mp4,12_4,0", "a.mp4,30_1,PASS"))
    assert len(found.records) == 2
    assert "2 rows that repeat an earlier row exactly were dropped" in found.notes
    said = refusal(tmp_path, rows("a.mp4,30_1,1", "b.mp4,30_1,1", "a.mp4,30_1,0"))
    assert "line 4, column outcome" in said and "line 2" in said


def test_two_rows_that_differ_in_more_than_the_outcome_are_refused(tmp_path):
    said = refusal(tmp_path, rows("a.mp4,30_1,1,0", "a.mp4,30_1,1,12", heading="video,item,outcome,age_months"))
    assert "line 3, column age_months: 'a.mp4' with item 30_1 has 12.0 here, 0.0 on line 2" in said


def test_one_clip_of_two_children_is_refused(tmp_path):
    said = refusal(tmp_path, rows("a.mp4,30_1,1,C1", "a.mp4,12_4,1,C2", heading="video,item,outcome,child"))
    assert "line 3, column child" in said and "C1" in said and "C2" in said


def test_lines_are_physical_lines(tmp_path):
    text = 'video,item,outcome,description\r\n\r\na.mp4,30_1,1,"two\r\nlines, ""quoted"""\r\nb.mp4,30_1,maybe,x\r\n'
    assert "line 5, column outcome" in refusal(tmp_path, text)
    found = read(tmp_path, text.replace("maybe", "no"))
    assert [r.line for r in found.records] == [3, 5]
    assert found.records[0].description == 'two\r\nlines, "quoted"'
    assert "line 4, column outcome" in refusal(tmp_path, "sep=,\nvideo,item,outcome\na.mp4,30_1,1\nb.mp4,30_1,maybe\n")


def test_open_quote_and_extra_cells(tmp_path):
    said = refusal(tmp_path, rows("a.mp4,30_1,1", '"b.mp4,30_1,1', "c.mp4,30_1,1"))
    assert "line 3" in said and "quote" in said
    said = refusal(tmp_path, rows("a.mp4,30_1,1,first, second", heading="video,item,outcome,description"))
    assert "5 cells where the headings have 4" in said


def test_blank_rows_are_counted_and_trailing_separators_are_harmless(tmp_path):
    found = read(tmp_path, rows("a.mp4,30_1,1,,,", ",,,,,", "", "b.mp4,30_1,0,,,"))
    assert len(found.records) == 2 and "1 blank row skipped" in found.notes


def test_optional_columns(tmp_path):
    heading = "video;item;outcome;child;sex;age_months;site;split;description"
    found = read(tmp_path, rows("a.mp4;30_1;1;C1;女;30,5;S;train;Stands", "b.mp4;30_1;1;;M;240;;;", heading=heading))
    first, second = found.records
    assert (first.child, first.sex, first.age_months, first.site, first.split, first.description) == (
        "C1",
        "female",
        30.5,
        "S",
        "train",
        "Stands",
    )
    assert (second.child, second.sex, second.age_months, second.site) == (None, "male", 240.0, None)


@pytest.mark.parametrize("age", ["-1", "241", "30 months", "3_0", "nan", "inf", "1e2", "３０", "2y"])
def test_ages_are_plain_numbers_of_months(tmp_path, age):
    assert "column age_months" in refusal(tmp_path, rows(f"a.mp4,30_1,1,{age}", heading="video,item,outcome,age_months"))


def test_all_problems_come_at_once_twenty_listed(tmp_path):
    said = refusal(tmp_path, rows(*(f"{n}.mp4,30_1,perhaps" for n in range(50))))
    assert "50 problems" in said and "line 21," in said and "line 22," not in said and "and 30 more" in said
    mixed = rows(",30_1,1,x,f", "a.mp4,,1,400,f", "b.mp4,99_9,1,3,q", heading="video,item,outcome,age_months,sex")
    said = refusal(tmp_path, mixed)
    for place in (
        "line 2, column video",
        "line 2, column age_months",
        "line 3, column item",
        "line 3, column age_months",
        "line 4, column item",
        "line 4, column sex",
    ):
        assert place in said


# Item text


def test_unknown_item_is_named_once_with_the_place_for_its_text(tmp_path):
    said = refusal(tmp_path, rows("a.mp4,30-1,1", "b.mp4,30-1,1", "c.mp4,30_1,0"))
    assert "line 2, column item: there is no text for item '30-1' (2 rows). Did you mean " in said
    assert "30_1?" in said
    assert "--catalogue" in said and '[items."30-1"]' in said


def test_item_text_from_the_rows(tmp_path):
    lines = ["a.mp4,X1,1,Hops,Hops once,adaptive", "b.mp4,X1,0,,,", "c.mp4,30_1,1,,,"]
    found = read(tmp_path, rows(*lines, heading="video,item,outcome,name,criterion,domain"))
    assert found.catalogue["X1"] == Item("X1", "Hops", "Hops once", domain="adaptive")
    assert "30_1" in found.catalogue and "X1" not in CATALOGUE


def test_item_text_in_conflict(tmp_path):
    heading = "video,item,outcome,name,criterion"
    said = refusal(tmp_path, rows("a.mp4,30_1,1,Other,", "b.mp4,X,1,A,c", "c.mp4,X,1,B,c", heading=heading))
    assert "'Other', but the catalogue has 'Name 30_1'" in said and "'B', but line 3 has 'A'" in said


def test_a_file_of_the_papers_size(tmp_path):
    lines = [f"{n}.mp4,{('30_1', '12_4', '301')[n % 3]},{'yes' if n % 4 else 'no'},C{n % 2500}" for n in range(13379)]
    found = read(tmp_path, rows(*lines, heading="video,item,outcome,child"))
    assert len(found.records) == 13379 and found.records[-1].line == 13380
