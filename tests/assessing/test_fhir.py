"""The FHIR bundle, read by two libraries: fhirclient has the classes of R4 (4.0.1), fhir.resources checks every format of R4B,
whose Bundle, Observation and Device are those of R4."""

import copy
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from fhir.resources.R4B.bundle import Bundle
from fhirclient.models.bundle import Bundle as BundleOfR4
from fhirclient.models.fhirabstractbase import FHIRValidationError
from pydantic import ValidationError

from srlite.assessing.fhir import NOTICE, check_given, fhir_bundle
from srlite.assessing.job import Failed
from srlite.errors import UsageError
from srlite.types import Samples, Verdict

NOW = datetime(2026, 5, 31, 14, 30, 5, tzinfo=UTC)


@pytest.fixture(scope="module")
def good(together):
    return [one for one in together[0] if not isinstance(one, Failed)]


def checked(bundle):
    """The bundle as it stands in a file, refused by neither library and lost by none."""
    text = json.dumps(bundle, ensure_ascii=False, allow_nan=False)
    Bundle.model_validate_json(text)
    assert BundleOfR4(json.loads(text), strict=True).as_json() == json.loads(text)
    return json.loads(text)


def test_the_libraries_refuse_what_is_wrong(good):
    for wrong in ({"issued": "today"}, {"colour": "red"}, {"note": [{}]}, {"status": 1}):
        bundle = copy.deepcopy(fhir_bundle(good[:1], issued=NOW))
        bundle["entry"][0]["resource"] |= wrong
        with pytest.raises(ValidationError):
            Bundle.model_validate_json(json.dumps(bundle))
        with pytest.raises(FHIRValidationError):
            BundleOfR4(bundle, strict=True)


def test_each_assessment_is_a_preliminary_observation(good):
    bundle = checked(fhir_bundle(good, issued=NOW))
    assert bundle["type"] == "collection" and len(bundle["entry"]) == len(good) == 3
    assert len({entry["fullUrl"] for entry in bundle["entry"]}) == 3
    for entry, found in zip(bundle["entry"], good, strict=True):
        one = entry["resource"]
        assert one["status"] == "preliminary" and one["issued"] == "2026-05-31T14:30:05+00:00"
        assert one["category"][0]["coding"][0]["code"] == "survey"
        assert one["code"]["coding"] == [{"system": "urn:srlite:item", "code": found.item.code, "display": found.item.name}]
        assert one["derivedFrom"][0]["identifier"] == {"system": "urn:srlite:sha256", "value": found.clip["sha256"]}
        assert one["note"][0]["text"] == found.description and one["note"][-1]["text"] == NOTICE
        assert "not a diagnostic device; for a person to confirm" in NOTICE
        assert [n["text"] for n in one["note"][1:-1]] == [f"Warning: {w}" for w in found.warnings]
        assert one["meta"]["security"][0]["code"] == "HTEST"
        shares = {c["code"]["coding"][0]["code"]: c.get("valueQuantity", {}).get("value") for c in one["component"]}
        assert shares.pop("samples") is None
        assert shares == {name: round(v.probability, 6) for name, v in found.verdicts.items()}


def test_the_device_is_named_by_models_and_hashes(good):
    (device,) = checked(fhir_bundle(good[:1], issued=NOW))["entry"][0]["resource"]["contained"]
    parts = {part["type"]["text"]: part for part in device["version"]}
    models = good[0].models
    assert {name: parts[f"{name}, SHA-256"]["value"] for name in models} == {n: m["sha256"] for n, m in models.items()}
    assert parts["judge, SHA-256"]["component"]["value"] == models["judge"]["id"] == "tiny"
    assert "component" not in parts["adapter, SHA-256"]


def test_nothing_names_a_file_a_folder_or_a_child(good, trained):
    odd = [replace(one, models=one.models | {"adapter": one.models["adapter"] | {"id": "run-of-Anna"}}) for one in good]
    text = json.dumps(checked(fhir_bundle(odd, issued=NOW)), ensure_ascii=False)
    assert [one.child for one in odd] == ["Anna", None, "Boris"]
    forbidden = [part for one in odd for part in one.clip["path"].split("/") if len(part) > 1]
    assert not [word for word in (*forbidden, *trained.parts[1:], "Anna", "Boris", ".mp4") if word in text]


