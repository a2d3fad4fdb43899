"""Groups of cases by sex, age and domain. Pure: cases in, groups of cases out.

A group that the cases could have but have not stands there empty, to be shown as without valid examples; what is not known of a
case puts it into the group `unknown`, which is there only when somebody is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import get_args

from srlite.evaluation.document import Case
from srlite.types import Item, Sex

UNKNOWN = "unknown"
_BAND_MONTHS = 12
"""Width of an age group where the items name no ages."""
Groups = Mapping[str, list[Case]]


def strata(cases: Sequence[Case], items: Sequence[Item]) -> dict[str, Groups]:
    """sex, age, domain -> group -> its cases. `items`: those that the records name."""
    return {"sex": by_sex(cases), "age": by_age(cases, items), "domain": by_domain(cases, items)}


def by_sex(cases: Sequence[Case]) -> Groups:
    return _grouped(cases, get_args(Sex), lambda case: case.sex)


def by_age(cases: Sequence[Case], items: Sequence[Item]) -> Groups:
    """By the child's age: the age of an item that it is nearest to (of two equally near, the younger). A child that is screened
    for the items of 18 months may be 17 months old, or 19. Bands of a year where no item has an age."""
    ages = sorted({item.age_months for item in items if item.age_months is not None})
    if ages:
        nearest = lambda age: min(ages, key=lambda known: (abs(known - age), known))
        return _grouped(cases, [_months(age) for age in ages], lambda c: _known(c.age_months, lambda a: _months(nearest(a))))
    bands = sorted({_band(c.age_months) for c in cases if c.age_months is not None})
    return _grouped(cases, [_band_name(b) for b in bands], lambda c: _known(c.age_months, lambda a: _band_name(_band(a))))


def by_domain(cases: Sequence[Case], items: Sequence[Item]) -> Groups:
    domains = {item.code: item.domain for item in items}
    return _grouped(cases, sorted({d for d in domains.values() if d}), lambda case: domains.get(case.item) or None)


def _grouped(cases: Sequence[Case], names: Sequence[str], group: Callable[[Case], str | None]) -> Groups:
    found: dict[str, list[Case]] = {name: [] for name in names}
    for case in cases:
        found.setdefault(group(case) or UNKNOWN, []).append(case)
    return found


def _known(age: float | None, name: Callable[[float], str]) -> str | None:
    return None if age is None else name(age)


def _months(age: int) -> str:
    return f"{age} months"


def _band(age: float) -> int:
    return int(age // _BAND_MONTHS) * _BAND_MONTHS


def _band_name(start: int) -> str:
    return f"{start} to {start + _BAND_MONTHS - 1} months"
