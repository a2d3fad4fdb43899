"""The tables of a report, made of the evaluation's own figures: nothing is worked out here but what stands beside what.

Contract: every cell is text as it is printed. The first `left` columns are words, as is the last with `last_words`; the others
are figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from srlite.evaluation.document import Arm, Estimate, Evaluation, Figures, ItemFigures, Matrix
from srlite.evaluation.figures import FEW
from srlite.report.numbers import decimal, in_table, p_value, signed
from srlite.report.words import WRONG_WITHOUT, arm_words, main_arm

NO_EXAMPLES = "no valid examples"


@dataclass(frozen=True, slots=True)
class Table:
    """`note` stands below: how to read it."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    note: str = ""
    last_words: bool = False


def paper_accuracy(evaluation: Evaluation) -> Table:
    """The paper's table 3."""
    base, adapted = (evaluation.arms.get(name) for name in ("base", "adapted"))
    values = [arm.accuracy.value if arm else None for arm in (base, adapted)]
    gain = None if None in values else values[1] - values[0]
    shown = ["not measured" if arm is None else decimal(v, 3) for arm, v in zip((base, adapted), values, strict=True)]
    row = (evaluation.card.descriptor.id, *shown, "not measured" if None in (base, adapted) else signed(gain, 3))
    note = _MEASURE if "not measured" in row else ""
    return Table("Accuracy before and after training", ("Backbone", "Base", "+ GRPO-LoRA", "Absolute gain"), (row,), note=note)


_MEASURE = "All of them come from: srlite evaluate ITEMS_CSV VIDEOS --run DIR --compare generic,base,adapted"
_SETTINGS = (
    ("generic", "Generic domain prompt"),
    ("base", "Item-specific prompt"),
    ("adapted", "Item-specific prompt + training"),
)


def paper_coverage(evaluation: Evaluation) -> Table:
    """The paper's table 4."""
    rows = tuple((words, _coverage(evaluation.arms.get(name))) for name, words in _SETTINGS)
    measure = _MEASURE if any(shown == "not measured" for _, shown in rows) else ""
    note = " ".join(filter(None, (_passless(evaluation), measure)))
    return Table("Items of whose passes more than half were found", ("Setting", "Items with recall > 0.5"), rows, note=note)


def _coverage(arm: Arm | None) -> str:
    return f"{arm.items_recall_above_half} / {arm.items_with_passes}" if arm else "not measured"


def _passless(evaluation: Evaluation) -> str:
    """Which items a count of recalls leaves out; "" where it leaves out none."""
    arm = evaluation.arms[main_arm(evaluation)]
    none = len(arm.items) - arm.items_with_passes
    return f"Not counted among the items, since they have no pass in the test part: {none}." if none else ""


_FIGURES = (
    (f"Accuracy ({WRONG_WITHOUT})", "accuracy"),
    ("Accuracy of those decided pass or fail", "accuracy_decided"),
    ("Sensitivity (recall of pass)", "sensitivity"),
    ("Specificity (fails found)", "specificity"),
    ("Positive predictive value (of pass)", "ppv"),
    ("Negative predictive value", "npv"),
    ("Balanced accuracy", "balanced_accuracy"),
)


def figures(evaluation: Evaluation) -> Table:
    """All arms side by side; base rate and majority baseline beside the accuracies."""
    arms = evaluation.arms
    row = lambda words, of: (words, *(of(arm) for arm in arms.values()))
    estimate = lambda name: lambda arm: in_table(getattr(arm.overall, name))
    shares = [row(words, estimate(name)) for words, name in _FIGURES]
    base_rate = row("Base rate: share that the clinician passed", lambda arm: decimal(arm.overall.base_rate))
    majority = row("Baseline: always the commoner outcome", lambda arm: decimal(arm.overall.majority))
    others = [
        row("Abstention on unrelated pairs", lambda arm: in_table(arm.abstention)),
        row("Descriptions relevant to the item", lambda arm: in_table(arm.relevance)),
        row("Tokens of a description, mean", lambda arm: decimal(arm.length_tokens, 1)),
        row("Items with recall > 0.5", _coverage),
    ]
    if any(arm.macro_recall for arm in arms.values()):
        mean = lambda name: lambda arm: _mean_of_items(getattr(arm, name))
        others.append(row("Recall, mean over items", mean("macro_recall")))
        others.append(row("Precision, mean over items", mean("macro_precision")))
    if any(arm.truth for arm in arms.values()):
        true = lambda arm: in_table(arm.truth) if arm.truth else "n/a"
        others.append(row("Descriptions true of the clip (drawn world)", true))
    rows = (shares[0], majority, base_rate, *shares[1:], *others)
    note = " ".join(filter(None, ("With 95% intervals. Positive class: pass.", _passless(evaluation))))
    return Table("All figures", ("", *map(arm_words, arms)), rows, note=note)


