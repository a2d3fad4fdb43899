"""The same results as JSON and as CSV."""

import csv
import io
import json
from dataclasses import replace

from srlite.assessing.document import CSV_COLUMNS, assessment_json, assessments_json, csv_cells, csv_line
from srlite.assessing.job import Failed
from srlite.escape import original
from srlite.types import Samples

OLD_KEYS = {"schema", "clip", "item", "description", "decision", "verdicts", "models", "demonstration", "warnings", "seconds"}


def test_keys_were_added_and_none_renamed(together):
    document = assessment_json(together[0][0])
    assert document["schema"] == "srlite.assessment/1"
    assert set(document) == OLD_KEYS | {"seed", "samples", "age_months", "child"}
    assert document["child"] == "Anna" and document["age_months"] == 19
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_samples_are_counted_by_decision(together):
    found = replace(together[0][0], decision="pass", samples=Samples(("pass", "fail", "pass", None)))
    assert assessment_json(found)["samples"] == {
        "k": 4,
        "agreeing": 0.5,
        "decisions": {"pass": 2, "fail": 1, "unable_to_assess": 0, "unscored": 1},
    }
    assert assessment_json(replace(found, decision=None))["samples"]["agreeing"] is None
    assert assessment_json(replace(found, samples=None))["samples"] is None


def test_several_stand_in_one_document_in_order_and_the_failed_apart(asked, together):
    document = assessments_json(together[0])
    assert document["schema"] == "srlite.assessments/1"
    assert [a["clip"]["path"] for a in document["assessments"]] == [str(asked[i].clip) for i in (0, 2, 3)]
    (failed,) = document["failed"]
    assert failed["clip"]["path"] == str(asked[1].clip) and failed["item"]["code"] == "18_4" and failed["error"]
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def rows(found):
    text = csv_line(CSV_COLUMNS) + "".join(csv_line(csv_cells(one)) for one in found)
    return list(csv.DictReader(io.StringIO(text), strict=True)), text


def test_a_row_a_clip(together):
    found = together[0]
    table, _ = rows(found)
    assert len(table) == 4 and [bool(row["error"]) for row in table] == [False, True, False, False]
    for row, one in zip(table, found, strict=True):
        if isinstance(one, Failed):
            assert row["clip"] == str(one.asked.clip) and row["item"] == "18_4" and not row["decision"]
            continue
        document = assessment_json(one)
        assert row["description"] == one.description and row["decision"] == (one.decision or "unscored")
        assert row["sha256"] == one.clip["sha256"] and row["child"] == (one.child or "")
        assert float(row["met_probability"]) == document["verdicts"]["met"]["probability"]
        assert row["evidence"] == one.verdicts["evidence"].answer and row["samples"] == "3"
        assert row["demonstration"] == "yes" and row["warnings"] == "; ".join(one.warnings)


def test_no_cell_is_run_by_a_spreadsheet(together):
    evil = '=HYPERLINK("http://x","y")\n+1'
    found = together[0][0]
    odd = replace(
        found, description=evil, child="-Anna", decision=None, warnings=("@SUM(1)",), item=replace(found.item, name=evil)
    )
    failed = replace(together[0][1], asked=replace(together[0][1].asked, child="=1+1"))
    (row, lost), text = rows([odd, failed])
    assert not [cell for cell in (*row.values(), *lost.values()) if cell.startswith(("=", "+", "-", "@"))]
    assert original(row["description"]) == evil and original(row["child"]) == "-Anna" and original(lost["child"]) == "=1+1"
    assert row["decision"] == "unscored"
