"""The machinery of every page: templates, escaping, and the policy that keeps a page to itself.

Contract: a page is one file. Its content-security policy lets it load nothing from anywhere: its one style sheet and its one
script are named by their hashes, pictures are inside. Every value that a template prints goes through `escape.plain` and is
escaped; only what this room made itself (figures) is markup.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from srlite.escape import plain
from srlite.notices import NOT_A_DEVICE
from srlite.report import numbers, words

_HERE = Path(__file__).parent


def render(template: str, *, script: str = "", **values: object) -> str:
    """The page. `script`: the name of a file of this room, or none."""
    style, code = _text("style.css"), _text(script) if script else ""
    return (
        _environment()
        .get_template(template)
        .render(
            style=Markup(style),
            script=Markup(code),
            policy=Markup(policy(style, code)),
            not_a_device=NOT_A_DEVICE,
            **values,
        )
    )


def policy(style: str, script: str) -> str:
    """The content-security policy of a page with this style sheet and this script ("" for none)."""
    scripts = _hash(script) if script else "'none'"
    own = f"style-src {_hash(style)}; script-src {scripts}; img-src data:"
    return f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printed,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {"seconds": numbers.seconds, "percent": numbers.percent, "arm_words": words.arm_words}
    made.globals |= {"DECISION_WORDS": words.DECISION_WORDS, "DEMONSTRATION": words.DEMONSTRATION}
    return made


def _printed(value: object) -> object:
    """Every value on its way into a page."""
    if value is None:
        return "n/a"
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return plain(value)