def _mean_of_items(mean: Estimate | None) -> str:
    if mean is None or mean.value is None:
        return in_table(mean) if mean else "n/a"
    return f"{decimal(mean.value)} of {mean.n} items"


def by_child(evaluation: Evaluation) -> Table:
    """Intervals from resampling children."""
    names = ("accuracy", "sensitivity", "specificity", "abstention")
    arms = evaluation.arms
    rows = tuple((name.capitalize(), *(in_table(getattr(arm.by_child, name)) for arm in arms.values())) for name in names)
    children = max((arm.by_child.children for arm in arms.values()), default=0)
    note = f"95% intervals from a bootstrap of {children} children, since clips of one child are not independent."
    return Table("Intervals by child", ("", *map(arm_words, arms)), rows, note=note)


def matrix(name: str, arm: Arm) -> Table:
    """The 2x2 table with those that were not decided."""
    m = arm.overall.matrix
    rows = (
        ("pass", *_texts(m.tp, m.fn, m.unable_pass, m.unscored_pass, m.passed)),
        ("fail", *_texts(m.fp, m.tn, m.unable_fail, m.unscored_fail, m.failed)),
    )
    head = ("Clinician found", "pass", "fail", "unable to assess", "no decision", "all")
    return Table(f"Decisions about a clip and its item, {arm_words(name)}", head, rows)


def _texts(*counts: int) -> Iterator[str]:
    return (f"{n:,}" for n in counts)


def comparisons(evaluation: Evaluation) -> Table:
    head = ("", "Pairs", "Both right", "Only before", "Only after", "Neither", "McNemar", "Accuracy", "Abstention", "Items")
    rows = tuple(
        (
            f"{arm_words(c.before)} / {arm_words(c.after)}",
            *_texts(c.n, c.both_right, c.only_before, c.only_after, c.neither),
            p_value(c.p),
            _difference(c.difference),
            _difference(c.abstention_difference),
            f"gained: {', '.join(c.items_gained) or 'none'}; lost: {', '.join(c.items_lost) or 'none'}",
        )
        for c in evaluation.comparisons
    )
    note = (
        "The same pairs twice. McNemar: exact, two-sided. Accuracy and abstention: the difference, its 95% interval from a "
        "bootstrap by child. Items: recall above 0.5 only after (gained) or only before (lost)."
    )
    return Table("Before and after, pair by pair", head, rows, note=note, last_words=True)


