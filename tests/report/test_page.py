"""The page as text: complete, closed to the outside, everything escaped, the same for the same input."""

import base64
import hashlib
import re
import stat
from html.parser import HTMLParser

import pytest
from report.conftest import write_run
from report.documents import case, cases, evaluation, said

import srlite
from srlite.report.writing import report_json, write_report

ARMS = ("generic", "base", "adapted")
EVIL = "<script>alert(1)</script>\u202egnp.exe"


class Reader(HTMLParser):
    """Tags with their attributes, the text outside scripts and styles, and what stands in these."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.inside, self.text, self._open = [], [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag in ("script", "style"):
            self._open.append(dict(attributes))

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self._open.pop()

    def handle_data(self, data):
        if self._open:
            self.inside.append((self._open[-1], data))
        else:
            self.text.append(data)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A page with everything in it."""
    document = evaluation(cases(24, ARMS), ARMS, closer=True)
    return html_of(write_run(tmp_path_factory.mktemp("whole") / "run", document=document))


def html_of(folder, **more):
    return write_report(folder, frames=False, **more).file.read_text(encoding="utf-8")


def test_what_users_and_models_write_is_text(reported):
    odd = case(
        1, "30_1", "pass", {"adapted": said("pass", description=EVIL)}, clip=f'"><img src=x>{EVIL}.mp4', warnings=(EVIL,)
    )
    page = reported(odd, arms=("adapted",))
    assert "\u202e" not in page and "<script>alert" not in page and "<img" not in page
    read = Reader(page)
    assert sum("<script>alert(1)</script>\ufffdgnp.exe" in text for text in read.text) >= 3
    assert sum(tag == "script" for tag, _ in read.tags) == 2  # the data and the page's own


def test_names_with_quotes_stay_inside_their_attributes(tmp_path):
    document = evaluation(cases(4), demonstration=False)
    text = document.card.items[0].model_copy(update={"name": "\"quoted\" 'name' & <b>", "criterion": "</style><h1>x"})
    card = document.card.model_copy(update={"items": (text, *document.card.items[1:])})
    folder = write_run(tmp_path / "run", document=document.model_copy(update={"card": card}))
    read = Reader(html_of(folder))
    assert any("\"quoted\" 'name' & <b>" in part for part in read.text)
    assert sum(tag == "h1" for tag, _ in read.tags) == 1


def test_the_script_gets_every_text_to_the_letter(reported):
    import json

    page = reported(case(1, "30_1", "pass", {"adapted": said("pass", description=EVIL)}), arms=("adapted",))
    ((_, data),) = [part for part in Reader(page).inside if part[0].get("type") == "application/json"]
    assert json.loads(data)["cases"][0]["description"] == EVIL


