"""A training run that is killed again and again: `python tests/bench/soak.py [--kills 30]`

Two runs over the same rendered clips, with the bundled models: one undisturbed, one that gets SIGKILL, its children too, at
random moments of all its phases, and is resumed each time. At the end the weights, the samples, the rewards and the metrics
must be the same to the bit, nothing may be left half-written, and the caches must hold what they held.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

OPTIONS = argparse.ArgumentParser(description="kill a training run again and again; its end must be the undisturbed one's")
OPTIONS.add_argument("--kills", type=int, default=30)
OPTIONS.add_argument("--seed", type=int, default=0, help="of the moments")
OPTIONS.add_argument("--folder", type=Path, help="kept; default: a temporary one")
ITEMS = ("18_4", "18_3", "6_3", "12_4")
PHASES = ("read clips", "look at clips", "sample", "judge", "update", "validate")
WEIGHTS = (1, 1, 8, 8, 10, 2)
SETTINGS = {
    "schedule": {"rounds": 7, "slice_pairs": 6, "batch_pairs": 3},
    "sampling": {"group": 8, "pairs": 2},
    "split": {"how": "per-item", "test_fraction": 0.2, "validation_fraction": 0.2},
    "threads": 1,
    "models": {"device": "cpu"},
}
TRAIN = """
import json, sys
from pathlib import Path
import srlite
from srlite.training.progress import Progress, Reading

def tell(event):
    if isinstance(event, Progress | Reading):
        print(event.phase if isinstance(event, Progress) else event.what, flush=True)

data, run, resume, settings = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "resume", json.loads(sys.argv[4])
given = {} if resume else {"preset": "tiny", "over": settings}
srlite.train(data / "items.csv", data / "videos", run=run, resume=resume, tell=tell, **given)
"""


def start(data: Path, run: Path, home: Path) -> subprocess.Popen:
    how = "resume" if (run / "config.toml").exists() else "begin"
    return subprocess.Popen(
        [sys.executable, "-c", TRAIN, str(data), str(run), how, json.dumps(SETTINGS)],
        env={**os.environ, "SRLITE_HOME": str(home), "OMP_NUM_THREADS": "1"},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(data: Path, run: Path, home: Path) -> None:
    """Train to the end."""
    child = start(data, run, home)
    _, said = child.communicate()
    if child.returncode:
        raise SystemExit(said)


def killed(data: Path, run: Path, home: Path, *, kills: int, rng: random.Random) -> Counter[str]:
    """Train with kills in between; in which phases they fell.

    A kill comes in a phase drawn by lot, after some of its units and some milliseconds more: so that it falls between two
    lines of a file and into the midst of one, into a forward pass, and into a checkpoint that follows an update.
    """
    phases: Counter[str] = Counter()
    while sum(phases.values()) < kills:
        child = start(data, run, home)
        wanted, wait, last = rng.choices(PHASES, WEIGHTS)[0], rng.randrange(1, 7), ""
        for line in child.stdout:
            last = line.strip()
            wait -= last == wanted
            if not wait:
                break
        time.sleep(rng.random() * 0.5)
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            phases[last] += 1
        said = child.stderr.read()
        if child.wait() not in (0, -signal.SIGKILL):
            raise SystemExit(said)
        if child.returncode == 0:
            print(f"the run was complete after {sum(phases.values())} kills")
            break
    finish(data, run, home)
    return phases


def content(run: Path) -> dict[str, str]:
    """Name -> hash of everything that must be equal: weights, optimiser, samples, rewards, metrics without what is measured."""
    found = {}
    for path in sorted(p for p in run.rglob("*") if p.is_file() and p.suffix in (".safetensors", ".jsonl")):
        data = path.read_bytes()
        if path.name == "metrics.jsonl":
            measured = ("_s", "_mb", "judge_tokens", "cache_hits", "tower_calls")  # time, memory, caches
            lines = [json.loads(line) for line in data.decode().splitlines()]
            data = json.dumps([{k: v for k, v in m.items() if not k.endswith(measured)} for m in lines]).encode()
        found[str(path.relative_to(run))] = hashlib.sha256(data).hexdigest()
    return found


def verdicts(home: Path) -> set[tuple]:
    """What the verdict cache holds, after SQLite has looked at itself."""
    (path,) = home.rglob("verdicts.sqlite")
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        (table,) = [
            n for (n,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'verdict%'")
        ]
        return set(database.execute(f"SELECT * FROM {table}"))


def kept(home: Path) -> dict[str, str]:
    """Frames and features."""
    files = [p for name in ("frames", "features") for p in home.rglob(f"{name}/*/*")]
    return {str(p.relative_to(home)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def soak(folder: Path, kills: int, seed: int) -> None:
    from srlite.demo.clips import write_dataset
    from srlite.demo.world import clinic

    data = folder / "data"
    if not data.exists():
        write_dataset([s for s in clinic(13, 8, children=8, unseen_share=0.0) if s.item in ITEMS], data)
    finish(data, folder / "calm", folder / "calm-home")
    phases = killed(data, folder / "killed", folder / "home", kills=kills, rng=random.Random(seed))
    calm, shaken = content(folder / "calm"), content(folder / "killed")
    assert calm.keys() == shaken.keys(), calm.keys() ^ shaken.keys()
    different = [name for name in calm if calm[name] != shaken[name]]
    assert not different, f"different: {different}"
    left = [
        p for p in (folder / "killed").rglob("*") if p.name.endswith(".part") or "unfinished" in p.name or p.name == ".owner"
    ]
    assert not left, f"left behind: {left}"
    assert verdicts(folder / "calm-home") == verdicts(folder / "home")
    assert kept(folder / "calm-home") == kept(folder / "home")
    print(f"{sum(phases.values())} kills ({dict(phases)}): {len(calm)} files, the verdicts, frames and features are the same")


def main() -> None:
    options = OPTIONS.parse_args()
    if options.folder:
        soak(options.folder, options.kills, options.seed)
        return
    with tempfile.TemporaryDirectory() as folder:
        soak(Path(folder), options.kills, options.seed)


if __name__ == "__main__":
    main()
