"""Every command on terminals of all sorts: no encoding ends a command, no control character reaches a file, pipes may close."""

import csv
import json
import os
import shutil
import subprocess
import sys

import pytest

NASTY = "走路 [red]é[/red] \x1b[31m\u202e ✓"
"""A name with Chinese, markup, a colour code and a direction mark."""


@pytest.fixture(scope="module")
def odd(trained, data, tmp_path_factory):
    """The small clinic with its texts and a clip's name made as odd as they may be: a catalogue, records, and a run."""
    folder = tmp_path_factory.mktemp("odd")
    shutil.copytree(data / "videos", folder / "videos")
    with (data / "items.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    name = "走路 é [left].mp4"
    (folder / "videos" / rows[0]["video"]).rename(folder / "videos" / name)
    (folder / "videos" / "second.mp4").write_bytes(b"")
    rows[0]["video"] = name
    rows.append(rows[0] | {"video": "second.mp4", "child": "孩子[1]"})
    for row in rows:
        domain = "gross motor" if row["item"] == "18_4" else "language"
        row |= {"name": f"{row['item']} {NASTY}", "criterion": f"The child does {NASTY}.", "domain": domain}
    with (folder / "items.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    (folder / "other.toml").write_text('[items."99_9"]\nname = "another"\ncriterion = "Another."\n')
    shutil.copytree(trained, folder / "run")
    catalogue = (folder / "run" / "catalogue.toml").read_text(encoding="utf-8")
    (folder / "run" / "catalogue.toml").write_text(catalogue.replace('"pours', '"走路 [red]✓ pours'), encoding="utf-8")
    return folder


def commands(odd, data):
    rows = (odd / "items.csv", odd / "videos", "--catalogue", odd / "other.toml")
    return {
        "check": ("check", *rows, "--all"),
        "train": ("train", *rows, "--preset", "tiny", "--dry-run"),
        "refused": ("train", *rows, "--preset", "tiny", "--run", odd / "never"),
        "assess": ("assess", odd / "videos" / "走路 é [left].mp4", "--item", "18_3", "--run", odd / "run"),
        "evaluate": ("evaluate", data / "items.csv", data / "videos", "--run", odd / "run", "--compare", "base"),
        "models": ("models", "list"),
        "unknown": ("assess", odd / "videos" / "走路 é [left].mp4", "--item", "走路[red]", "--run", odd / "run"),
        "help": ("train", "--help"),
    }


CODES = {"check": 6, "train": 0, "refused": 3, "assess": 0, "evaluate": 0, "models": 0, "unknown": 3, "help": 0}
TERMINALS = {
    "ascii": {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
    "cp1252": {"PYTHONIOENCODING": "cp1252"},
    "gbk": {"PYTHONIOENCODING": "gbk"},
    "dumb": {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "20"},
}


HEAVY = ("train", "refused", "assess", "evaluate", "unknown")
"""Commands that take long: one terminal each, and not every time."""


@pytest.mark.parametrize(
    ("terminal", "command"),
    [(t, c) for t in TERMINALS for c in CODES if c not in HEAVY]
    + [pytest.param("ascii", c, marks=pytest.mark.slow) for c in HEAVY],
)
def test_no_terminal_ends_a_command(run_cli, odd, data, tmp_path, terminal, command):
    """Output goes to files: complete, without escape codes, and the exit code is that of the work."""
    out, err = tmp_path / "out.txt", tmp_path / "err.txt"
    words = [sys.executable, "-m", "srlite.cli", *map(str, commands(odd, data)[command])]
    env = {**os.environ, "COLUMNS": "100", **TERMINALS[terminal]}
    with out.open("wb") as o, err.open("wb") as e:
        code = subprocess.run(words, stdout=o, stderr=e, stdin=subprocess.DEVNULL, env=env, cwd=tmp_path).returncode
    shown = out.read_bytes() + err.read_bytes()
    assert code == CODES[command], shown.decode(errors="replace")
    assert b"Traceback" not in shown and b"\x1b" not in shown and b"unexpected" not in shown
    assert b"\r" not in shown and "\u202e".encode() not in shown


def test_markup_is_shown_as_text(run_cli, odd, data):
    found = run_cli(*commands(odd, data)["check"], env={"COLUMNS": "200"})
    assert "[red]é[/red]" in found.stdout and "走路 é [left].mp4" in found.stdout and "second.mp4" in found.stdout


def test_json_keeps_the_texts_whole(run_cli, odd, data):
    found = run_cli(*commands(odd, data)["check"], "--json", "--rows-only")
    assert all("走路 [red]é[/red]" in i["name"] for i in json.loads(found.stdout)["items"])


@pytest.mark.parametrize("command", ["check", "models", "help"])
def test_a_pipe_that_closes_ends_quietly(odd, data, command):
    words = [sys.executable, "-m", "srlite.cli", *map(str, commands(odd, data)[command])]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.close()
    assert b"Traceback" not in child.stderr.read() and child.wait() >= 0


@pytest.mark.parametrize("words", [["models", "list"], ["models", "list", "--json"]], ids=str)
def test_a_full_disk_under_stdout_is_told_in_words(words):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "srlite.cli", *words]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"})
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    assert "space" in done.stderr and done.returncode == 5
