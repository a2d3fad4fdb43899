"""How long does `srlite check` take on a file of the paper's size? `python tests/bench/rows.py`

13,379 rows over 1,115 clips (the examples, each made different by a few bytes at its end), 372 children. The whole command is
timed, from its start to its end: with --rows-only three times (the median), and once with every clip read.
"""

from __future__ import annotations

import csv
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from srlite.demo.world import ITEMS

ROWS = 13_379
EXAMPLES = Path(__file__).parents[2] / "examples" / "videos"


def write(folder: Path) -> None:
    codes, clips = tuple(ITEMS), sorted(EXAMPLES.iterdir())
    (folder / "videos").mkdir()
    with (folder / "items.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["video", "item", "outcome", "child", "sex", "age_months", "site"])
        for row in range(ROWS):
            clip, child = row // len(codes), row // len(codes) // 3
            name, outcome = f"c{clip:04d}.mp4", "fail" if (row + clip) % 3 == 1 else "pass"
            rows.writerow([name, codes[row % len(codes)], outcome, f"k{child:04d}", ("male", "female")[child % 2], 18, "a"])
            path = folder / "videos" / name
            if not path.exists():
                path.write_bytes(clips[clip % len(clips)].read_bytes() + clip.to_bytes(4, "big"))


def seconds(folder: Path, *options: str) -> float:
    began = time.perf_counter()
    command = [sys.executable, "-m", "srlite.cli", "check", str(folder / "items.csv"), str(folder / "videos"), *options]
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        rows = statistics.median(seconds(folder, "--rows-only") for _ in range(3))
        print(f"{ROWS} rows: {rows:.2f} s; with every clip read: {seconds(folder):.1f} s")


if __name__ == "__main__":
    main()