def test_the_policy_names_the_style_and_the_script_by_their_hashes(whole):
    read = Reader(whole)
    (policy,) = [a["content"] for tag, a in read.tags if a.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'" and rules["img-src"] == "data:"
    inside = {tag: text for tag, text in zip(("style", "data", "script"), [t for _, t in read.inside], strict=True)}
    for rule, tag in (("style-src", "style"), ("script-src", "script")):
        assert rules[rule] == f"'sha256-{base64.b64encode(hashlib.sha256(inside[tag].encode()).digest()).decode()}'"
    # a strict policy would refuse these
    assert not [a for _, a in read.tags if "style" in a or any(name.startswith("on") for name in a)]


def test_nothing_outside_is_asked_for(whole):
    assert not re.findall(r"\b(?:https?|ftp|wss?|file):|url\((?!#)|@import", whole)
    for _, attributes in Reader(whole).tags:
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            assert attributes.get(name, "#").startswith(("#", "data:"))


def test_a_killed_run_is_told_in_words(killed):
    page = html_of(killed)
    assert "What is missing" in page and "There is no adapter" in page and "There is no evaluation" in page
    assert "Training reached round 2 of 2, slice 1, step 9." in page
    assert 'id="training-title"' in page  # the curves up to there
    assert "Is it unable to assess?" in page and "Criterion: The child takes at least two steps backward." in page
    assert "<script" not in page


def test_a_run_that_hardly_began_has_a_report_too(tmp_path):
    page = html_of(write_run(tmp_path / "run", slices=0, lock=False, adapter=False))
    assert "There is no lock.json" in page and "There are no training figures." in page


def test_texts_of_another_srlite_are_not_shown_as_the_runs(killed):
    lock = (killed / "lock.json").read_text()
    (killed / "lock.json").write_text(re.sub(r'"questions_sha256": "\w+"', '"questions_sha256": "0"', lock))
    page = html_of(killed)
    assert "are not those that the run was made with" in page and "Is it unable to assess?" not in page


def test_the_file_is_for_its_owner_only(evaluated, tmp_path):
    for out in (None, tmp_path / "elsewhere.html"):
        written = write_report(evaluated, out=out, frames=False)
        assert stat.S_IMODE(written.file.stat().st_mode) == 0o600
        assert written.size_bytes == written.file.stat().st_size


def test_the_same_input_gives_the_same_bytes(evaluated):
    assert html_of(evaluated) == html_of(evaluated)


def test_every_part_of_an_evaluation_has_its_place(whole):
    for name in ("summary", "flow", "figures", "items", "strata", "audit", "second", "training", "clips", "card"):
        assert f'<section id="{name}">' in whole and f'href="#{name}"' in whole
    for words in ("The second judge does not see the gain.", "it does look", "not a diagnostic device", "Intended use"):
        assert words in whole


def test_description_first_then_decision_in_a_closed_part(whole):
    for card in re.findall(r"<article class=\"case\".*?</article>", whole, flags=re.S):
        before, _, after = card.partition('<details class="decided">')
        assert "<blockquote>" in before and "<blockquote>" not in after
        assert "Found:" not in before and not re.search("decision", before, flags=re.I)
        assert "Found:" in after or "No outcome" in after
        assert " open" not in card


def test_errors_come_first(reported):
    found = (
        case(1, "30_1", "pass", {"adapted": said("pass")}),
        case(2, "30_1", "pass", {}, unreadable="too damaged"),
        case(3, "30_1", None, {"adapted": said("pass")}),
        case(4, "30_1", "fail", {"adapted": said("pass")}),
        case(5, "30_1", "pass", {"adapted": said(None)}),
        case(6, "30_1", "pass", {"adapted": said("fail")}),
        case(7, "30_1", "pass", {"adapted": said("unable_to_assess")}),
    )
    page = reported(*found, arms=("adapted",))
    order = re.findall(r'<article class="case" id="case-(\d)"', page)
    assert order == ["4", "6", "3", "7", "5", "2", "1"]
    assert "The clip could not be read: too damaged" in page


@pytest.mark.parametrize("demonstration", [True, False])
def test_a_demonstration_says_so(reported, demonstration):
    page = reported(*cases(4), demonstration=demonstration)
    assert ("They know a drawn world only" in page) is demonstration


def test_probabilities_of_all_questions_are_there(reported):
    page = reported(case(1, "30_1", "pass", {"adapted": said("pass", p=0.87)}), arms=("adapted",))
    table = re.search(r'<table class="answers">.*?</table>', page, flags=re.S).group()
    assert re.findall(r"<td>(\w+ [\d.]+)</td>", table) == ["yes 0.87"] * 4 + ["no 0.13"] * 2
    assert "<td>pass</td>" in table


def test_pictures_and_their_seconds_or_none(examples, tmp_path):
    from srlite.video.reader import sha256_of

    clip = sorted((examples / "videos").iterdir())[0]
    one = case(1, "18_4", "pass", {"adapted": said("pass")}, clip=clip.name, clip_sha256=sha256_of(clip))
    gone = case(2, "18_4", "pass", {"adapted": said("pass")})
    folder = write_run(tmp_path / "run", document=evaluation((one, gone), ("adapted",)))
    written = write_report(folder, videos=clip.parent)
    page = written.file.read_text()
    assert page.count("data:image/jpeg;base64,") == 2  # four frames on each
    assert len(re.findall(r"<span>\d\.\d s</span>", page)) == 8
    assert "Pictures of children are in this file" in page
    assert written.clips_shown == 1 and len(written.without_frames) == 1
    assert "Clips without pictures: 1" in page and "The frames of this clip were not found" in page
    without = html_of(folder)
    assert "data:image" not in without and "Pictures of children" not in without and "Pictures were left out" in without


def test_the_document_for_scripts(killed):
    document = report_json(write_report(killed))
    assert document["schema"] == "srlite.report/1" and len(document["missing"]) == 2 and document["cases"] == 0


def test_it_is_a_plain_function_too():
    assert srlite.write_report is write_report
