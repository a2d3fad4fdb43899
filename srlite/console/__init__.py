"""Everything that a person sees in the terminal. Data goes to stdout, the rest to stderr.

Text that a user or a model wrote is shown as it is, never read as markup; control characters become visible marks.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from srlite.errors import SrliteError
from srlite.escape import plain
from srlite.notices import NOT_A_DEVICE
from srlite.training.progress import Event, Note, Reading, SliceDone

DEMONSTRATION = "demonstration model"


class Screen:
    """stdout for data and stderr for everything else; `quiet` silences the latter but for errors."""

    def __init__(self, *, quiet: bool = False):
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")  # a terminal without a character shows a mark, not a traceback
        self.out = Console(highlight=False)
        self.err = Console(stderr=True, highlight=False)
        self.quiet = quiet

    def json(self, document: Mapping[str, object]) -> None:
        print(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False), file=sys.stdout)

    def note(self, text: str) -> None:
        if not self.quiet:
            self.err.print(Text(plain(text), style="dim"))

    def say(self, text: str, style: str = "") -> None:
        if not self.quiet:
            self.err.print(Text(plain(text), style=style))

    def next(self, command: str, lead: str = "next:") -> None:
        """A command to be typed, on a line of its own that is never broken: a copy of it must run."""
        if not self.quiet:
            self.err.print(Text(plain(lead)))
            self._typed(command)

    def _typed(self, command: str) -> None:
        self.err.print(Text(f"  {plain(command)}"), soft_wrap=True)

    def error(self, error: SrliteError) -> None:
        where = f"{error.where}: " if error.where else ""
        self.err.print(Text.assemble(("error: ", "bold red"), plain(f"{where}{error.message}")))
        if error.remedy:
            self.err.print(Text(plain(error.remedy)))
        if error.command:
            self._typed(error.command)

    def training(self, document: Mapping) -> None:
        """Where the run is: the one line that a script may read."""
        marked = mark(document)
        self.out.print(f"run: {document['run']}{marked}", markup=False, soft_wrap=True)
        stopped = "" if document["complete"] else "; stopped by --max-minutes"
        self.say(f"{document['steps']} steps; the adapter is that of step {document['chosen_step']}{stopped}")

    # ---- check ------------------------------------------------------------------------------------------------------

    def check(self, document: Mapping, *, everything: bool) -> None:
        """Problems of the rows, or the items; then the clips that are worth a look (`everything`: all of them)."""
        if document["problems"]:
            rows = [(str(p["line"] or ""), p["column"] or "", p["text"]) for p in document["problems"]]
            self.table(counted(len(rows), "problem") + " in the rows", ("line", "column", "what is wrong"), rows)
        if document["items"]:
            self.table(
                counted(document["records"], "record"),
                ("item", "name", "pass", "fail", "children", "in test", "testable"),
                [_item_row(i) for i in document["items"]],
            )
        clips = document["clips"]
        shown = clips if everything else [c for c in clips if c["action"] != "ok"]
        if shown:
            self.table("Clips", ("clip", "what it is", "action"), [_clip_row(c) for c in shown])
        counts = Counter(c["action"] for c in clips)
        if clips:
            listed = "" if everything or len(shown) == len(clips) else " (not listed: --all lists them)"
            others = f"{counts['warning']} with a warning, {counts['refused']} refused"
            self.out.print(f"{counted(len(clips), 'clip')}: {counts['ok']} ok{listed}, {others}", markup=False)
        for note in document["notes"]:
            self.note(note)

    def judge_check(self, document: Mapping) -> None:
        """Agreement question by question, then what should not matter, then the sentence."""
        title = f"Judge {document['judge']['id']}" + mark(document)
        questions = document["questions"].items()
        self.table(
            f"{title}: {counted(document['labels'], 'description')}",
            ("question", "kappa", "agreement", "yes found", "no found"),
            [(name, number(q["kappa"], 2), *(_share_of(q[s]) for s in _AGREEMENT)) for name, q in questions],
        )
        self.table(
            "Answers that are unscored, or change with the words",
            ("question", "unscored", "no or yes", "other words"),
            [
                (name, f"{q['unscored']} of {q['answered']}", f"{q['swapped']:.0%}", f"{q['reworded']:.0%}")
                for name, q in questions
            ],
        )
        for words, share in (("decisions as people's", "decisions"), ("decisions the same in another order", "steady")):
            self.out.print(f"{words}: {_interval(document[share])}", markup=False, soft_wrap=True)
        if document["chosen_on"]:
            said = ", ".join(f"{q} {t:g}" for q, t in document["thresholds"].items()) or "none is better than the present ones"
            aside = counted(document["chosen_on"], "other description")
            self.out.print(f"thresholds chosen on {aside}: {said}", markup=False, soft_wrap=True)
        self.out.print(f"{document['tokens_per_s']:.0f} tokens a second", markup=False)
        fit = "fit to train with" if document["fit"] else "not fit to train with"
        self.out.print(Text(plain("; ".join([f"This judge is {fit}", *document["unfit"]]) + "."), style="bold"))

    def paraphrases(self, document: Mapping) -> None:
        """Item by item what was kept, and what was not and why."""
        for code, found in document["items"].items():
            self.out.print(Text(plain(f"{code}: {counted(len(found['kept']), 'new paraphrase')}"), style="bold"))
            for text in found["kept"]:
                self.out.print(Padding(Text(plain(text)), (0, 0, 0, 2)))
            for entry in found["rejected"]:
                said = plain(f"rejected ({'; '.join(entry['reasons'])}): {entry['text']}")
                self.out.print(Padding(Text(said, style="dim"), (0, 0, 0, 2)))
        self.out.print(f"catalogue: {document['catalogue']}", markup=False, soft_wrap=True)

    def exported(self, document: Mapping) -> None:
        """The files, what was compared, and what is worth knowing."""
        self.table(
            f"{document['out']}: {document['to']}{mark(document)}",
            ("file", "bytes", "sha256"),
            [(f["name"], f"{f['bytes']:,}", f["sha256"][:16]) for f in document["files"]],
        )
        for c in document["verified"]:
            found = (
                f"differ by {c['largest_difference']:.2g} ({c['tolerance']:.2g} is admitted)" if c["tolerance"] else "the same"
            )
            self.out.print(f"read again: {c['compared']}: {found}", markup=False, soft_wrap=True)
        if document["adapter_effect"] is not None:
            self.out.print(f"the adapter itself changes these numbers by up to {document['adapter_effect']:.2g}", markup=False)
        for warning in document["warnings"]:
            self.out.print(Text(plain(f"! {warning}"), style="yellow"))
        self.out.print(Text(NOT_A_DEVICE, style="dim"))

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        table = Table(title=title)
        for column in columns:
            table.add_column(column)
        for row in rows:
            table.add_row(*(Text(plain(cell)) for cell in row))
        self.out.print(table)

    def bar(self) -> Bar:
        return Bar(self)


def mark(document: Mapping) -> str:
    """What stands behind a title."""
    return f" ({DEMONSTRATION})" if document["demonstration"] else ""


def counted(number: int, what: str, several: str | None = None) -> str:
    """`1 clip`, `2 clips`. several: another plural than with an s."""
    return f"{number} {what if number == 1 else several or what + 's'}"


_AGREEMENT = ("agreement", "sensitivity", "specificity")


def _share_of(p: Mapping) -> str:
    return "n/a" if p["value"] is None else f"{p['value']:.2f} of {p['n']}\n[{p['low']:.2f}, {p['high']:.2f}]"


def _item_row(i: Mapping) -> tuple[str, ...]:
    counts = (str(i[name]) for name in ("passed", "failed", "children"))
    in_test = f"{i['test_passed']} + {i['test_failed']}"
    return (i["code"], i["name"], *counts, in_test, f"no: {i['untestable']}" if i["untestable"] else "yes")


def _clip_row(c: Mapping) -> tuple[str, str, str]:
    action = f"{c['action']}: {'; '.join(c['said'])}" if c["said"] else c["action"]
    return c["clip"], _clip_words(c["info"]) if c["info"] else "", action


def _clip_words(info: Mapping) -> str:
    """A clip in one line, so that the table fits a narrow terminal."""
    declared = f" of {info['frames_declared']}" if info["frames_declared"] else ""
    parts = [
        f"{info['codec']} {info['width']}x{info['height']}",
        "HDR" if info["hdr"] else "",
        f"turned {info['rotation']}°" if info["rotation"] else "",
        f"{number(info['fps'], 2)} fps" + (" (varies)" if info["variable"] else ""),
        f"{info['duration_s']:.1f} s",
        f"{info['frames']}{declared} frames",
    ]
    return ", ".join(part for part in parts if part)


def number(value: float | None, digits: int) -> str:
    return "n/a" if value is None else f"{value:.{digits}f}"


def _interval(p: Mapping) -> str:
    return "n/a" if p["value"] is None else f"{p['value']:.3f} [{p['low']:.2f}, {p['high']:.2f}] n={p['n']}"


class Bar:
    """One progress line on a terminal; elsewhere nothing moves and only finished things are told."""

    def __init__(self, screen: Screen):
        self._screen = screen
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[info]}", style="dim"),
            console=screen.err,
            transient=True,
            disable=screen.quiet or not screen.err.is_terminal,
        )
        self._task = self._progress.add_task("", total=None, info="")

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Put it around what is printed on stdout meanwhile: a moving line would take that to its own stream."""
        self._progress.stop()
        try:
            yield
        finally:
            self._progress.start()

    def show(self, what: str, done: int, total: int, info: str = "") -> None:
        self._progress.update(self._task, description=what, completed=done, total=total, info=info)

    def hear(self, event: Event) -> None:
        """Show what a training run tells."""
        if isinstance(event, Note):
            self._screen.note(event.text)
        elif isinstance(event, SliceDone):
            self._screen.say(_slice_line(event.figures, event.left_s))
        elif isinstance(event, Reading):
            self.show(event.what, event.done, event.total)
        else:
            where = f"round {event.round}/{event.rounds} slice {event.slice}/{event.slices} {event.phase}"
            self.show(where, event.done, event.total)


def _slice_line(f: Mapping, left_s: float) -> str:
    """The figures of a finished slice."""
    parts = [f"round {f['round']} slice {f['slice']}", f"reward {number(f['reward'], 2)}"]
    parts += [f"{name} {number(f[name], 2)}" for name in ("outcome", "unrelated", "relevance", "quality")]
    parts += [
        f"no signal {f['zero_signal_share']:.0%}",
        f"KL {number(f['kl'], 3)}",
        f"{f['length_tokens']:.0f} tokens",
        f"cache hits {f['cache_hits']}",
    ]
    if f["sample_tokens_per_s"]:
        parts.append(f"{f['sample_tokens_per_s']:.0f} tokens/s")
    if f["unscored_share"]:
        parts.append(f"unscored {f['unscored_share']:.1%}")
    if f["validation"] is not None:
        parts.append(f"validation {f['validation']:.3f}")
    return "  ".join([*parts, f"about {left_s / 60:.0f} min left"])
