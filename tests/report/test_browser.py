"""The page in a real browser: its own policy in force, at desktop and phone width, reviewing as a person does."""

import csv
import json

import pytest
from report.chromium import BINARY, Chromium
from report.conftest import write_run
from report.documents import case, cases, evaluation, said

from srlite.escape import inert
from srlite.records.problems import Problems
from srlite.report.writing import write_report
from srlite.reviews.table import read_reviews

pytestmark = pytest.mark.skipif(BINARY is None, reason="there is no chromium here")
ARMS = ("generic", "base", "adapted")
FORMULA = '=cmd|"/c calc"!A1, "quoted"\nsecond line'


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with Chromium(tmp_path_factory.mktemp("chromium")) as found:
        yield found


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report with everything in it, the first case an error whose description begins like a formula."""
    first = case(400, "18_4", "fail", {name: said("pass", description=FORMULA) for name in ARMS})
    second = case(401, "18_4", "pass", {name: said(None) for name in ARMS})
    document = evaluation((first, second, *cases(24, ARMS)), ARMS, closer=True)
    folder = write_run(tmp_path_factory.mktemp("runs") / "run", document=document)
    return write_report(folder, frames=False).file


@pytest.fixture
def opened(chromium, page):
    """The page in a browser that knows nothing of it yet."""
    chromium.open(page)
    chromium.evaluate("localStorage.clear()")
    chromium.requests.clear()
    chromium.complaints.clear()
    chromium.open(page)
    return chromium


def click(chromium, selector):
    chromium.evaluate(f"document.querySelector({json.dumps(selector)}).click()")


def choose(chromium, name, value):
    chromium.evaluate(
        f"control({json.dumps(name)}).value = {json.dumps(value)};"
        "controls.dispatchEvent(new Event('change', {bubbles: true}))"
    )


def write(chromium, selector, text):
    """As a person leaves a field: both events come."""
    chromium.evaluate(
        f"(() => {{ const field = document.querySelector({json.dumps(selector)}); field.value = {json.dumps(text)};"
        "for (const name of ['input', 'change']) field.dispatchEvent(new Event(name, {bubbles: true})) })()"
    )


def opens(chromium, id_):
    """Open a case's decision; the toggle event comes a little later."""
    chromium.evaluate(
        f"new Promise((done) => {{ const part = document.querySelector('#{id_} details.decided');"
        "part.addEventListener('toggle', () => setTimeout(done)); part.open = true })"
    )


SHOWN = "[...document.querySelectorAll('.case')].filter((card) => !card.hidden).map((card) => card.id)"


