"""The page of an evaluation: arms side by side, counts, comparisons in words, items; with `full` all groups and curves.

Every accuracy has its interval, and beside it what always saying the commoner outcome would reach. An undefined figure is shown
with its reason. The page is for reading at a glance: every number is in evaluation.json.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from srlite.console import DEMONSTRATION, NOT_A_DEVICE, Screen, counted, number
from srlite.console.audit import show_audit
from srlite.escape import plain
from srlite.evaluation.document import Arm, ArmName, Comparison, Estimate, Evaluation, Figures, Flow, ItemFigures, SecondJudge

_MAIN = "adapted"
_NARROW = 80
"""Columns of a terminal below which cells have no space around them."""


def show_evaluation(screen: Screen, found: Evaluation, *, full: bool = False) -> None:
    """full: groups by sex, age and domain, items by sex, risk against coverage, and calibration, of the adapted arm."""
    _summary(screen, found)
    _counts(screen, found.arms)
    _items(screen, found.arms)
    if found.second_judge:
        _second(screen, found.arms, found.second_judge)
    if found.audit:
        show_audit(screen, found.audit)
    if full:
        _groups(screen, found.arms[_MAIN])
        _curves(screen, found.arms[_MAIN])
    for line in _sentences(found):
        _line(screen, line)
    for line in _cautions(found):
        _line(screen, f"! {line}", "yellow")
    _line(screen, NOT_A_DEVICE, "dim")


def _line(screen: Screen, text: str, style: str = "") -> None:
    screen.out.print(Text(plain(text), style=style))


def _table(screen: Screen, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> None:
    """The first column is text, the others are numbers, of which no digit is cut off. No cell is read as markup."""
    padding = (0, 1) if screen.out.width >= _NARROW else 0
    table = Table(title=Text(plain(title), style="table.title"), caption=caption or None, padding=padding)
    for at, column in enumerate(columns):
        table.add_column(Text(plain(column)), justify="right" if at else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    screen.out.print(table)


# ---- tables -------------------------------------------------------------------------------------------------------------


def _summary(screen: Screen, found: Evaluation) -> None:
    arms = list(found.arms.values())
    rows = [(words, *cells) for words, cells in _rows(arms)]
    caption = (
        "Positive: pass. 95 % intervals: Wilson, Clopper-Pearson from sensitivity to NPV, by child a bootstrap "
        f"of {counted(found.arms[_MAIN].by_child.children, 'child', 'children')}"
    )
    mark = f" ({DEMONSTRATION})" if found.demonstration else ""
    _table(screen, f"Evaluation of {found.run}{mark}", ("", *found.arms), rows, caption)


def _rows(arms: Sequence[Arm]) -> Iterator[tuple[str, list[str]]]:
    yield "accuracy", [_estimate(a.accuracy) for a in arms]
    yield "  by child", [_estimate(a.by_child.accuracy) for a in arms]
    yield "  majority baseline", [number(a.overall.majority, 3) for a in arms]
    yield "  base rate of pass", [number(a.overall.base_rate, 3) for a in arms]
    yield "accuracy if decided", [_estimate(a.overall.accuracy_decided) for a in arms]
    yield "balanced accuracy", [_estimate(a.overall.balanced_accuracy) for a in arms]
    yield "sensitivity (pass)", [_estimate(a.overall.sensitivity) for a in arms]
    yield "specificity (fail)", [_estimate(a.overall.specificity) for a in arms]
    yield "PPV", [_estimate(a.overall.ppv) for a in arms]
    yield "NPV", [_estimate(a.overall.npv) for a in arms]
    yield "abstains, unrelated", [_estimate(a.abstention) for a in arms]
    yield "relevant", [_estimate(a.relevance) for a in arms]
    if any(a.truth for a in arms):
        yield "true of the clip", [_estimate(a.truth) if a.truth else "" for a in arms]
    yield "items, recall > 0.5", [f"{a.items_recall_above_half} of {a.items_with_passes}" for a in arms]
    yield "tokens a description", [number(a.length_tokens, 1) for a in arms]


def _counts(screen: Screen, arms: Mapping[ArmName, Arm]) -> None:
    rows = []
    for name, arm in arms.items():
        m = arm.overall.matrix
        rows.append((f"{name}, outcome pass", *map(str, (m.tp, m.fn, m.unable_pass, m.unscored_pass))))
        rows.append((f"{name}, outcome fail", *map(str, (m.fp, m.tn, m.unable_fail, m.unscored_fail))))
    _table(screen, "Decisions on matched pairs", ("", "pass", "fail", "unable", "unscored"), rows)


def _items(screen: Screen, arms: Mapping[ArmName, Arm]) -> None:
    """Recall and precision of an item in one cell, so that four arms fit."""
    codes = sorted({code for arm in arms.values() for code in arm.items})
    rows = []
    for code in codes:
        figures = [arm.items[code] for arm in arms.values()]
        m = figures[0].figures.matrix
        rows.append((code, f"{m.passed} + {m.failed}", *map(_recall_precision, figures)))
    caption = "n/a: no pair with outcome pass (recall), or none decided pass (precision)"
    _table(screen, "Recall / precision of pass by item", ("item", "pass + fail", *arms), rows, caption)


def _second(screen: Screen, arms: Mapping[ArmName, Arm], second: SecondJudge) -> None:
    rows = []
    for name, arm in second.arms.items():
        kappa = f"{arm.kappa:.2f}" if arm.kappa is not None else f"n/a: {arm.kappa_reason}"
        rows.append((name, _estimate(arm.agreement), kappa, _estimate(arm.accuracy), _estimate(arms[name].accuracy)))
    columns = ("", "same decision", "kappa", "accuracy by it", "by the first")
    _table(screen, f"The same descriptions, decided by {second.judge.id}", columns, rows)


def _groups(screen: Screen, arm: Arm) -> None:
    for name, groups in arm.strata.items():
        _table(screen, f"By {name}, {_MAIN}", ("", *_GROUP_COLUMNS), [(g, *_group(f)) for g, f in groups.items()])
    rows = [(code, sex, *_group(figures)) for code, item in arm.items.items() for sex, figures in item.by_sex.items()]
    _table(screen, f"Items by sex, {_MAIN}", ("item", "", *_GROUP_COLUMNS), rows)


_GROUP_COLUMNS = ("pass + fail", "accuracy", "majority", "recall", "precision")


def _group(f: Figures) -> tuple[str, ...]:
    m = f.matrix
    if not m.passed + m.failed:
        return ("0", f"n/a: {f.accuracy.reason}", "", "", "")
    shares = (number(f.majority, 2), number(f.sensitivity.value, 2), number(f.ppv.value, 2))
    return (f"{m.passed} + {m.failed}", _estimate(f.accuracy), *shares)


def _curves(screen: Screen, arm: Arm) -> None:
    steps = zip((None, *arm.coverage), arm.coverage, strict=False)
    shown = [c for before, c in steps if before is None or before.decided != c.decided]
    rows = [(f"{c.band:g}", str(c.decided), f"{c.coverage:.2f}", number(c.risk, 2)) for c in shown]
    columns = ("unsure band", "decided", "coverage", "wrong of these")
    _table(screen, f"Risk against coverage, {_MAIN}", columns, rows, "wider bands from which on fewer are decided")
    c = arm.calibration
    brier = f"Brier score {c.brier:.3f} of {counted(c.n, 'pair')}" if c.brier is not None else f"n/a: {c.reason}"
    bins = [b for b in c.bins if b.n]
    rows = [(f"{b.low:.1f} to {b.high:.1f}", str(b.n), f"{b.mean_probability:.2f}", f"{b.share_passed:.2f}") for b in bins]
    _table(screen, f"Calibration of p(met), {_MAIN}: {brier}", ("p(met)", "pairs", "mean", "passed"), rows)


# ---- sentences ----------------------------------------------------------------------------------------------------------


def _sentences(found: Evaluation) -> Iterator[str]:
    for comparison in found.comparisons:
        yield _compared(comparison)
    if found.ablation:
        a = found.ablation
        yield f"ablated: {a.run}, rewarded for {', '.join(a.terms)}; {_MAIN}: {', '.join(a.adapted_terms)}"
    yield _flow(found.flow)


def _compared(c: Comparison) -> str:
    if c.p is None:
        return f"{c.before} to {c.after}: {c.p_reason}"
    only = f"{counted(c.only_after, 'pair')} right only after, {c.only_before} only before"
    items = "".join(f"; {what}: {', '.join(i)}" for what, i in (("items gained", c.items_gained), ("lost", c.items_lost)) if i)
    return (
        f"{c.before} to {c.after}: accuracy {_change(c.difference)}, {only} of {c.n} (exact McNemar p = {_p(c.p)}); "
        f"abstention {_change(c.abstention_difference)}{items}"
    )


def _flow(f: Flow) -> str:
    """Where the rows went, in one line; what was decided stands in the table."""
    left = f"{f.no_outcome} without outcome and {counted(f.repeated, 'repeat')} left out"
    sides = f"{counted(f.records, 'record')}: {f.train} train, {f.validation} validation, {f.test} test"
    tested = f"{f.test_pairs} assessed, {f.unreadable_matched} unreadable"
    unrelated = (
        f"{counted(f.unrelated_pairs, 'unrelated pair')} assessed, {f.unreadable_pairs - f.unreadable_matched} unreadable"
    )
    return f"flow: {counted(f.rows, 'row')}, {left}; {sides}; of these {tested}; {unrelated}"


def _cautions(found: Evaluation) -> Iterator[str]:
    """What a reader should know before believing a number."""
    few = found.arms[_MAIN].overall.few
    if few:
        yield few
    by_child = found.arms[_MAIN].by_child
    if by_child.unnamed:
        yield f"{by_child.unnamed} clips name no child: whether some are of one child cannot be known"
    elif by_child.accuracy.low is None and by_child.accuracy.reason:
        yield f"no interval by child: {by_child.accuracy.reason}"
    if found.second_judge:
        yield from found.second_judge.warnings


# ---- numbers ------------------------------------------------------------------------------------------------------------


def _estimate(e: Estimate) -> str:
    """`0.833 (.55-.95)`; without an interval the value alone."""
    if e.value is None:
        return f"n/a: {e.reason}"
    short = lambda bound: f"{bound:.2f}".removeprefix("0")
    return f"{e.value:.3f}" if e.low is None else f"{e.value:.3f} ({short(e.low)}-{short(e.high)})"


def _change(e: Estimate) -> str:
    """`+0.167 (-0.05 to +0.38)`."""
    if e.value is None:
        return f"n/a ({e.reason})"
    return f"{e.value:+.3f}" if e.low is None else f"{e.value:+.3f} ({e.low:+.2f} to {e.high:+.2f})"


def _p(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1g}"


def _recall_precision(f: ItemFigures) -> str:
    return f"{number(f.recall, 2)} / {number(f.precision, 2)}"
