"""What the figures of a report have in common: how an arm looks, and the sides of a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from srlite.evaluation.document import Estimate
from srlite.report.drawing import GREEN, GREY, PURPLE, SKY, VERMILLION


@dataclass(frozen=True, slots=True)
class Plot:
    """`svg` is markup, made of escaped text; `words` is its caption."""

    name: str
    title: str
    svg: str
    words: str


@dataclass(frozen=True, slots=True)
class Look:
    """How an arm looks in every figure: colour, hatching of a bar, dashes and marker of a line."""

    colour: str
    hatch: str
    dash: str
    marker: str


_LOOKS = {
    "generic": Look(GREY, "...", ":", "s"),
    "base": Look(SKY, "////", "--", "o"),
    "ablated": Look(GREEN, "xx", "-.", "^"),
    "adapted": Look(VERMILLION, "", "-", "D"),
}
_OTHER = Look(PURPLE, "++", "-.", "v")


def look(arm: str) -> Look:
    return _LOOKS.get(arm, _OTHER)


def line(axes, across: Sequence[float], up: Sequence[float], style: Look, words: str, *, markevery: int = 1) -> None:
    axes.plot(across, up, color=style.colour, linestyle=style.dash, marker=style.marker, markevery=markevery, label=words)


def around(e: Estimate) -> list[list[float]] | None:
    """An interval as matplotlib's errors, below and above the value; None where there is none."""
    if e.value is None or e.low is None or e.high is None:
        return None
    return [[max(0, e.value - e.low)], [max(0, e.high - e.value)]]


def unit(axes, *sides: str) -> None:
    """Shares go from 0 to 1, with room for a marker."""
    for side in sides:
        getattr(axes, f"set_{side}lim")(-0.04, 1.04)
        getattr(axes, f"set_{side}ticks")([0, 0.25, 0.5, 0.75, 1])


def legend_above(axes, columns: int) -> None:
    axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 0.98), ncols=columns, columnspacing=0.9)
