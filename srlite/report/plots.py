"""The figures of an evaluation, each with a sentence that says what is to be seen.

Contract: a figure that has nothing to show is None. Undefined values are left out of a line and marked "n/a" at a bar.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import fill

from srlite.escape import plain
from srlite.evaluation.document import Arm, Audit, Evaluation, Looked
from srlite.report.closer import CHANGE_WORDS
from srlite.report.drawing import BLACK, SKY, VERMILLION, drawn
from srlite.report.looks import Plot, around, legend_above, line, look, unit
from srlite.report.words import WRONG_WITHOUT, arm_words, main_arm

_SHORT = 14
"""Letters of an item's code that a figure has room for."""
_LABEL = 11
"""Letters in a line below a bar: four bars leave room for no more."""


def recall_plot(evaluation: Evaluation) -> Plot | None:
    """The paper's figure 2, on its side: bars for before training, markers for after. No line: items are no sequence."""
    shown = [name for name in ("base", "adapted") if name in evaluation.arms] or [main_arm(evaluation)]
    codes = list(evaluation.arms[shown[-1]].items)
    if not codes:
        return None

    def draw(figure) -> None:
        axes = figure.subplots()
        at = range(len(codes))
        for name in shown:
            recalls = [_recall(evaluation.arms[name], code) for code in codes]
            style = look(name)
            if name == "adapted":
                axes.plot(recalls, at, "D", color=style.colour, label=arm_words(name))
            else:
                zero = [0 if math.isnan(r) else r for r in recalls]
                axes.barh(at, zero, 0.66, color=style.colour, edgecolor=BLACK, hatch=style.hatch, label=arm_words(name))
        for y, code in enumerate(codes):
            if all(math.isnan(_recall(evaluation.arms[name], code)) for name in shown):
                axes.text(0.01, y, "n/a", va="center")
        axes.axvline(0.5, color=BLACK, linestyle=":", linewidth=1)
        axes.set_yticks(list(at), [_short(code) for code in codes])
        axes.set_ylim(len(codes) - 0.4, -0.6)
        unit(axes, "x")
        axes.set_xlabel("recall: share of the passes that were found")
        legend_above(axes, 2)

    words = "Each item's recall of pass. Dotted line: one half. n/a: the clinician found no pass of that item in the test part."
    return Plot("recall", "Recall by item, before and after training", drawn("recall", 84 + 19 * len(codes), draw), words)


def _recall(arm: Arm, code: str) -> float:
    found = arm.items.get(code)
    return math.nan if found is None or found.recall is None else found.recall


def _short(code: str) -> str:
    code = plain(code).replace("\n", " ")
    return code if len(code) <= _SHORT else code[: _SHORT - 1] + "…"


def accuracy_plot(evaluation: Evaluation) -> Plot | None:
    """A bar for each arm with its interval, and the majority baseline."""
    known = {name: arm for name, arm in evaluation.arms.items() if arm.accuracy.value is not None}
    if not known:
        return None
    majority = next(iter(known.values())).overall.majority

    def draw(figure) -> None:
        axes = figure.subplots()
        for at, (name, arm) in enumerate(known.items()):
            accuracy, style = arm.accuracy, look(name)
            axes.bar(at, accuracy.value, 0.6, color=style.colour, edgecolor=BLACK, hatch=style.hatch)
            if errors := around(accuracy):
                axes.errorbar(at, accuracy.value, yerr=errors, color=BLACK, capsize=5)
        if majority is not None:
            axes.axhline(majority, color=BLACK, linestyle="--", label="always the commoner outcome")
            legend_above(axes, 1)
        ticks = [f"{fill(arm_words(name), _LABEL)}\n{arm.accuracy.value:.2f}" for name, arm in known.items()]
        axes.set_xticks(range(len(known)), ticks)
        axes.set_xlim(-0.6, len(known) - 0.4)
        unit(axes, "y")
        axes.set_ylabel("accuracy")

    words = (
        "Share of test pairs whose decision was the clinician's, with 95% intervals. "
        f"{WRONG_WITHOUT[0].upper()}{WRONG_WITHOUT[1:]}."
    )
    return Plot("accuracy", "Accuracy", drawn("accuracy", 270, draw), words)


