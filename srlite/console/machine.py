"""Pages about the machine: the plan of a run, and what doctor found."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

from srlite.console import Screen
from srlite.escape import plain

_GB = 1e9
_MUCH = 0.1
_PAPER = "some 16,000 at 1e-05"


def show_plan(screen: Screen, document: Mapping) -> None:
    """Data, memory by term and phase, disk and time of a run; then what is missing and what to change."""
    _show_data(screen, document)
    _show_memory(screen, document["memory"])
    _show_disk_and_time(screen, document)
    for line in _advice(document):
        screen.out.print(Text(plain(line), style="yellow"))


def _show_data(screen: Screen, d: Mapping) -> None:
    rows = [
        ("preset", d["preset"] or "none"),
        ("descriptor, judge", f"{d['descriptor']}, {d['judge']}"),
        ("records", f"{d['records']}: {d['train']} train, {d['validation']} validation, {d['test']} test"),
        ("a round", f"{d['pairs_a_round']} pairs, at most {d['prompt_tokens_at_most']:,} tokens a prompt"),
        ("rounds", f"{d['rounds']}, {d['slices']} slices of {d['slice_pairs']} pairs"),
        (
            "optimiser steps",
            f"at most {d['optimiser_steps_at_most']:,} at {d['learning_rate']:g} (the paper: some 16,000 at 1e-05)",
        ),
    ]
    screen.table("Plan", ("", ""), rows)


def _show_memory(screen: Screen, m: Mapping) -> None:
    rest = [(name, _gb(size), "") for name, size in m["rest"].items()]
    phases = []
    for phase, terms in m["phases"].items():
        phases.append((phase, "", _gb(m["peaks"][phase])))
        phases += [(f"  {name}", _gb(size), "") for name, size in terms.items()]
    screen.table("Memory, GB", ("held throughout; then by phase", "term", "peak"), [*rest, *phases])
    turns = {
        "resident": "both models stay",
        "swapped": f"turns: the descriptor waits in {_gb(m['parked'])} GB of main memory while the judge is asked",
    }[m["turns"]]
    verdict = "fits" if m["fits"] else "does not fit"
    screen.out.print(
        Text(plain(f"peak {_gb(m['peak'])} GB of {_gb(m['available'])} GB ({m['on']}): {verdict}; {turns}"), style="bold")
    )


def _show_disk_and_time(screen: Screen, d: Mapping) -> None:
    disk, time = d["disk"], d["time"]
    wanted = disk["frames"] + disk["features"] + disk["run"]
    kept = ", ".join(f"{name} {_gb(disk[name])}" for name in ("frames", "features", "run"))
    screen.out.print(f"disk: at most {_gb(wanted)} GB ({kept}); {_gb(disk['free'])} GB are free", markup=False)
    parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in time["seconds_a_pair"].items())
    rate = f"{time['operations_a_second'] / 1e12:.3g} T/s in products of matrices"
    swap = f", {time['swap_share']:.1%} of it for swapping ({time['swap_s']:.1f} s a slice)" if time["swap_s"] else ""
    screen.out.print(f"time: about {_hours(time['hours'])} on {time['on']} ({rate}){swap}", markup=False)
    screen.out.print(f"seconds a pair, at most: {parts}; assessing a clip takes some {time['assess_s']:.1f} s", markup=False)


def _advice(d: Mapping) -> list[str]:
    memory, lines = d["memory"], []
    if d["not_installed"]:
        how = f"--preset {d['preset']}" if d["preset"] else " ".join(d["not_installed"])
        lines.append(f"not installed: {', '.join(d['not_installed'])}. srlite models pull {how}")
    if not memory["fits"]:
        found = "; ".join(f"{w['change']} ({_gb(w['peak'])} GB)" for w in memory["would_fit"])
        lines.append(f"what would fit: {found or 'nothing short of a smaller model'}")
    if (rate := d["learning_rate_suggested"]) and rate > d["learning_rate"]:
        said = f"{d['optimiser_steps_at_most']:,} steps are far fewer than the paper's"
        lines.append(f"{said}: schedule.learning_rate = {rate:g} goes as far in all")
    if d["disk"]["free"] < sum(d["disk"][name] for name in ("frames", "features", "run")):
        lines.append("the disk may be too small: cache.features_gb and cache.frames_gb limit what is kept there")
    if d["time"]["swap_share"] > _MUCH:
        lines.append("swapping takes a good part of the time: a larger schedule.slice_pairs swaps less often")
    if d["time"]["hours"] >= 1:
        less = "; ".join(f"{s['change']} ({_hours(s['hours'])})" for s in d["time"]["sooner"])
        lines.append(f"to be done sooner: {less}")
    return lines


def _gb(size: int) -> str:
    return f"{size / _GB:.2f}"


def _hours(hours: float) -> str:
    if hours < 1:
        return f"{60 * hours:.0f} minutes"
    if hours < 10:
        return f"{hours:.1f} hours"
    return f"{hours:.0f} hours" if hours < 48 else f"{hours / 24:.1f} days"


_MARKS = {"ok": ("ok", "green"), "note": ("note", "yellow"), "fault": ("fault", "bold red")}


def show_examination(screen: Screen, document: Mapping) -> None:
    """Every finding with its mark; under it the command that mends it."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        table.add_column(overflow="fold")
    for finding in document["findings"]:
        mark, style = _MARKS[finding["level"]]
        words = Text(plain(finding["words"]))
        if finding["remedy"]:
            words.append(f"\n{plain(finding['remedy'])}", style="dim" if finding["level"] == "ok" else "cyan")
        table.add_row(Text(mark, style=style), Text(plain(finding["subject"])), words)
    screen.out.print(table)
