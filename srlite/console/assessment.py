"""What `srlite assess` shows: a panel for each clip, and how many came out how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from srlite.console import Screen, counted, mark
from srlite.escape import plain
from srlite.notices import NOT_A_DEVICE

_COLOUR = {"pass": "green", "fail": "red", "unable_to_assess": "yellow", None: "magenta"}
_WORDS = {
    "pass": "pass",
    "fail": "fail",
    "unable_to_assess": "unable to assess",
    None: "no decision (unscored)",
}
_QUESTION_WORDS = {
    "evidence": "enough evidence",
    "met": "criterion met",
    "relevant": "about the item",
    "well_formed": "well formed",
    "abstains": "declines to assess",
    "echo": "only echoes the criterion",
}


def show_assessment(screen: Screen, document: Mapping) -> None:
    """One assessment: the description first, then what the judge made of it."""
    item, decision = document["item"], document["decision"]
    lines = [
        Text(plain(f"{item['code']}  {item['name']}")),
        Text(plain(f"criterion: {item['criterion']}"), style="dim"),
        Text(),
        Text(plain(document["description"] or "(nothing was written)"), style="bold"),
        Text(),
        Text.assemble("decision: ", (_WORDS[decision], f"bold {_COLOUR[decision]}")),
        *([Text(_steadiness(document["samples"]))] if document["samples"] else []),
        _answers(document["verdicts"]),
        *(Text(plain(f"! {w}"), style="yellow") for w in document["warnings"]),
        Text(),
        Text(NOT_A_DEVICE, style="dim"),
    ]
    title = plain(Path(str(document["clip"]["path"])).name) + mark(document)
    screen.out.print(Panel(Group(*lines), title=Text(title), width=min(100, screen.out.width)))


def say_counts(screen: Screen, decisions: list[str | None], failed: int) -> None:
    """How many clips came out how, for the end of many."""
    counts = Counter(decisions)
    said = [f"{counts[decision]} {words}" for decision, words in _WORDS.items() if counts[decision]]
    said += [f"{failed} could not be assessed"] if failed else []
    screen.say(f"{counted(len(decisions) + failed, 'clip')}: {', '.join(said)}")


def _answers(verdicts: Mapping) -> Table:
    answers = Table(box=None, pad_edge=False, show_header=False)
    for name, words in _QUESTION_WORDS.items():
        p = verdicts[name]["probability"]
        probability = "" if p is None else f"p(yes) {p:.2f}"
        answers.add_row(Text(words, style="dim"), verdicts[name]["answer"], Text(probability, style="dim"))
    return answers


def _steadiness(samples: Mapping) -> str:
    counts = samples["decisions"]
    came = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in counts.items() if count)
    share = "" if samples["agreeing"] is None else f"{samples['agreeing']:.0%} decided as this one: "
    return f"of {counted(samples['k'], 'more description')}, {share}{came}"
