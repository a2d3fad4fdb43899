"""The fixed tables: which spellings of headings, outcomes, sexes, domains and sides are known.

A spelling outside its table is refused by the callers, never guessed. `plain` trims what cannot be seen,
`child_key` says when two child ids are the same child, `item_damage` and `child_damage` recognise what a
spreadsheet made of an id.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from srlite.types import Outcome, Sex

REQUIRED = ("video", "item", "outcome")
OPTIONAL = (
    "child",
    "sex",
    "age_months",
    "site",
    "split",
    "description",
    "name",
    "criterion",
    "guidance",
    "domain",
)
DOMAINS = ("gross motor", "fine motor", "language", "personal-social", "adaptive")
SIDES = ("train", "validation", "test")


def _table(**spellings: str) -> Mapping[str, Any]:
    """`_table(target="a|b")` -> {"a": "target", "b": "target"}, read-only."""
    return MappingProxyType({word: target for target, words in spellings.items() for word in words.split("|")})


HEADINGS: Mapping[str, str] = MappingProxyType(
    {name: name for name in (*REQUIRED, *OPTIONAL)}
    | dict(
        _table(
            video="视频",
            item="项目",
            outcome="结果",
            child="儿童|儿童编号",
            sex="性别",
            age_months="月龄",
            site="机构|地点",
            split="划分",
            description="描述",
            name="名称|项目名称",
            criterion="标准|通过标准",
            guidance="指导语|拍摄要求",
            domain="领域|能区",
        )
    )
)

_PASS = "pass|passed|yes|y|true|t|1|1.0|是|有|能|对|通过|合格|√|✓"
_FAIL = "fail|failed|no|n|false|f|0|0.0|否|无|没有|不能|不是|未通过|不通过|不合格|×|✗"

OUTCOMES: Mapping[str, Outcome] = _table(**{"pass": _PASS, "fail": _FAIL})
ANSWERS: Mapping[str, str] = _table(yes=_PASS, no=_FAIL)
"""A person's answers to the judge's questions."""
SEXES: Mapping[str, Sex] = _table(female="female|f|girl|女|女孩|女童", male="male|m|boy|男|男孩|男童")

_DOMAIN_WORDS: Mapping[str, str] = MappingProxyType(
    {domain.replace("-", " "): domain for domain in DOMAINS}
    | {
        "大运动": "gross motor",
        "精细动作": "fine motor",
        "语言": "language",
        "社会行为": "personal-social",
        "个人社交": "personal-social",
        "适应能力": "adaptive",
        "适应性": "adaptive",
    }
)

_SIDE_WORDS: Mapping[str, str] = _table(
    train="train|training|训练", validation="validation|valid|val|dev|验证", test="test|testing|测试"
)

# Zero-width and direction marks, soft hyphen and the byte-order mark: str.strip() leaves these in place.
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_EDGE = re.compile(rf"^[\s{_INVISIBLE}]+|[\s{_INVISIBLE}]+$")


def plain(cell: str) -> str:
    """The cell without white space (no-break space too) and invisible marks at its ends."""
    return _EDGE.sub("", cell)


def word(cell: str) -> str:
    """For looking up in a table: trimmed, full-width letters and digits made plain, case folded."""
    # Not NFKC, which would also make a 1 of an encircled one or a raised one.
    return plain(cell).translate(_FULL_WIDTH).casefold()


def domain_of(cell: str) -> str | None:
    """The domain in its one spelling, or None when it is unknown."""
    return _DOMAIN_WORDS.get(re.sub(r"[\s_-]+", " ", word(cell)))


def side_of(cell: str) -> str | None:
    """ "train", "validation" or "test", or None when it is unknown."""
    return _SIDE_WORDS.get(word(cell))


@lru_cache(65536)  # asked of the same few thousand ids again and again
def child_key(child: str) -> str:
    """Two ids with the same key are the same child: ` C1`, `c1` and `C1`. But 007 and 7 are two children."""
    return unicodedata.normalize("NFC", child.strip()).casefold()


def likeness(child: str) -> str:
    """Two ids with the same likeness may be one child written twice: 007 and 7, full-width 12 and 12, C-1 and
    C1."""
    text = unicodedata.normalize("NFKC", child).casefold()
    kept = "".join(c for c in text if c.isalnum())
    return re.sub(r"(?<!\d)0+(?=\d)", "", kept)


_MONTH = (
    "jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec|mär|mrz|mai|okt|dez|janv|févr|fév|mars|avr|juin|juil|"
    "août|déc|ene|abr|ago|set|dic"
)
_DAMAGE = (
    (
        "a date",
        re.compile(
            rf"\d{{1,4}}[-. /]{{1,2}}({_MONTH})\.?([-. /]\d{{2,4}})?"
            rf"|({_MONTH})\.?[-. /]{{1,2}}\d{{1,4}}"
            r"|\d{1,2}月(\d{1,2}日)?|\d{4}年\d{1,2}月(\d{1,2}日)?",
            re.IGNORECASE,
        ),
    ),
    ("a date", re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}( .*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d\d)( .*)?")),
    ("a time of day", re.compile(r"\d{1,2}:\d{2}(:\d{2})?")),
    ("a number in scientific form", re.compile(r"[+-]?\d([.,]\d+)?E[+-]\d{2,3}")),
    ("a cell too narrow or an error of a formula", re.compile(r"#+|#[A-Z/0]+[!?]?")),
)
_DECIMAL = re.compile(r"\d+[.,]\d+")
_SERIAL = re.compile(r"[345]\d{4}")


def item_damage(code: str) -> str | None:
    """What a spreadsheet seems to have made of this item code, in words; None when it looks whole.

    Only for codes that no catalogue knows. A five-figure number from 30000 to 59999 is what a date of the
    years 1982 to 2064 is inside a spreadsheet; 12.1 may have been 12.10.
    """
    if _SERIAL.fullmatch(code):
        return "the serial number of a date"
    if _DECIMAL.fullmatch(code):
        return "a decimal number"
    return next((name for name, pattern in _DAMAGE if pattern.fullmatch(code)), None)


def child_damage(child: str) -> str | None:
    """The same for a child's id, where decimals and five-figure numbers are left alone: clinics use them."""
    return next((name for name, pattern in _DAMAGE if pattern.fullmatch(child)), None)
