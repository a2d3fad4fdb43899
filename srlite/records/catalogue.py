"""The catalogue: which screening items there are, and their texts.

A catalogue comes from a TOML file (`[items.30_1]` tables), from item text in the rows of items.csv, or from
both; `merge` joins them and lets no two texts of one item stand side by side. Codes are text throughout: a
TOML key is text even without quotes, and `related = [30_1]` (which TOML reads as the number 301) is refused.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from srlite.errors import InputError
from srlite.files import write_private
from srlite.records.problems import Problems
from srlite.records.spellings import DOMAINS, domain_of
from srlite.types import Item

_NEAREST = 3
_ROW_FIELDS = ("name", "criterion", "guidance", "domain")


_Text = Annotated[str, Field(min_length=1, pattern=r"\S")]


class _Entry(BaseModel):
    """One table of the file. Strict: 30 is no text and "30" no number; a key that is not here is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: _Text
    criterion: _Text
    guidance: str = ""
    evidence: str = ""
    age_months: Annotated[int, Field(ge=0, le=240)] | None = None
    domain: str = ""
    temporal: bool = False
    directed: bool = False
    duration_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    needs_audio: bool = False
    related: list[_Text] = []
    paraphrases: list[_Text] = []


@dataclass(frozen=True)
class Catalogue:
    """Code -> Item, in the order given. `get` and `[...]` raise InputError for an unknown code."""

    entries: tuple[Item, ...]
    _by_code: dict[str, Item] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_code = {item.code: item for item in self.entries}
        if len(by_code) < len(self.entries):
            twice = sorted({item.code for item in self.entries if by_code[item.code] is not item})
            raise InputError(f"item {', '.join(twice)} stands twice in the catalogue", remedy="Remove one of them.")
        object.__setattr__(self, "_by_code", by_code)

    def get(self, code: str) -> Item:
        if code in self._by_code:
            return self._by_code[code]
        raise InputError(f"there is no item {code!r} in the catalogue", remedy=self.nearest(code))

    def nearest(self, code: str) -> str:
        """A sentence with the codes that look most like this one."""
        if not self.entries:
            return "The catalogue is empty."
        near = difflib.get_close_matches(code, self._by_code, n=_NEAREST, cutoff=0.5)
        if near:
            return f"Did you mean {' or '.join(near)}?"
        known = list(self._by_code)
        return f"Known items: {', '.join(known[:12])}{' ...' if len(known) > 12 else ''}"

    def __getitem__(self, code: str) -> Item:
        return self.get(code)

    def __contains__(self, code: object) -> bool:
        return code in self._by_code

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_code)

    def __len__(self) -> int:
        return len(self.entries)

    def keys(self) -> Iterable[str]:
        return self._by_code.keys()

    def values(self) -> Iterable[Item]:
        return self._by_code.values()

    def items(self) -> Iterable[tuple[str, Item]]:
        return self._by_code.items()


@dataclass(frozen=True, slots=True)
class ItemText:
    """An item's own text as one row of items.csv gives it; "" where the row says nothing."""

    code: str
    line: int
    name: str = ""
    criterion: str = ""
    guidance: str = ""
    domain: str = ""


def read_catalogue(path: Path) -> Catalogue:
    """Reads a TOML catalogue. Raises InputError with everything that is wrong in the file."""
    tables = _tables(path)
    problems = Problems(str(path))
    items = [item for code, table in tables.items() if (item := _item(code, table, problems))]
    problems.raise_if_any()
    return Catalogue(tuple(items))


def write_catalogue(catalogue: Catalogue, path: Path) -> None:
    """Writes what `read_catalogue` reads back as the same catalogue (mode 0600). Raises DeviceError."""
    write_private(path, tomli_w.dumps({"items": {code: _table(item) for code, item in catalogue.items()}}))


def merge(catalogue: Catalogue, texts: Sequence[ItemText], problems: Problems) -> Catalogue:
    """The catalogue with the item texts of the rows added.

    A row may repeat what is known or fill what the catalogue leaves empty; anything else is a conflict.
    Conflicts, unknown domains and items without name or criterion go to `problems`, each named with its
    lines.
    """
    by_code: dict[str, list[ItemText]] = {}
    for text in texts:
        by_code.setdefault(text.code, []).append(text)
    merged = {item.code: item for item in catalogue.values()}
    for code, rows in by_code.items():
        if item := _merged(merged.get(code), rows, problems):
            merged[code] = item
    return Catalogue(tuple(merged.values()))


def dangling(catalogue: Catalogue) -> tuple[str, ...]:
    """Notes on `related` codes that no item has: a slip of the pen there lets related items be paired."""
    return tuple(
        f"item {item.code}: related names {', '.join(unknown)}, which the catalogue does not have"
        for item in catalogue.values()
        if (unknown := [code for code in item.related if code not in catalogue])
    )


