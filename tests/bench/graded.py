"""What do graded rewards do to groups without signal? `python tests/bench/graded.py [--rounds 2] [--json]`

Trains twice on the bundled examples from the same seed, with the paper's rewards of 0 and 1 and with `reward.graded`. The
first slice has the same descriptions on both sides; later ones come from what was learnt.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from srlite.training.job import train

EXAMPLES = Path(__file__).parents[2] / "examples"


def shares(folder: Path, rounds: int, *, graded: bool) -> list[float]:
    """Share of groups without signal, slice by slice."""
    over = {"schedule": {"rounds": rounds}, "reward": {"graded": graded}}
    train(EXAMPLES / "items.csv", EXAMPLES / "videos", run=folder, preset="tiny", over=over, tell=lambda event: None)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return [line["zero_signal_share"] for line in lines if "pairs" in line]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = {name: shares(Path(folder) / name, args.rounds, graded=name == "graded") for name in ("binary", "graded")}
    if args.json:
        print(json.dumps({"schema": "srlite.bench_graded/1", "zero_signal_share": found}, indent=1))
        return
    for name, values in found.items():
        sys.stdout.write(f"{name}\tmean {sum(values) / len(values):.3f}\t{' '.join(f'{v:.2f}' for v in values)}\n")


if __name__ == "__main__":
    main()
