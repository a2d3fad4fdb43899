"""Tables: what stands beside what, and what is said where there is nothing."""

from report.documents import case, cases, evaluation, said

from srlite.report.flow import flow_shown
from srlite.report.tables import NO_EXAMPLES, figures, items_by_sex, matrix, paper_accuracy, paper_coverage, strata


def test_the_papers_tables():
    document = evaluation(cases(24, ("generic", "base", "adapted")), ("generic", "base", "adapted"))
    values = [document.arms[name].accuracy.value for name in ("base", "adapted")]
    row = (document.card.descriptor.id, f"{values[0]:.3f}", f"{values[1]:.3f}", f"{values[1] - values[0]:+.3f}")
    assert paper_accuracy(document).rows == (row,)
    assert [cell for _, cell in paper_coverage(document).rows] == [
        f"{document.arms[name].items_recall_above_half} / 4" for name in ("generic", "base", "adapted")
    ]


def test_an_arm_that_was_not_measured_is_no_figure():
    document = evaluation(cases(8, ("adapted",)), ("adapted",))
    assert paper_accuracy(document).rows[0][1] == "not measured"
    assert "--compare generic,base,adapted" in paper_accuracy(document).note
    assert [cell for _, cell in paper_coverage(document).rows][:2] == ["not measured", "not measured"]


def test_base_rate_and_baseline_stand_beside_the_accuracy():
    labels = [row[0] for row in figures(evaluation(cases(8))).rows]
    assert labels[0].startswith("Accuracy") and labels[1].startswith("Baseline") and labels[2].startswith("Base rate")


def test_accuracy_says_what_counts_as_wrong():
    label = figures(evaluation(cases(8))).rows[0][0]
    assert label == "Accuracy (unable to assess, and pairs without a decision, count as wrong)"


def test_items_without_a_pass_are_not_among_the_items_with_a_recall():
    found = [case(i, "30_1", "pass", {"adapted": said("pass")}) for i in range(3)]
    found += [case(10 + i, "18_4", "fail", {"adapted": said("fail")}) for i in range(2)]
    document = evaluation(tuple(found), ("adapted",))
    assert paper_coverage(document).rows[-1][1] == "1 / 1"
    assert ("Items with recall > 0.5", "1 / 1") in figures(document).rows
    missing = "Not counted among the items, since they have no pass in the test part: 1."
    assert missing in paper_coverage(document).note and missing in figures(document).note
    all_known = evaluation(tuple(found[:3]), ("adapted",))
    assert "no pass" not in paper_coverage(all_known).note + figures(all_known).note


def test_the_matrix_shows_those_without_a_decision_apart():
    decisions = ("pass", "fail", "unable_to_assess", None)
    found = tuple(case(i, "30_1", "pass", {"adapted": said(d)}) for i, d in enumerate(decisions))
    document = evaluation(found, ("adapted",))
    assert matrix("adapted", document.arms["adapted"]).rows == (
        ("pass", "1", "1", "1", "1", "4"),
        ("fail", "0", "0", "0", "0", "0"),
    )


def test_a_group_without_examples_says_so_and_shows_no_zero():
    found = tuple(case(2 * i, "30_1", "pass", {"adapted": said("pass")}) for i in range(3))  # even numbers: female
    sex = next(iter(strata(evaluation(found, ("adapted",)))))
    female, male = sex.rows
    assert female[:4] == ("female", "3", "3", "0") and female[7] == NO_EXAMPLES  # no fail: no specificity
    assert male == ("male", "0", "0", "0", NO_EXAMPLES, "", "", "", "", "")


def test_the_flow_adds_up():
    found = (*cases(10), case(90, "30_1", "pass", {}, unreadable="too damaged"))
    shown = flow_shown(evaluation(found))
    assert (shown.matched, shown.unrelated, shown.unreadable_unrelated) == (11, 5, 0)
    for row in shown.decisions[0].rows:
        assert sum(map(int, row[1:5])) == int(row[5]) == 10


def test_items_by_sex_say_where_there_are_no_examples():
    found = tuple(case(2 * i, "18_4", "pass", {"adapted": said("pass")}) for i in range(3))  # even numbers: female
    rows = items_by_sex(evaluation(found, ("adapted",))).rows
    assert ("18_4", "male", "0", "0", "0", NO_EXAMPLES, "", "", "", "", "") in rows
    assert [row[2] for row in rows if row[:2] == ("18_4", "female")] == ["3"]
