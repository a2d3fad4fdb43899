"""srlite report, as a user types it."""

import json
import subprocess
import sys

PROGRAM = """
import sys
from typer.testing import CliRunner
from srlite.cli import app
found = CliRunner().invoke(app, sys.argv[1:])
print(found.output)
print(found.exit_code, *(m for m in ("torch", "transformers", "llama_cpp", "av", "decord") if m in sys.modules))
"""


def test_a_killed_run_is_reported_with_exit_0_and_without_torch(killed):
    done = subprocess.run([sys.executable, "-c", PROGRAM, "report", str(killed)], capture_output=True, text=True, check=True)
    *said, last = done.stdout.splitlines()
    assert last == "0", done.stdout
    assert "There is no adapter" in " ".join(said) and (killed / "report.html").exists()


def test_json_and_another_file(run_cli, evaluated, tmp_path):
    out = tmp_path / "out.html"
    done = run_cli("report", evaluated, "--out", out, "--no-frames", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == "srlite.report/1" and document["file"] == str(out) and document["cases"] == 36
    assert document["bytes"] == out.stat().st_size and not (evaluated / "report.html").exists()


def test_the_summary_is_told_in_the_terminal(run_cli, evaluated):
    done = run_cli("report", evaluated)
    assert "agreed with the clinician's outcome" in " ".join(done.stdout.split())
    assert f"report: {evaluated / 'report.html'}" in done.stdout
    assert "clips without pictures" in " ".join(done.stderr.split())


def test_no_run_and_contradicting_options(run_cli, tmp_path):
    assert run_cli("report", tmp_path).returncode == 3
    done = run_cli("report", tmp_path, "--no-frames", "--videos", tmp_path)
    assert done.returncode == 2 and "Leave out one of them" in done.stderr
