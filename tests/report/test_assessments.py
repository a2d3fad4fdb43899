"""The page of `srlite assess --report`."""

import io
import re

import pytest
from PIL import Image

from srlite.report import assessment_page


def document(**more):
    answered = {"answer": "yes", "probability": 0.91, "mass": 0.99}
    questions = ("evidence", "met", "relevant", "well_formed", "abstains", "echo")
    return {
        "schema": "srlite.assessment/1",
        "clip": {"path": "a/b.mp4", "sha256": "e" * 64, "duration_s": 4.0, "frames_s": [0.5, 1.5]},
        "item": {"code": "30_1", "name": "stands on one foot", "criterion": "Two seconds at least."},
        "description": "The child lifts the left foot for three seconds.",
        "decision": "pass",
        "verdicts": dict.fromkeys(questions, answered),
        "models": {"descriptor": {"id": "tiny", "sha256": "a" * 64}, "adapter": None, "judge": {"id": "j", "sha256": "b" * 64}},
        "demonstration": False,
        "warnings": [],
        "seconds": {},
        "seed": 0,
    } | more


def several(*documents, failed=()):
    return {"schema": "srlite.assessments/1", "assessments": list(documents), "failed": list(failed)}


def jpeg():
    out = io.BytesIO()
    Image.new("RGB", (32, 24), "red").save(out, "JPEG")
    return out.getvalue()


def test_description_first_then_decision_without_a_script():
    page = assessment_page(several(document()), lambda d: [(0.5, jpeg()), (1.5, jpeg())])
    before, _, after = page.partition('<details class="decided">')
    assert "The child lifts the left foot" in before and "pass" not in re.sub(r"<style>.*?</style>", "", before, flags=re.S)
    assert "<td>pass</td>" in after and "yes 0.91" in after and "a" * 64 in after
    assert "<script" not in page and "script-src 'none'" in page
    assert page.count("data:image/jpeg;base64,") == 2 and "0.5 s" in page and "Pictures of children" in page


def test_no_pictures_no_decision_and_a_demonstration():
    page = assessment_page(several(document(decision=None, demonstration=True, warnings=["<i>too short"])), lambda d: [])
    assert "data:image" not in page and "no decision" in page and "drawn world" in page and "&lt;i&gt;too short" in page


def test_pictures_are_those_of_their_document():
    asked = []
    assessment_page(several(document(seed=1), document(seed=2)), lambda d: asked.append(d["seed"]) or [])
    assert asked == [1, 2]


def test_clips_that_failed_stand_on_the_page_with_their_reason():
    bad = {"clip": {"path": "a/<b>.mp4"}, "item": {"code": "18_4"}, "child": None, "error": "is empty", "remedy": "Copy it."}
    page = assessment_page(several(document(), failed=[bad]), lambda d: [])
    assert "Not assessed: 1" in page and "a/&lt;b&gt;.mp4, item 18_4: is empty. Copy it." in page
    assert "Not assessed" not in assessment_page(several(document()), lambda d: [])


@pytest.mark.parametrize(
    ("error", "remedy", "shown"),
    [
        ("is empty", "Copy it.", "is empty. Copy it.</li>"),
        ("is empty.", "Copy it.", "is empty. Copy it.</li>"),
        ("is it a film?", "Copy it.", "is it a film? Copy it.</li>"),
        ("is empty", None, "is empty</li>"),
    ],
)
def test_one_full_stop_between_what_is_wrong_and_what_to_do(error, remedy, shown):
    bad = {"clip": {"path": "b.mp4"}, "item": {"code": "18_4"}, "child": None, "error": error, "remedy": remedy}
    assert f"b.mp4, item 18_4: {shown}" in assessment_page(several(failed=[bad]), lambda d: [])


def test_another_schema_is_refused():
    with pytest.raises(KeyError):
        assessment_page({"schema": "srlite.evaluation/1"}, lambda d: [])