def _difference(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return in_table(estimate) if estimate.value is None else signed(estimate.value)
    return f"{signed(estimate.value)} ({signed(estimate.low)} to {signed(estimate.high)})"


def items(evaluation: Evaluation) -> Table:
    """Item by item: counts of the main arm, recall and precision of all."""
    name, texts = main_arm(evaluation), {text.code: text for text in evaluation.card.items}
    others = [other for other in evaluation.arms if other != name]
    head = ("Item", "", "Accuracy", "Baseline", "Recall", *(f"Recall {arm_words(other)}" for other in others), "Precision")
    counts = ("tp", "fn", "fp", "tn", "unable", "no decision")
    rows = []
    for code, found in evaluation.arms[name].items.items():
        recalls = [evaluation.arms[other].items.get(code) for other in others]
        rows.append(
            (
                code,
                texts[code].name if code in texts else "",
                *_item_cells(found),
                *(decimal(r.recall if r else None) for r in recalls),
                decimal(found.precision),
                *_texts(found.tp, found.fn, found.fp, found.tn, found.unable_pass + found.unable_fail, found.unscored),
                _few(found.figures),
            )
        )
    note = (
        f"{arm_words(name).capitalize()}, unless the column says otherwise. Baseline: always the item's commoner outcome. "
        "tp, fn: the clinician found pass, the decision was pass, fail. fp, tn: the clinician found fail, likewise. "
        f"{_FEW}"
    )
    return Table("Item by item", (*head, *counts, "Note"), tuple(rows), left=2, note=note, last_words=True)


def _item_cells(found: ItemFigures) -> tuple[str, str, str]:
    return in_table(found.figures.accuracy), decimal(found.figures.majority), in_table(found.figures.sensitivity)


def items_by_sex(evaluation: Evaluation) -> Table | None:
    """The paper's sex-stratified figures, item by item."""
    name = main_arm(evaluation)
    head = ("Item", "Sex", "Pairs", "pass", "fail", "Accuracy", "Baseline", "Sensitivity", "Specificity", "Precision", "Note")
    found = evaluation.arms[name].items.items()
    rows = tuple((code, *_stratum(sex, figures)) for code, item in found for sex, figures in item.by_sex.items())
    return Table(f"Item by item and sex, {arm_words(name)}", head, rows, left=2, note=_FOUND, last_words=True) if rows else None


_FEW = f"few: below {FEW} of an outcome, too few to say much."
_FOUND = f"pass, fail: what the clinician found. {_FEW}"


def strata(evaluation: Evaluation) -> Iterator[Table]:
    """One table a factor (sex, age, domain), for the main arm."""
    name = main_arm(evaluation)
    head = ("", "Pairs", "pass", "fail", "Accuracy", "Baseline", "Sensitivity", "Specificity", "Precision", "Note")
    for factor, groups in evaluation.arms[name].strata.items():
        rows = tuple(_stratum(group, found) for group, found in groups.items())
        yield Table(f"By {factor}, {arm_words(name)}", head, rows, note=_FOUND, last_words=True)


def _few(found: Figures) -> str:
    """Short: the counts stand beside it, what it means below the table."""
    return "few" if found.few else ""


def _stratum(group: str, found: Figures) -> tuple[str, ...]:
    m: Matrix = found.matrix
    counts = tuple(_texts(m.passed + m.failed, m.passed, m.failed))
    if not m.passed + m.failed:
        return (group, *counts, NO_EXAMPLES, "", "", "", "", "")
    shares = [found.accuracy, None, found.sensitivity, found.specificity, found.ppv]
    return (group, *counts, *(_or_majority(share, found) for share in shares), _few(found))


def _or_majority(share: Estimate | None, found: Figures) -> str:
    if share is None:
        return decimal(found.majority)
    return NO_EXAMPLES if share.value is None and not share.n else in_table(share)


def coverage(evaluation: Evaluation) -> Table:
    """The figures behind the plot of risk against coverage."""
    rows = tuple(
        (arm_words(name), decimal(c.band), decimal(c.coverage), decimal(c.risk), f"{c.decided:,}")
        for name, arm in evaluation.arms.items()
        for c in arm.coverage
    )
    return Table("Risk against coverage", ("", "Unsure band", "Share decided", "Share of these wrong", "Decided"), rows)


def calibration(evaluation: Evaluation) -> Table:
    """The figures behind the reliability plot."""
    rows = tuple(
        (
            arm_words(name),
            f"{decimal(b.low)} to {decimal(b.high)}",
            f"{b.n:,}",
            decimal(b.mean_probability),
            decimal(b.share_passed),
        )
        for name, arm in evaluation.arms.items()
        for b in arm.calibration.bins
        if b.n
    )
    head = ("", "Probability of pass", "Pairs", "Its mean", "Share that passed")
    return Table("Reliability", head, rows, left=2, note=" ".join(_brier(evaluation)))


def _brier(evaluation: Evaluation) -> Sequence[str]:
    said = []
    for name, arm in evaluation.arms.items():
        c = arm.calibration
        score = decimal(c.brier, 3) if c.brier is not None else f"n/a ({c.reason})"
        said.append(f"Brier score {arm_words(name)}: {score}, of {c.n} pairs.")
    return said
