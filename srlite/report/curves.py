"""The training curves: what metrics.jsonl says, slice by slice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from srlite.report.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, VERMILLION, drawn
from srlite.report.looks import Look, Plot, legend_above, line, unit

Metrics = Sequence[Mapping[str, object]]

_REWARDS = (
    ("outcome", Look(BLUE, "", "-", "o")),
    ("unrelated", Look(VERMILLION, "", "--", "s")),
    ("relevance", Look(GREEN, "", "-.", "^")),
    ("quality", Look(ORANGE, "", ":", "D")),
)
_ABSTENTION = (
    ("abstention_matched", "matched pairs", Look(BLUE, "", "-", "o")),
    ("abstention_mismatched", "mismatched pairs", Look(VERMILLION, "", "--", "s")),
)


def training_plot(metrics: Metrics) -> Plot | None:
    """Rewards by part, abstention, and validation, slice by slice."""
    slices = [m for m in metrics if "pairs" in m]
    if not slices:
        return None
    place = {(m["round"], m["slice"]): at for at, m in enumerate(slices, start=1)}
    scores = [(place[m["round"], m["slice"]], m) for m in metrics if "validation" in m and (m["round"], m["slice"]) in place]

    def draw(figure) -> None:
        rewards, abstention, validation = figure.subplots(3, 1, sharex=True)
        for name, style in _REWARDS:
            _line(rewards, slices, name, name, style)
        for name, words, style in _ABSTENTION:
            _line(abstention, slices, name, words, style)
        if not scores:
            validation.text(1, 0.5, "no score yet")
        else:
            values, errors = [m["validation"] for _, m in scores], [m.get("validation_error", 0.0) for _, m in scores]
            at = [x for x, _ in scores]
            validation.errorbar(at, values, yerr=errors, fmt="D-", color=BLACK, capsize=3, label="score, standard error")
        for axes, title in ((rewards, "Reward"), (abstention, "Abstention"), (validation, "Validation")):
            unit(axes, "y")
            axes.set_ylabel(title)
            for x in [at for at, m in enumerate(slices, start=1) if m["slice"] == 1][1:]:
                axes.axvline(x - 0.5, color=GREY, linewidth=0.8)
            if axes.get_legend_handles_labels()[0]:
                legend_above(axes, 4)
        validation.set_xlabel("slice (vertical lines: a new round)")
        validation.set_xlim(0.5, len(slices) + 0.5)
        validation.xaxis.get_major_locator().set_params(
            integer=True, min_n_ticks=1
        )  # of one slice, two ticks would be fractions

    words = (
        "Above: each part of the reward, the mean over the descriptions of a slice. Middle: how often a description declines "
        "to assess; it should rise for mismatched pairs and not for matched ones. Below: the validation children, who choose "
        "the adapter."
    )
    return Plot("training", "Slice by slice", drawn("training", 400, draw), words)


def _line(axes, slices: Metrics, name: str, words: str, style: Look) -> None:
    values = [math.nan if m.get(name) is None else m[name] for m in slices]
    every = max(1, len(slices) // 12)
    line(axes, range(1, len(slices) + 1), values, style, words, markevery=every)
