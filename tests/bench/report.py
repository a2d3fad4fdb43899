"""How large is a report of 500 test clips, and how long does a browser take to open it? `python tests/bench/report.py`

500 matched and 250 unrelated pairs with three arms, each with the frames that a run keeps (--frames N, pictures of a noisy
scene, so that they are as heavy as those of real clips). Written three times, opened five times in headless Chromium; medians.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path[0] = str(Path(__file__).parents[1])  # not beside this file, which has the name of a folder there
from report.chromium import BINARY, Chromium  # noqa: E402
from report.conftest import write_run  # noqa: E402
from report.documents import cases, evaluation  # noqa: E402

from srlite.files import write_private  # noqa: E402
from srlite.report.collect import collect  # noqa: E402
from srlite.report.shots import Strips, sheets_of  # noqa: E402
from srlite.report.writing import report_page  # noqa: E402
from srlite.types import Frames  # noqa: E402

CLIPS, ARMS = 500, ("generic", "base", "adapted")


def scene(count: int) -> Frames:
    """Frames with soft edges and a grain, 448 by 448."""
    grain = np.random.default_rng(0)
    rows, columns = np.mgrid[0:448, 0:448]
    pictures = []
    for i in range(count):
        waves = 96 * np.sin((rows + 9 * i) / 31)[..., None] * np.cos(columns[..., None] / np.array([23, 37, 51]))
        pictures.append(np.clip(128 + waves + grain.normal(0, 12, waves.shape), 0, 255).astype(np.uint8))
    return Frames(np.stack(pictures), tuple(0.1 + 0.2 * i for i in range(count)), count * 0.2, real=count)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--frames", type=int, default=32)
    wanted = parser.parse_args().frames
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        found = cases(CLIPS, ARMS)
        run = write_run(folder / "run", document=evaluation(found, ARMS, closer=True))
        sheets = sheets_of(scene(wanted)) if wanted else ()
        strips = Strips({c.clip_sha256: sheets for c in found} if wanted else {})
        seconds = []
        for _ in range(3):
            began = time.perf_counter()
            page = report_page(collect(run), strips, frames=bool(wanted))
            seconds.append(time.perf_counter() - began)
        write_private(folder / "report.html", page)
        pictures = f"{wanted} frames a clip ({sum(len(s.jpeg) for s in sheets) / 1000:.0f} kB)"
        print(
            f"{len(found)} pairs, {pictures}: {len(page.encode()) / 1e6:.1f} MB, written in {statistics.median(seconds):.1f} s"
        )
        if BINARY:
            with Chromium(folder / "chromium") as chromium:
                print(f"opened in {statistics.median(chromium.open(folder / 'report.html') for _ in range(5)):.2f} s")


if __name__ == "__main__":
    main()
