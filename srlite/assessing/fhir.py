"""Assessments as a FHIR R4 (4.0.1) Bundle of type collection, one Observation each.

What is said: status preliminary; local code systems for items, decisions and questions; p(yes) of each question as a component;
the description, the warnings and a notice as notes; the models and their hashes as a contained Device; the clip by the SHA-256
of its bytes only. Observations of demonstration models carry the security label HTEST (test health data).
What is not: paths, file names, the run's name, a child. A subject and a time stand there only where the user gave them.
An unscored decision is an absent value with a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from uuid import uuid4

from srlite import __version__
from srlite.errors import UsageError
from srlite.escape import plain
from srlite.judge.questions import QUESTIONS
from srlite.types import Assessment, Samples, Verdict

NOTICE = (
    "Written by srlite, an observation aid for research and pilots, not a diagnostic device; for a person to confirm: watch "
    "the clip, and overrule where needed."
)
ITEM, DECISION, QUESTION, SHA256, MODEL = (f"urn:srlite:{name}" for name in ("item", "decision", "question", "sha256", "model"))
_HL7 = "http://terminology.hl7.org/CodeSystem"
_DECISIONS = {"pass": "pass", "fail": "fail", "unable_to_assess": "unable to assess"}
_ABSENT = {
    "coding": [{"system": f"{_HL7}/data-absent-reason", "code": "unknown", "display": "Unknown"}],
    "text": "unscored: the judge gave no clear answer",
}
_DEVICE = "models"
_REFERENCE = re.compile(r"[A-Z][A-Za-z]+/[A-Za-z0-9.-]{1,64}|(https?|urn):\S+")
_DATE_TIME = re.compile(r"\d{4}(-\d{2}(-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2}))?)?)?")


def fhir_bundle(
    found: Sequence[Assessment], *, issued: datetime, subject: str | None = None, effective: str | None = None
) -> dict[str, object]:
    """The Bundle. issued: now, with its time zone. subject: a reference such as Patient/123. effective: a FHIR dateTime.

    subject and effective are put into every Observation; `check_given` says whether they can be meant.
    """
    given: dict[str, object] = {"subject": {"reference": subject}} if subject else {}
    if effective:
        given["effectiveDateTime"] = effective
    stamp = issued.isoformat(timespec="seconds")
    entries = [{"fullUrl": f"urn:uuid:{uuid4()}", "resource": _observation(one) | given | {"issued": stamp}} for one in found]
    bundle = {"resourceType": "Bundle", "type": "collection", "timestamp": stamp}
    return bundle | ({"entry": entries} if entries else {})  # an empty list is no FHIR


def check_given(subject: str | None, effective: str | None) -> None:
    """Raises UsageError for a subject that is no reference, or a time that is no FHIR dateTime."""
    if subject and not _REFERENCE.fullmatch(subject):
        remedy = "Give it as Patient/123, urn:uuid:... or https://..."
        raise UsageError("this is no reference", where=f"--subject {subject}", remedy=remedy)
    if effective and not _is_date_time(effective):
        remedy = "Give it as 2026-05-31, or with its zone: 2026-05-31T14:30:00+02:00"
        raise UsageError("this is no date or time", where=f"--effective {effective}", remedy=remedy)


def _is_date_time(text: str) -> bool:
    if not _DATE_TIME.fullmatch(text):
        return False
    try:
        if "T" in text:
            datetime.fromisoformat(text)
        else:
            date.fromisoformat((text + "-01-01")[:10])
    except ValueError:
        return False
    return True


def _observation(found: Assessment) -> dict[str, object]:
    label = {"system": f"{_HL7}/v3-ActReason", "code": "HTEST", "display": "test health data"}
    category = {"system": f"{_HL7}/observation-category", "code": "survey", "display": "Survey"}
    sha256 = {"system": SHA256, "value": str(found.clip["sha256"])}
    return {
        "resourceType": "Observation",
        **({"meta": {"security": [label]}} if found.demonstration else {}),
        "contained": [_device(found.models)],
        "status": "preliminary",
        "category": [{"coding": [category]}],
        "code": {"coding": [_coding(ITEM, found.item.code, found.item.name)], "text": _text(found.item.criterion)},
        **_value(found),
        "note": [{"text": _text(text)} for text in _notes(found)],
        "device": {"reference": f"#{_DEVICE}"},
        "derivedFrom": [{"type": "Media", "identifier": sha256, "display": "the clip, by the SHA-256 of its file"}],
        "component": [*_verdicts(found.verdicts), *_agreement(found.samples, found)],
    }


def _value(found: Assessment) -> dict[str, object]:
    if found.decision is None:
        return {"dataAbsentReason": _ABSENT}
    return {"valueCodeableConcept": {"coding": [_coding(DECISION, found.decision, _DECISIONS[found.decision])]}}


def _notes(found: Assessment) -> Iterator[str]:
    yield found.description or "(nothing was written)"
    yield from (f"Warning: {warning}" for warning in found.warnings)
    yield NOTICE


def _verdicts(verdicts: Mapping[str, Verdict]) -> Iterator[dict[str, object]]:
    """p(yes) of each question, and in words what the judge was taken to answer."""
    for question in QUESTIONS:
        verdict = verdicts[question.id]
        code = {"coding": [_coding(QUESTION, question.id, question.text)]}
        if verdict.probability is None:
            yield {"code": code, "dataAbsentReason": _ABSENT}
            continue
        share = {"value": round(verdict.probability, 6), "system": "http://unitsofmeasure.org", "code": "1"}
        yield {"code": code, "valueQuantity": share, "interpretation": [{"text": verdict.answer}]}


def _agreement(samples: Samples | None, found: Assessment) -> Iterator[dict[str, object]]:
    if samples is None:
        return
    code = {"coding": [_coding(QUESTION, "samples", "more descriptions of the clip decided as this one")]}
    if found.decision is None:
        yield {"code": code, "dataAbsentReason": _ABSENT}
    else:
        of = {"numerator": {"value": samples.decisions.count(found.decision)}, "denominator": {"value": len(samples.decisions)}}
        yield {"code": code, "valueRatio": of}


def _device(models: Mapping[str, Mapping[str, str]]) -> dict[str, object]:
    """srlite with its models. An adapter is told by its hash alone: its id is the name of the run's folder."""
    named = {role: model["id"] for role, model in models.items() if role != "adapter"}
    parts = [{"type": {"text": "srlite"}, "value": __version__}]
    for role, model in models.items():
        component = {"component": {"system": MODEL, "value": _text(named[role])}} if role in named else {}
        parts.append({"type": {"text": f"{role}, SHA-256"}, **component, "value": model["sha256"]})
    return {
        "resourceType": "Device",
        "id": _DEVICE,
        "deviceName": [{"name": "srlite", "type": "user-friendly-name"}],
        "version": parts,
    }


def _coding(system: str, code: str, display: str) -> dict[str, str]:
    return {"system": system, "code": " ".join(code.split()), "display": _text(display)}


def _text(text: str) -> str:
    """As FHIR admits it: no control characters, and never blank."""
    return plain(text).strip() or "(blank)"
