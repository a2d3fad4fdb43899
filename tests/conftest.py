"""Every test has a home of its own: nothing is read from or written to the user's folders."""

import os
import sys
from pathlib import Path

import pytest
from fences import SITE
from small_clinic import ITEMS, SMALL

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"


@pytest.fixture(scope="session", autouse=True)
def threads():
    """One thread for each model, so that figures do not depend on the machine's cores and nothing spins."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def home(tmp_path_factory, monkeypatch) -> Path:
    """srlite's own folder for models and caches, empty."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("SRLITE_HOME", str(folder))
    return folder


@pytest.fixture(scope="session")
def examples() -> Path:
    """The bundled examples: items.csv, videos/, items.toml, scenes.json."""
    return EXAMPLES


@pytest.fixture
def run_cli(home):
    """Run the command line in a process of its own: run_cli(*words, cwd=, env=) -> CompletedProcess with text."""
    import subprocess

    def run(*words, cwd=None, env=None, timeout=240):
        return subprocess.run(
            [sys.executable, "-m", "srlite.cli", *map(str, words)],
            cwd=cwd,
            text=True,
            capture_output=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "SRLITE_HOME": str(home), "COLUMNS": "100", **(env or {})},
        )

    return run


@pytest.fixture
def watched(tmp_path):
    """Environment in which every Python process writes down each attempt to use the network."""
    (tmp_path / "site").mkdir()
    log = tmp_path / "sockets.txt"
    (tmp_path / "site" / "sitecustomize.py").write_text(SITE.format(log=str(log)))
    return {"PYTHONPATH": str(tmp_path / "site")}, log


@pytest.fixture(scope="session")
def data(tmp_path_factory) -> Path:
    """A tiny clinic of four items: items.csv, videos/, scenes.json."""
    folder = tmp_path_factory.mktemp("data")
    from srlite.demo.clips import write_dataset
    from srlite.demo.world import clinic

    scenes = [s for s in clinic(13, 6, children=6, unseen_share=0.0) if s.item in ITEMS]
    write_dataset(scenes, folder)
    return folder


@pytest.fixture(scope="session")
def trained(data, tmp_path_factory) -> Path:
    """A finished run on that clinic, undisturbed."""
    import srlite

    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SRLITE_HOME", str(folder / "home"))
        result = srlite.train(data / "items.csv", data / "videos", run=folder / "run", preset="tiny", over=SMALL)
    assert result.complete and result.demonstration
    return folder / "run"