def test_whom_and_when_stand_there_only_where_they_were_given(good):
    (entry,) = checked(fhir_bundle(good[:1], issued=NOW))["entry"]
    assert not {"subject", "effectiveDateTime"} & set(entry["resource"])
    (entry,) = checked(fhir_bundle(good[:1], issued=NOW, subject="Patient/7", effective="2026-05"))["entry"]
    assert entry["resource"]["subject"] == {"reference": "Patient/7"}
    assert entry["resource"]["effectiveDateTime"] == "2026-05"


@pytest.mark.parametrize("decision", ["pass", "fail", "unable_to_assess"])
def test_a_decision_is_a_coded_value(good, decision):
    one = replace(good[0], decision=decision, samples=Samples((decision, "pass", "fail", None)))
    (entry,) = checked(fhir_bundle([one], issued=NOW))["entry"]
    (coding,) = entry["resource"]["valueCodeableConcept"]["coding"]
    assert coding["system"] == "urn:srlite:decision" and coding["code"] == decision
    ratio = entry["resource"]["component"][-1]["valueRatio"]
    agreeing = 1 if decision == "unable_to_assess" else 2
    assert ratio == {"numerator": {"value": agreeing}, "denominator": {"value": 4}}


def test_no_decision_is_an_absent_value_with_its_reason(good):
    verdicts = dict(good[0].verdicts) | {"met": Verdict.unscored()}
    one = replace(good[0], decision=None, verdicts=verdicts, demonstration=False)
    (entry,) = checked(fhir_bundle([one], issued=NOW))["entry"]
    found = entry["resource"]
    assert "valueCodeableConcept" not in found and "meta" not in found
    assert found["dataAbsentReason"]["coding"][0]["code"] == "unknown" and "unscored" in found["dataAbsentReason"]["text"]
    parts = {c["code"]["coding"][0]["code"]: c for c in found["component"]}
    assert "valueQuantity" not in parts["met"] and parts["met"]["dataAbsentReason"] and parts["samples"]["dataAbsentReason"]


def test_texts_are_made_such_as_fhir_admits(good):
    item = replace(good[0].item, code="1  2", name="\x1b走路 <b>", criterion="\x00")
    one = replace(good[0], description="", item=item, warnings=("a\x07b",))
    (entry,) = checked(fhir_bundle([one], issued=NOW))["entry"]
    found = entry["resource"]
    assert found["code"]["coding"][0]["code"] == "1 2" and found["code"]["coding"][0]["display"] == "\ufffd走路 <b>"
    assert found["note"][0]["text"] == "(nothing was written)" and found["note"][1]["text"] == "Warning: a\ufffdb"


def test_without_a_clip_there_is_an_empty_bundle(good):
    assert set(checked(fhir_bundle([], issued=NOW))) == {"resourceType", "type", "timestamp"}


@pytest.mark.parametrize("subject", ["Anna", "Patient 7", "patient/7", "Patient/", "../x"])
def test_a_subject_is_a_reference(subject):
    with pytest.raises(UsageError, match="no reference"):
        check_given(subject, None)


@pytest.mark.parametrize("when", ["yesterday", "2026-13", "2026-05-32", "2026-05-31T10:00", "2026-05-31T10:00:00", "26-05-31"])
def test_a_time_is_a_fhir_date_time(when):
    with pytest.raises(UsageError, match="no date or time"):
        check_given(None, when)


@pytest.mark.parametrize("when", ["2026", "2026-05", "2026-05-31", "2026-05-31T10:00:00Z", "2026-05-31T10:00:00.5+02:00"])
@pytest.mark.parametrize(
    "subject", ["Patient/a-1.b", "urn:uuid:1b4e28ba-2fa1-11d2-883f-0016d3cca427", "https://x.org/Patient/1"]
)
def test_what_can_be_meant_is_taken(good, subject, when):
    check_given(subject, when)
    checked(fhir_bundle(good[:1], issued=NOW, subject=subject, effective=when))