def coverage_plot(evaluation: Evaluation) -> Plot | None:
    """Risk against coverage as the unsure band widens."""
    if not any(c.risk is not None for arm in evaluation.arms.values() for c in arm.coverage):
        return None

    def draw(figure) -> None:
        axes = figure.subplots()
        for name, arm in evaluation.arms.items():
            known = [c for c in arm.coverage if c.risk is not None]
            line(axes, [c.coverage for c in known], [c.risk for c in known], look(name), arm_words(name))
        unit(axes, "x")
        axes.set_ylim(bottom=-0.02)
        axes.set_xlabel("coverage: share of pairs that are decided")
        axes.set_ylabel("risk: share of these wrong")
        legend_above(axes, 1)

    words = "Leaving undecided what the judge is unsure of: towards the left less is decided, and the line should fall."
    return Plot("coverage", "Risk against coverage", drawn("coverage", 220 + 18 * len(evaluation.arms), draw), words)


def reliability_plot(evaluation: Evaluation) -> Plot | None:
    """The judge's probability of pass beside the share that passed."""
    if not any(b.n for arm in evaluation.arms.values() for b in arm.calibration.bins):
        return None

    def draw(figure) -> None:
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color=BLACK, linestyle=":", linewidth=0.9, label="as it should be")
        for name, arm in evaluation.arms.items():
            bins = [b for b in arm.calibration.bins if b.share_passed is not None]
            line(axes, [b.mean_probability for b in bins], [b.share_passed for b in bins], look(name), arm_words(name))
        unit(axes, "x", "y")
        axes.set_xlabel("the judge's probability of pass")
        axes.set_ylabel("share that passed")
        legend_above(axes, 1)

    words = (
        "On the dotted black line the judge's probability could be taken at its word. "
        "The table says how many pairs a point stands for."
    )
    return Plot(
        "reliability",
        "Is the judge's probability to be trusted?",
        drawn("reliability", 268 + 18 * len(evaluation.arms), draw),
        words,
    )


def audit_plot(audit: Audit) -> Plot | None:
    """How often description and decision change with the clip, for each arm."""
    if not any(arm.looked for arm in audit.arms.values()):
        return None

    def draw(figure) -> None:
        panels = figure.subplots(len(audit.arms), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (name, arm) in zip(panels, audit.arms.items(), strict=True):
            _changes(axes, arm.looked)
            axes.set_title(arm_words(name), loc="left", fontsize=11.5)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
        panels[-1].set_xlabel("share of pairs")

    rows = sum(len(arm.looked) for arm in audit.arms.values())
    words = "A descriptor that looks changes what it says when it is shown something else. With 95% intervals."
    return Plot(
        "audit", "What changes when the clip changes", drawn("audit", 70 + 34 * rows + 24 * len(audit.arms), draw), words
    )


def _changes(axes, looked: Sequence[Looked]) -> None:
    kinds = (("description_changed", SKY, "////", -0.2), ("decision_changed", VERMILLION, "", 0.2))
    for field, colour, hatch, shift in kinds:
        found = [getattr(entry, field) for entry in looked]
        at, values = [y + shift for y in range(len(found))], [e.value or 0 for e in found]
        axes.barh(at, values, 0.36, color=colour, edgecolor=BLACK, hatch=hatch, label=field.replace("_", " "))
        for y, e in zip(at, found, strict=True):
            if e.value is None:
                axes.text(0.01, y, "n/a", va="center", fontsize=10.5)
            elif errors := around(e):
                axes.errorbar(e.value, y, xerr=errors, color=BLACK, capsize=2, linewidth=1)
    axes.set_yticks(range(len(looked)), [CHANGE_WORDS[entry.change] for entry in looked])
    axes.set_ylim(len(looked) - 0.4, -0.6)
    unit(axes, "x")
