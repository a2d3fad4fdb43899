"""Figures as they are printed. Undefined is "n/a" with the reason, never 0.

In sentences and in tables they differ:
    sentences   percentages: 76% (95% interval 67% to 83%)
    tables      shares of one: 0.76 (0.67 to 0.83)
"""

from __future__ import annotations

from collections.abc import Callable

from srlite.evaluation.document import Estimate


def percent(share: float) -> str:
    """Whole percents; a decimal where rounding would say all or none of what is neither."""
    if share in (0, 1) or 0.01 <= abs(share) <= 0.99:
        return f"{share:.0%}"
    if abs(share) < 0.0005:
        return "under 0.1%"
    return "over 99.9%" if 0.9995 <= share < 1 else f"{share:.1%}"


def points(difference: float) -> str:
    """A difference of shares, in percentage points."""
    return f"{100 * difference:+.0f}"


def in_words(estimate: Estimate) -> str:
    return _printed(estimate, percent, "{} (95% interval {} to {})")


def in_table(estimate: Estimate) -> str:
    return _printed(estimate, decimal, "{} ({} to {})")


def _printed(e: Estimate, number: Callable[[float], str], whole: str) -> str:
    """whole: how value, lower and upper bound stand together."""
    if e.value is None:
        return undefined(e.reason)
    if e.low is None or e.high is None:
        return number(e.value)
    return whole.format(*map(number, (e.value, e.low, e.high)))


def undefined(reason: str | None) -> str:
    return f"n/a: {reason}" if reason else "n/a"


def decimal(value: float | None, digits: int = 2) -> str:
    return "n/a" if value is None else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 2) -> str:
    return "n/a" if value is None else f"{value:+.{digits}f}"


def p_value(p: float | None) -> str:
    if p is None:
        return "no test"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def seconds(value: float) -> str:
    return f"{value:.1f} s"


def counted(n: int, noun: str, plural: str | None = None) -> str:
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"
