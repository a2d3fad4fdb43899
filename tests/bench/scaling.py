"""What a step costs as the group, the completion, the prompt and the number of clips grow: `python tests/bench/scaling.py`

The tiny random model of grpo_vs_trl.py, on the CPU. Each line changes one thing of the first; medians of steps on clips that
were looked at before, after one step that warms up. tokens: through the language model in each of sampling, reference and
update. tower: passes of the vision tower in the first round over the clips, and in the second.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

OPTIONS = argparse.ArgumentParser(description="the cost of a step as its sizes grow")
OPTIONS.add_argument("--steps", type=int, default=3, help="that count")
OPTIONS.add_argument("--threads", type=int, default=2)
OPTIONS.add_argument("--json", action="store_true", help="print one document and nothing else")
FIRST = {"group": 16, "completion": 32, "frames": 6, "clips": 4}
CHANGES = {"group": (4, 8, 32), "completion": (16, 64, 128), "frames": (2, 13, 27), "clips": (1, 16)}
SIDE = 224


def measure(sizes: dict[str, int], model: Path, folder: Path, steps: int) -> dict:
    from grpo_step import Stepper, bench, prompt_length, write_clips

    os.environ["SRLITE_HOME"] = str(folder / "home")
    clips = write_clips(folder / "videos", count=sizes["clips"], frames=sizes["frames"], side=SIDE)
    what = dict(frames=sizes["frames"], side=SIDE, group=sizes["group"], completion=sizes["completion"])
    with bench(model, folder / "videos", **what) as opened:
        stepper = Stepper(opened)
        first = [stepper.step(clip, seed) for seed, clip in enumerate(clips)]
        again = [stepper.step(clips[i % len(clips)], 1000 + i) for i in range(1 + steps)]
        length = prompt_length(opened, clips[0])
    return sizes | {
        "prompt_tokens": length,
        "tokens": again[-1].tokens["update"],
        "seconds": statistics.median(cost.seconds for cost in again[1:]),
        "tower": [sum(cost.calls for cost in costs) for costs in (first, again)],
    }


def main() -> None:
    options = OPTIONS.parse_args()
    os.environ.update(OMP_NUM_THREADS=str(options.threads), OMP_WAIT_POLICY="passive")
    from tiny_vlm import tiny_model

    lines = [FIRST] + [FIRST | {name: size} for name, sizes in CHANGES.items() for size in sizes]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        model = tiny_model(Path(folder) / "model")
        for number, sizes in enumerate(lines):
            found.append(measure(sizes, model, Path(folder) / str(number), options.steps))
    if options.json:
        print(json.dumps(found, indent=1))
        return
    print("| G | C | P | clips | tokens a pass | seconds | tower, first round | tower, second |")
    print("|---|---|---|---|---|---|---|---|")
    for f in found:
        shown = (f["group"], f["completion"], f["prompt_tokens"], f["clips"], f["tokens"], f"{f['seconds']:.2f}", *f["tower"])
        print("| " + " | ".join(map(str, shown)) + " |")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
