"""evaluation.json as a file: strict JSON of a documented schema that reads back as it was (known fault F6)."""

import json

import jsonschema
import pytest
from cases_by_hand import case, evaluation
from pydantic import ValidationError

from srlite.errors import InputError
from srlite.evaluation.document import Evaluation, Judged, read_evaluation

NAMES = ["NaN", "=1+1", "Infinity", '</script>"']


@pytest.fixture
def odd():
    """Undefined figures, and children named like what breaks JSON, pages and spreadsheets."""
    return evaluation([case("fail", number=i, child=child, adapted="fail") for i, child in enumerate(NAMES)])


def strict(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_undefined_is_null_with_a_reason_and_text_is_untouched(odd):
    document = strict(odd.json_text())
    assert document["schema"] == "srlite.evaluation/1" and document["positive_class"] == "pass"
    undefined = {"value": None, "low": None, "high": None, "n": 0, "reason": "no pairs with outcome pass"}
    assert document["arms"]["adapted"]["overall"]["sensitivity"] == undefined
    assert [c["child"] for c in document["cases"]] == NAMES


def test_it_is_of_its_schema_and_reads_back(odd, tmp_path):
    document, schema = strict(odd.json_text()), Evaluation.model_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document | {"positive_class": "fail"}, schema)
    (tmp_path / "evaluation.json").write_text(odd.json_text())
    assert read_evaluation(tmp_path / "evaluation.json") == odd


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "Invalid JSON"), ('{"schema": "srlite.evaluation/2"}', "schema"), (None, "No such file")],
)
def test_what_is_no_evaluation_is_refused_with_a_remedy(tmp_path, text, said):
    if text is not None:
        (tmp_path / "evaluation.json").write_text(text)
    with pytest.raises(InputError, match=said) as caught:
        read_evaluation(tmp_path / "evaluation.json")
    assert "srlite evaluate" in caught.value.remedy


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_is_no_number_cannot_be_put_into_it(number):
    with pytest.raises(ValidationError, match="finite"):
        Judged(answer="yes", probability=number, mass=1.0)
