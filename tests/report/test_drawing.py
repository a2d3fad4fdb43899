"""Figures: the same bytes for the same figures, text as text, nothing that a strict policy would refuse."""

import re
from xml.etree import ElementTree

import pytest
from report.documents import audit, case, cases, evaluation, said

from srlite.report.curves import training_plot
from srlite.report.plots import accuracy_plot, audit_plot, coverage_plot, recall_plot, reliability_plot

ARMS = ("generic", "base", "adapted")


@pytest.fixture(scope="module")
def plots():
    from report.conftest import slice_figures

    document = evaluation(cases(16, ARMS), ARMS)
    lines = [
        slice_figures(1, 1, 3),
        slice_figures(1, 2, 6),
        {"round": 1, "slice": 2, "validation": 0.6, "validation_error": 0.1},
    ]
    drawn = [plot(document) for plot in (accuracy_plot, recall_plot, coverage_plot, reliability_plot)]
    return [*drawn, audit_plot(audit(ARMS)), training_plot(lines)]


def test_no_styles_no_addresses_and_ids_of_their_own(plots):
    ids = []
    for plot in plots:
        assert "style" not in plot.svg and "http" not in plot.svg and "<metadata" not in plot.svg
        found = re.findall(r'\bid="([^"]+)"', plot.svg)
        assert all(name.startswith(f"{plot.name}-") for name in found)
        used = re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', plot.svg)
        assert {a or b for a, b in used} <= set(found)
        ids += found
    assert len(ids) == len(set(ids))


def test_colours_are_colours(plots):
    for plot in plots:
        for value in re.findall(r'(?:fill|stroke)="([^"]+)"', plot.svg):
            assert re.fullmatch(r"none|#[0-9a-f]{6}|url\(#[\w-]+\)", value), value


def test_text_is_text_of_a_size_that_a_phone_shows(plots):
    for plot in plots:
        root = ElementTree.fromstring(plot.svg)
        texts = [t for t in root.iter("text") if t.text]
        width = float(root.get("viewBox").split()[2])
        sizes = [float(t.get("font-size").removesuffix("px")) for t in texts]
        assert texts and min(sizes) * 358 / width > 8, plot.name  # in a column of a phone of 390 px


def test_the_same_figures_give_the_same_bytes(plots):
    document = evaluation(cases(16, ARMS), ARMS)
    assert [p.svg for p in plots[:4]] == [
        plot(document).svg for plot in (accuracy_plot, recall_plot, coverage_plot, reliability_plot)
    ]


def test_arms_differ_by_more_than_colour(plots):
    accuracy, coverage = plots[0].svg, plots[2].svg
    assert accuracy.count("<pattern") == 2  # generic and base are hatched, each its own way
    assert len(set(re.findall(r'stroke-dasharray="([^"]+)"', coverage))) >= 2


def test_dollars_and_markup_in_a_code_are_letters():
    document = evaluation((case(1, "30_1", "pass", {"adapted": said("pass")}),), ("adapted",))
    items = {"$a$<b>": document.arms["adapted"].items["30_1"]}
    odd = document.model_copy(update={"arms": {"adapted": document.arms["adapted"].model_copy(update={"items": items})}})
    svg = recall_plot(odd).svg
    assert "$a$&lt;b&gt;" in svg and "<b>" not in svg


def test_where_there_is_nothing_there_is_no_figure():
    empty = evaluation((case(1, "30_1", None, {"adapted": said("pass")}),), ("adapted",))
    bare = empty.arms["adapted"].model_copy(update={"coverage": (), "items": {}})
    none = empty.model_copy(update={"arms": {"adapted": bare}})
    assert accuracy_plot(none) is None and coverage_plot(none) is None and recall_plot(none) is None
    assert training_plot([]) is None


def test_the_line_of_a_perfect_judge_is_told_from_every_arm(plots):
    svg = plots[3].svg
    assert "as it should be" in svg and "dotted black line" in plots[3].words
    dashes = [re.search(r'stroke-dasharray="([^"]+)"', path) for path in _lines(svg, "#000000")]
    assert len(dashes) == 2 and all(dashes)  # in the plot and in its legend
    assert len(_lines(svg, "#bbbbbb")) == 2  # the generic arm alone


def test_items_are_not_joined_by_a_line(plots):
    svg = plots[1].svg
    assert not _lines(svg, "#d55e00") and "#d55e00" in svg  # markers only
    assert _lines(plots[3].svg, "#d55e00")  # where there is a line, it would have been found


def _lines(svg, colour):
    """Open paths of a colour, as wide as lines of data are; axes, ticks and markers are not among them."""
    paths = [path for path in re.findall(r"<path[^>]*>", svg) if 'fill="none"' in path and f'stroke="{colour}"' in path]
    return [path for path in paths if re.search(r'stroke-width="(1\.6|0\.9)"', path)]


@pytest.mark.parametrize("slices", [1, 2, 3])
def test_slices_are_counted_in_whole_numbers(slices):
    from report.conftest import slice_figures

    svg = training_plot([slice_figures(1, at, 3 * at) for at in range(1, slices + 1)]).svg
    texts = [t.text for t in ElementTree.fromstring(svg).iter("text")]
    shares = {"0.00", "0.25", "0.50", "0.75", "1.00"}
    numbers = [t for t in texts if t and re.fullmatch(r"[\d.]+", t) and t not in shares]
    assert numbers == [str(at) for at in range(1, slices + 1)]


def test_an_item_without_passes_is_marked_not_drawn_as_zero():
    found = tuple(case(i, "30_1", "fail", {"adapted": said("fail")}) for i in range(2))
    assert ">n/a</text>" in recall_plot(evaluation(found, ("adapted",))).svg
