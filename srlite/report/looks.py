"""What the figures of a report have in common: how an arm looks, and the sides of a plot."""

from __future__ import annotations

from dataclasses import dataclass

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


def unit(axes, *sides: str) -> None:
    """Shares go from 0 to 1, with room for a marker."""
    for side in sides:
        getattr(axes, f"set_{side}lim")(-0.04, 1.04)
        getattr(axes, f"set_{side}ticks")([0, 0.25, 0.5, 0.75, 1])


def legend_above(axes, columns: int) -> None:
    axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 0.98), ncols=columns, columnspacing=0.9)
