"""Does a paraphrase keep what a machine can see of a criterion: its numbers, units, negations and directions?

Contract: pure text, no model; English and Chinese. What is said here is a reason to refuse a paraphrase, never a proof that
it means the same: that is put to a judge (srlite/diversifying.py).
"""

from __future__ import annotations

import re
import unicodedata

from srlite.types import Item

_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {word: float(n) for n, word in enumerate(_WORDS, start=2)} | {"twice": 2.0, "thrice": 3.0}
_NUMBERS |= dict(zip("二两三四五六七八九十", (2.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0), strict=True))
_UNITS = {
    "second": r"seconds?|secs?|s|秒",
    "minute": r"minutes?|mins?|分钟",
    "centimetre": r"centimet(?:re|er)s?|cm|厘米",
    "metre": r"met(?:re|er)s?|m|米",
    "inch": r"inch(?:es)?|英寸",
    "step": r"steps?|步",
    "word": r"words?|词",
}
_ANY_UNIT = "|".join(_UNITS.values())
_AMOUNT = r"(?:\d|\b(?:one|single|{})\b|[一{}])".format(
    "|".join(w for w in _NUMBERS if w.isascii()), "".join(w for w in _NUMBERS if not w.isascii())
)
_NEGATIONS = re.compile(r"\b(?:no|not|never|without|nothing|none|neither|nor|cannot)\b|n't\b|n’t\b|[不没無无未]")
_OPPOSITES = (
    ("backwards?", "forwards?"),
    ("left", "right"),
    ("up", "down"),
    ("push(?:es|ing)?", "pull(?:s|ing)?"),
    ("open(?:s|ing)?", "clos(?:e|es|ing)"),
    ("at least", "at most"),
    ("belly", "back"),
    ("后退|倒走", "向前|前进"),
    ("左", "右"),
)
_SHORTEST_WORDS, _LONGEST_WORDS = 5, 60
"""Characters, in Chinese."""


def losses(item: Item, paraphrase: str) -> tuple[str, ...]:
    """What the paraphrase changes, in words; empty when nothing was found."""
    known = " ".join((item.name, item.criterion, item.guidance, item.evidence))
    found = _shape(paraphrase)
    wanted, said, allowed = _numbers(item.criterion), _numbers(paraphrase), _numbers(known)
    found += [f"it loses the number {n:g}" for n in sorted(wanted - said)]
    found += [f"it brings in the number {n:g}" for n in sorted(said - allowed)]
    found += [f"it loses the unit {u}" for u in sorted(_units(item.criterion) - _named(paraphrase))]
    found += [f"it brings in the unit {u}" for u in sorted(_units(paraphrase) - _units(known))]
    if _negates(f"{item.name}. {item.criterion}") != _negates(paraphrase):
        found.append("it adds or loses a negation")
    return (*found, *_turned(known, paraphrase))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _shape(text: str) -> list[str]:
    words = len(text) if re.search("[\u3400-\u9fff]", text) else len(text.split())  # Chinese has no spaces between words
    found = [] if _SHORTEST_WORDS <= words <= _LONGEST_WORDS else [f"it has {words} words"]
    return found + (["it holds a line break or a chat marker"] if re.search(r"[\n\r]|<\|", text) else [])


def _numbers(text: str) -> set[float]:
    """One, as a word, counts nothing in "one hand to the other": in front of a unit only it is a number."""
    plain = _plain(text)
    digits = {float(n.replace(",", ".")) for n in re.findall(r"\d+(?:[.,]\d+)?", plain)}
    words = {n for word, n in _NUMBERS.items() if re.search(_whole(word), plain)}
    one = re.search(rf"\b(?:one|a single)\b(?= (?:{_ANY_UNIT})\b)|一(?={_ANY_UNIT})", plain)
    return digits | words | ({1.0} if one else set())


def _units(text: str) -> set[str]:
    """Units that stand behind a number, at most three words in between ("two or more steps")."""
    plain = _plain(text)
    near = rf"{_AMOUNT}\s*(?:\w+\s){{0,3}}(?:"
    return {unit for unit, spelled in _UNITS.items() if re.search(rf"{near}{spelled})(?![a-z])", plain)}


def _named(text: str) -> set[str]:
    """Units that are spelled out anywhere, and those behind a number: "steps backward twice" counts steps."""
    plain = _plain(text)
    return _units(text) | {unit for unit in _UNITS if re.search(rf"(?<![a-z])(?:{unit}s?)(?![a-z])", plain)}


def _negates(text: str) -> bool:
    """What stands in quotes is a thing that somebody says."""
    return bool(_NEGATIONS.search(re.sub(r'"[^"]*"|“[^”]*”', " ", _plain(text))))


def _whole(words: str) -> str:
    """A pattern for whole words."""
    return rf"\b(?:{words})\b" if words.isascii() else words


def _turned(known: str, paraphrase: str) -> list[str]:
    """Opposites of what the item says."""
    known, plain, found = _plain(known), _plain(paraphrase), []
    for pair in _OPPOSITES:
        for here, there in (pair, pair[::-1]):
            said, turned = re.search(_whole(here), known), re.search(_whole(there), plain)
            if said and turned and not re.search(_whole(there), known):
                found.append(f"it says {turned[0]!r}, where the item says {said[0]!r}")
    return found
