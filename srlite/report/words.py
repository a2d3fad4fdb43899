"""What was found, in sentences for a reader who has not seen srlite before. Every figure comes with its uncertainty."""

from __future__ import annotations

from collections.abc import Iterator

from srlite.evaluation.document import Arm, Comparison, Evaluation, Figures
from srlite.report.numbers import counted, in_words, p_value, percent, points

DEMONSTRATION = "Made with the bundled demonstration models. They know a drawn world only: nothing here is about real children."
ARM_WORDS = {
    "generic": "before training (broad prompt)",
    "base": "before training",
    "ablated": "after training with other rewards",
    "adapted": "after training",
}
DECISION_WORDS = {
    "pass": "pass",
    "fail": "fail",
    "unable_to_assess": "unable to assess",
    "unscored": "no decision",
    None: "no decision",
}
WRONG_WITHOUT = "unable to assess, and pairs without a decision, count as wrong"
"""What `accuracy` does with pairs that were not decided."""
_SIGNIFICANT = 0.05


def arm_words(name: str) -> str:
    return ARM_WORDS.get(name, name)


def main_arm(evaluation: Evaluation) -> str:
    """The arm that the report is about: with the adapter, where that was measured."""
    return "adapted" if "adapted" in evaluation.arms else list(evaluation.arms)[-1]


def summary(evaluation: Evaluation) -> list[str]:
    """The findings, the most important first."""
    arm = evaluation.arms[main_arm(evaluation)]
    found = [_accuracy(arm), _against_majority(arm.overall), *_by_child(arm), _both_ways(arm.overall)]
    found += [compared(c) for c in evaluation.comparisons]
    found += [_undecided(arm.overall), _abstention(arm), _items(evaluation), *_truth(arm), *_few(arm)]
    return [sentence for sentence in found if sentence]


def _accuracy(arm: Arm) -> str:
    n = arm.accuracy.n
    if arm.accuracy.value is None:
        return f"No accuracy can be given: {arm.accuracy.reason or 'there is no test pair with an outcome'}."
    hits = f"{arm.accuracy.hits} of {counted(n, 'test pair')}"
    return f"The decision agreed with the clinician's outcome in {hits} of a clip and its item: {in_words(arm.accuracy)}."


def _against_majority(overall: Figures) -> str:
    """Accuracy beside what needs no looking at the clip."""
    if overall.majority is None or overall.accuracy.low is None or overall.accuracy.high is None:
        return ""
    commoner = "pass" if overall.matrix.passed >= overall.matrix.failed else "fail"
    said = f'Always answering "{commoner}", without looking at any clip, would agree in {percent(overall.majority)}'
    if overall.accuracy.low > overall.majority:
        return f"{said}: these decisions do better than that."
    if overall.accuracy.high < overall.majority:
        return f"{said}: these decisions do worse than that."
    return f"{said}: with so few pairs, these decisions cannot be told from that."


def _by_child(arm: Arm) -> Iterator[str]:
    found = arm.by_child.accuracy
    if found.low is not None and found.high is not None:
        children = counted(arm.by_child.children, "child", "children")
        interval = f"{percent(found.low)} to {percent(found.high)}"
        yield f"Clips of one child are alike. Taking whole children ({children}), the interval is {interval}."


def _both_ways(overall: Figures) -> str:
    m = overall.matrix
    passed = f"Where the clinician found pass ({m.passed}), the decision was pass in {m.tp}"
    failed = f"where the clinician found fail ({m.failed}), it was fail in {m.tn}"
    rates = f"sensitivity {in_words(overall.sensitivity)}, specificity {in_words(overall.specificity)}"
    return f"{passed}; {failed}: {rates}."


def compared(c: Comparison) -> str:
    """One comparison of two arms on the same pairs."""
    before, after = _apart(c)
    if c.difference.value is None:
        return f"Agreement {before} and {after} cannot be compared: {c.difference.reason}."
    interval = ""
    if c.difference.low is not None and c.difference.high is not None:
        interval = f" (95% interval {points(c.difference.low)} to {points(c.difference.high)} points)"
    change = f"Agreement {after} is {_points_more(c.difference.value)} {before}{interval}"
    turned = f"{counted(c.only_after, 'pair')} became right and {c.only_before} became wrong"
    test = f"exact McNemar test, {p_value(c.p)}" if c.p is not None else f"no test: {c.p_reason}"
    return f"{change}: {turned} ({test}). {_meaning(c)}"


def _apart(c: Comparison) -> tuple[str, str]:
    """What tells the two arms apart. Both are before training where only the prompt differs."""
    if (c.before, c.after) == ("generic", "base"):
        return "with the broad prompt", "before training with the item's own prompt"
    return arm_words(c.before), arm_words(c.after)


def _points_more(difference: float) -> str:
    """To stand between two arms: 25 percentage points higher than."""
    if not difference:
        return "the same as"
    more = "higher" if difference > 0 else "lower"
    return f"{abs(100 * difference):.0f} percentage points {more} than"


def _meaning(c: Comparison) -> str:
    if c.p is None or c.p >= _SIGNIFICANT:
        return "Chance alone may explain such a change."
    return "Chance alone would rarely make such a change."


def _undecided(overall: Figures) -> str:
    m = overall.matrix
    unable, unscored = m.unable_pass + m.unable_fail, m.unscored_pass + m.unscored_fail
    if not unable + unscored:
        return ""
    parts = f'{counted(unable, "pair")} of a clip and its item got "unable to assess", {unscored} no decision'
    decided = f"of the {m.decided} others, {in_words(overall.accuracy_decided)} agreed"
    return f"{parts}: they count as wrong above; {decided}."


def _abstention(arm: Arm) -> str:
    if arm.abstention.value is None:
        return ""
    of = f"{arm.abstention.hits} of {counted(arm.abstention.n, 'pair')}"
    return f"Asked about an item unrelated to the clip, it declined to assess in {of}: {in_words(arm.abstention)}."


def _items(evaluation: Evaluation) -> str:
    name = main_arm(evaluation)
    arm = evaluation.arms[name]
    others = [f"{a.items_recall_above_half} {arm_words(n)}" for n, a in evaluation.arms.items() if n != name]
    beside = f" ({'; '.join(others)})" if others else ""
    if not (known := arm.items_with_passes):
        return "No item has a pass in the test part: how many of the passes were found cannot be said."
    above = f"{arm.items_recall_above_half} of {counted(known, 'item')}"
    none = len(arm.items) - known
    missing = f"; {none} more {'has' if none == 1 else 'have'} no pass in the test part" if none else ""
    return f"For {above}, more than half of the passes were found{beside}{missing}."


def _truth(arm: Arm) -> Iterator[str]:
    if arm.truth is not None and arm.truth.value is not None:
        yield f"In the drawn world it is known what a clip shows: {in_words(arm.truth)} of the descriptions are true of theirs."


def _few(arm: Arm) -> Iterator[str]:
    if arm.overall.few:
        yield f"{arm.overall.few[0].upper()}{arm.overall.few[1:]}."
    if arm.by_child.unnamed:
        unnamed = counted(arm.by_child.unnamed, "clip")
        yield f"{unnamed} without a child's name: whether some show one child cannot be known, so intervals may be too narrow."


def glossary(evaluation: Evaluation) -> str:
    """What the arms are called, here and elsewhere."""
    said = "; ".join(f"{name}: {arm_words(name)}" for name in evaluation.arms)
    if not evaluation.ablation:
        return f"{said}."
    a = evaluation.ablation
    return f"{said}. Rewarded for {', '.join(a.adapted_terms)}; in run {a.run} (ablated) for {', '.join(a.terms)}."