def _tables(path: Path) -> dict[str, object]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"the catalogue cannot be read: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise InputError("the catalogue is not UTF-8 text", where=str(path), remedy="Save it as UTF-8.") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not valid TOML: {error}", where=str(path)) from error
    others = sorted(document.keys() - {"items"})
    tables = document.get("items")
    if others or not isinstance(tables, dict):
        found = f"unknown key {', '.join(others)}" if others else "no [items.CODE] table"
        raise InputError(found, where=str(path), remedy='A catalogue holds tables such as [items."30_1"], nothing else.')
    return tables


def _item(code: str, table: object, problems: Problems) -> Item | None:
    before = len(problems)
    if not code or code != code.strip() or not code.isprintable():
        problems.add(0, None, f"item {code!r}: a code is visible text without spaces around it")
    entry = _validated(code, table, problems)
    domain = entry.get("domain", "")
    known = domain_of(domain) if domain else ""
    if known is None:
        problems.add(0, None, f"item {code}: unknown domain {domain!r}", remedy=_domains())
    return Item(code=code, **(entry | {"domain": known})) if len(problems) == before else None


def _validated(code: str, table: object, problems: Problems) -> dict[str, object]:
    """The table's values by field; what does not fit goes to `problems`, named by key."""
    try:
        entry = _Entry.model_validate(table)
    except ValidationError as error:
        for fault in error.errors():
            problems.add(0, None, f"item {code}: {_fault(fault)}", remedy=_remedy(fault))
        return {}
    values = entry.model_dump(exclude_unset=True)
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}


def _fault(fault: dict) -> str:
    key = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        return f"unknown key {key}"
    if fault["type"] == "missing":
        return f"{key} is missing"
    return f"{key}: {fault['msg'][:1].lower()}{fault['msg'][1:]}, found {fault['input']!r}".lstrip(": ")


def _remedy(fault: dict) -> str | None:
    if fault["type"] == "extra_forbidden":
        nested = isinstance(fault["input"], dict)
        keys = ", ".join(f.name for f in fields(Item) if f.name != "code")
        return 'A code with a dot needs quotes: [items."12.1"].' if nested else f"Known keys: {keys}."
    if fault["type"] == "string_type":
        return 'Text stands in quotes: related = ["30_1"]; without them TOML reads 30_1 as the number 301.'
    return None


def _merged(known: Item | None, rows: Sequence[ItemText], problems: Problems) -> Item | None:
    before = len(problems)
    found = {name: _one(known, name, rows, problems) for name in _ROW_FIELDS}
    if known is None:
        if missing := [name for name in ("name", "criterion") if not found[name]]:
            said = f"item {rows[0].code} has no {' and no '.join(missing)}"
            problems.add(rows[0].line, None, said, remedy=where_to_put(rows[0].code))
        known = Item(code=rows[0].code, name="", criterion="")
    return replace(known, **found) if len(problems) == before else None


def _one(known: Item | None, name: str, rows: Sequence[ItemText], problems: Problems) -> str:
    """The one text of a field; the first of several when they conflict."""
    texts: dict[str, int] = {}
    for row in rows:
        if text := getattr(row, name):
            texts.setdefault(_same(name, text, row.line, problems), row.line)
    first = getattr(known, name) if known else ""
    source = "the catalogue" if first else ""
    for text, line in texts.items():
        if first and " ".join(text.split()) != " ".join(first.split()):
            said = f"item {rows[0].code}: {text!r}, but {source} has {first!r}"
            problems.add(line, name, said, remedy="An item has one text: make them alike, or keep only one of them.")
        first, source = first or text, source or f"line {line}"
    return first


def _same(name: str, text: str, line: int, problems: Problems) -> str:
    if name != "domain":
        return text
    known = domain_of(text)
    if known is None:
        problems.add(line, name, f"unknown domain {text!r}", remedy=_domains())
    return known or text


def where_to_put(code: str) -> str:
    """The remedy for an item without text."""
    key = json.dumps(code, ensure_ascii=False)
    return (
        "Put the item's text into the columns name and criterion of its rows, or into a table "
        f"[items.{key}] with name and criterion in a file given by --catalogue."
    )


def _domains() -> str:
    return f"Known domains: {', '.join(DOMAINS)}."


def _table(item: Item) -> dict[str, object]:
    """The item's fields as TOML values, without the code and without what is at its default."""
    given = {f.name: getattr(item, f.name) for f in fields(item) if f.name != "code"}
    defaults = {f.name: f.default for f in fields(item)}
    kept = {name: v for name, v in given.items() if name in ("name", "criterion") or v != defaults[name]}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in kept.items()}