def test_the_browser_refuses_nothing_and_asks_for_nothing_else(opened, page):
    assert opened.complaints == []
    assert opened.requests == [page.as_uri()]
    assert opened.evaluate("getComputedStyle(document.querySelector('.case')).contentVisibility") == "auto"


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_stands_out_at_the_side(opened, page, width):
    opened.open(page, width=width)
    click(opened, "#review")
    opened.evaluate("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.evaluate("document.querySelectorAll('article.case').length") == 38


def test_sorting_and_filtering(opened):
    everything = opened.evaluate(SHOWN)
    assert everything[0] == "case-1"
    choose(opened, "item", "30_1")
    some = opened.evaluate(SHOWN)
    assert some and set(some) < set(everything)
    assert opened.evaluate("document.querySelector('#count').textContent") == f"{len(some)} of 38 shown"
    choose(opened, "kind", "right")
    right = opened.evaluate(SHOWN)
    assert right and set(right) < set(some)
    choose(opened, "item", "")
    choose(opened, "kind", "")
    choose(opened, "decision", "unscored")
    assert "case-2" in opened.evaluate(SHOWN)
    choose(opened, "decision", "")
    choose(opened, "order", "clip")
    names = opened.evaluate("[...document.querySelectorAll('.case .clip')].map((part) => part.textContent)")
    assert names == sorted(names)
    choose(opened, "order", "")
    assert opened.evaluate(SHOWN) == everything


def test_an_arm_is_shown_alone(opened):
    visible = "[...document.querySelectorAll('#case-1 .told')].filter((p) => !p.hidden).map((p) => p.dataset.arm)"
    assert opened.evaluate(visible) == ["adapted", "base", "generic"]
    choose(opened, "arm", "base")
    assert opened.evaluate(visible) == ["base"]


def test_without_review_mode_there_is_no_form(opened):
    opens(opened, "case-1")
    assert opened.evaluate("document.querySelectorAll('#cases form, #cases select').length") == 0


def test_a_review_from_the_first_click_to_the_file(opened, page):
    click(opened, "#review")
    write(opened, "#save [name=reviewer]", "@Dr. Weber")
    click(opened, "#download")
    assert "There is nothing to save yet" in opened.evaluate("document.querySelector('#told').textContent")
    write(opened, "#save [name=reviewer]", "")
    write(opened, "#case-1 [name=reads_as]", "unable_to_assess")
    click(opened, "#download")
    assert "Write your name first" in opened.evaluate("document.querySelector('#told').textContent")
    write(opened, "#save [name=reviewer]", "@Dr. Weber")
    opens(opened, "case-1")
    click(opened, "#case-1 .review [value=fail]")
    click(opened, "#download")
    assert "Overruled without a reason or a note: 18_4" in opened.evaluate("document.querySelector('#told').textContent")
    write(opened, "#case-1 [name=reason]", "temporal")
    write(opened, "#case-1 [name=note]", "-1 step, forward")
    write(opened, "#case-1 [name=corrected_description]", "The child steps forward.")
    opens(opened, "case-2")
    assert opened.evaluate("document.querySelector('#case-2 .review [value=agree]').disabled")  # no decision to agree with
    opens(opened, "case-3")
    click(opened, "#case-3 .review [value=agree]")
    assert opened.evaluate("document.querySelector('#reviewed').textContent") == "2 of 38 reviewed"
    assert opened.evaluate("document.querySelector('#case-1 .reviewed').textContent") == "reviewed: overruled"

    opened.open(page)  # all of it is kept
    assert opened.evaluate("document.querySelector('#case-1 .reviewed').textContent") == "reviewed: overruled"
    assert opened.evaluate("document.querySelector('#case-1 [name=reads_as]').value") == "unable_to_assess"
    opens(opened, "case-1")
    assert opened.evaluate("document.querySelector('#case-1 .review [value=fail]').checked")
    assert opened.evaluate("document.querySelector('#case-1 [name=note]').value") == "-1 step, forward"

    click(opened, "#download")
    problems = Problems("reviews")
    read = [review for _, review in read_reviews(opened.saved(), problems)]
    assert not problems and [r.review for r in read] == ["overrule", "agree"] and read[0].description == FORMULA
    with opened.saved().open(encoding="utf-8-sig", newline="") as file:
        first, third = csv.DictReader(file)
    facts = json.loads(opened.evaluate("document.querySelector('#data').textContent"))["cases"]
    assert first["run"] == "run" and first["clip"] == facts[0]["clip"] and first["clip_sha256"] == facts[0]["clip_sha256"]
    assert first["description"] == inert(FORMULA) and first["decision"] == "pass"
    assert (first["review"], first["human_decision"], first["reason"]) == ("overrule", "fail", "temporal")
    assert first["note"] == "'-1 step, forward" and first["reads_as"] == "unable_to_assess"
    assert first["corrected_description"] == "The child steps forward." and first["reviewer"] == "'@Dr. Weber"
    assert len(first["when"]) == 24 and first["when"].endswith("Z") and first["when"][10] == "T"
    assert third["review"] == "agree" and third["human_decision"] == third["decision"] != ""
    assert third["reason"] == third["note"] == third["reads_as"] == third["corrected_description"] == ""
    assert [path.name for path in opened.saved().parent.iterdir()] == ["run-review.csv"]  # nothing to save: no file
    assert opened.complaints == []


def test_what_is_counted_is_what_is_saved(opened):
    reviewed = "document.querySelector('#reviewed').textContent"
    click(opened, "#review")
    assert opened.evaluate(reviewed) == "0 of 38 reviewed"
    write(opened, "#case-1 [name=reads_as]", "pass")
    assert opened.evaluate(reviewed) == "1 of 38 reviewed" and len(opened.evaluate("csv()").strip().split("\r\n")) == 2
    opens(opened, "case-3")
    click(opened, "#case-3 .review [value=agree]")
    assert opened.evaluate(reviewed) == "2 of 38 reviewed"
    write(opened, "#case-1 [name=reads_as]", "")
    assert opened.evaluate(reviewed) == "1 of 38 reviewed"


def test_a_review_can_be_taken_back(opened):
    click(opened, "#review")
    opens(opened, "case-1")
    click(opened, "#case-1 .review [value=agree]")
    click(opened, "#case-1 [name=clear]")
    assert opened.evaluate("csv()").splitlines() == [
        "run,clip,clip_sha256,item,description,decision,review,human_decision,reason,note,reads_as,corrected_description,reviewer,when"
    ]
    assert opened.evaluate("document.querySelector('#case-1 .reviewed').textContent") == ""


def test_a_persons_review_changes_nothing_of_the_models(opened):
    before = opened.evaluate(
        "document.querySelector('#case-1 .model').innerHTML + document.querySelector('#figures').innerHTML"
    )
    click(opened, "#review")
    opens(opened, "case-1")
    click(opened, "#case-1 .review [value=fail]")
    after = opened.evaluate("document.querySelector('#case-1 .model').innerHTML + document.querySelector('#figures').innerHTML")
    assert before == after


def test_another_evaluation_has_reviews_of_its_own(opened, tmp_path):
    click(opened, "#review")
    opens(opened, "case-1")
    click(opened, "#case-1 .review [value=agree]")
    document = evaluation(cases(6, ARMS, seed=1), ARMS)
    other = write_report(write_run(tmp_path / "run", document=document), frames=False).file
    opened.open(other)
    assert opened.evaluate("document.querySelector('#reviewed').textContent") == "0 of 9 reviewed"


CELLS = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "'=1", "''@a", "'a", "a=1", "", "1", " =1", "\n=1", "＝1", "'", "'\t"]


def test_cells_are_made_harmless_as_everywhere_else(opened):
    assert opened.evaluate(f"{json.dumps(CELLS)}.map(inert)") == [inert(cell) for cell in CELLS]
