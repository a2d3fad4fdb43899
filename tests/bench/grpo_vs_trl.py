"""An optimiser step of srlite against one of TRL's GRPOTrainer.

    python tests/bench/grpo_vs_trl.py --trl-python PYTHON [--json]

The same tiny random Qwen2.5-VL, the same pictures, the same prompt length, group and completion length, a free reward, the CPU.
Contenders take steps in turn, the others asleep; medians are shown. PYTHON is the interpreter of an environment of its own:

    python3 -m venv FOLDER && FOLDER/bin/pip install -r tests/bench/trl-requirements.txt

    srlite          every step on a clip whose features are not kept yet: its tower pass is in the time
    srlite, again   the same clips a second time, as in every later epoch and round
    trl             GRPOTrainer as it is; it takes stills, so each picture of the clip is one
    trl, no_grad    the same with its vision tower under no_grad

The floor is the arithmetic that a step needs at the rate of a matrix product of the model's own shape, measured in this run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

OPTIONS = argparse.ArgumentParser(description="srlite's optimiser step against TRL's")
OPTIONS.add_argument("--trl-python", required=True, help="interpreter of the environment that TRL is installed in")
OPTIONS.add_argument("--rounds", type=int, default=5, help="steps of each contender that count; one more warms up")
OPTIONS.add_argument("--sizes", nargs="+", choices=("p600", "p2000"), default=("p600", "p2000"))
OPTIONS.add_argument("--threads", type=int, default=2)
OPTIONS.add_argument("--json", action="store_true", help="print one document and nothing else")

FRAMES = {"p600": 6, "p2000": 27}
"""Pictures of a clip: 64 tokens of the prompt each."""
SIDE, GROUP, COMPLETION = 224, 16, 32
WORKER = Path(__file__).with_name("trl_worker.py")


class Trl:
    """A worker process; asleep but while it takes a step."""

    def __init__(self, python: str, model: Path, frames: Path, text: str, threads: int, *, no_grad: bool):
        words = [python, str(WORKER), str(model), str(frames), "--text", text, "--threads", str(threads)]
        words += ["--group", str(GROUP), "--completion", str(COMPLETION), *(["--tower-no-grad"] if no_grad else [])]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1
        )
        self.ready = self._answer()

    def __enter__(self) -> Trl:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait()

    def step(self) -> dict:
        self._process.stdin.write("step\n")
        return self._answer()

    def _answer(self) -> dict:
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("the TRL worker ended; run it by hand to see why")
        return json.loads(line)


def measure(size: str, options: argparse.Namespace, folder: Path) -> dict:
    """All figures of one prompt length."""
    import numpy as np
    from grpo_step import Stepper, bench, matrix_rate, operations, prompt_length, text_of, write_clips
    from tiny_vlm import HIDDEN, tiny_model

    frames, steps = FRAMES[size], options.rounds + 1
    model = tiny_model(folder / "model")
    clips = write_clips(folder / "videos", count=steps, frames=frames, side=SIDE)
    with ExitStack() as stack:
        ours = stack.enter_context(
            bench(model, folder / "videos", frames=frames, side=SIDE, group=GROUP, completion=COMPLETION)
        )
        pictures = [ours.clips.frames(ours.path(clip))[0].images[::2] for clip in clips]
        np.save(folder / "frames.npy", np.stack(pictures))
        text = text_of(ours)[: -2 * (frames - 1)]  # stills have marks of their own: so both prompts are of one length
        worker = lambda no_grad: stack.enter_context(
            Trl(options.trl_python, model, folder / "frames.npy", text, options.threads, no_grad=no_grad)
        )
        theirs = {"trl": worker(False), "trl, no_grad": worker(True)}
        length, stepper = prompt_length(ours, clips[0]), Stepper(ours)
        found: dict[str, list[dict]] = {name: [] for name in ("srlite", "srlite, again", *theirs)}
        for number, clip in enumerate(clips):
            for name, kind in (("srlite", 0), ("srlite, again", 1)):
                cost = stepper.step(clip, 2 * number + kind)
                found[name].append(asdict(cost) | {"seconds": cost.seconds})
            for name, one in theirs.items():
                found[name].append(one.step())
        patches = found["srlite"][0]["patches"]
        rate = matrix_rate(length + GROUP * COMPLETION, HIDDEN)
        needed = operations(ours, prompt=length, group=GROUP, completion=COMPLETION, patches=patches)
    return {
        "prompt_tokens": {"srlite": length, "trl": theirs["trl"].ready["prompt_tokens"]},
        "versions": {name: theirs["trl"].ready[name] for name in ("trl", "transformers", "torch")},
        "contenders": {name: _summary(steps_[1:]) for name, steps_ in found.items()},
        "floor": {"operations": needed, "operations_per_s": rate, "seconds": needed / rate},
    }


def _summary(steps: Sequence[dict]) -> dict:
    """Medians over steps; counts of the last."""
    seconds = [s["seconds"] for s in steps]
    last = steps[-1]
    return {
        "median_s": statistics.median(seconds),
        "least_s": min(seconds),
        "most_s": max(seconds),
        "phases_s": {name: statistics.median(s["phases"][name] for s in steps) for name in last["phases"]},
        "tower_s": statistics.median(s["tower_seconds"] for s in steps) if "tower_seconds" in last else None,
        "tokens": last["tokens"],
        "vision_patches": last["vision_patches"] if "vision_patches" in last else last["patches"],
    }


def main() -> None:
    options = OPTIONS.parse_args()
    os.environ.update(OMP_NUM_THREADS=str(options.threads), OMP_WAIT_POLICY="passive")
    sizes = {}
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["SRLITE_HOME"] = str(Path(folder) / "home")
            sizes[size] = measure(size, options, Path(folder))
    over = lambda f, other, mine: f["contenders"][other]["median_s"] / f["contenders"][mine]["median_s"]
    document = {
        "ratios": {size: over(f, "trl, no_grad", "srlite") for size, f in sizes.items()},
        "plain_ratios": {size: over(f, "trl", "srlite") for size, f in sizes.items()},
        "sizes": sizes,
    }
    if options.json:
        print(json.dumps(document, indent=1))
        return
    for size, figures in sizes.items():
        _show(size, figures)
    print("median of TRL with its tower under no_grad over ours:", {s: round(r, 1) for s, r in document["ratios"].items()})


def _show(size: str, figures: dict) -> None:
    print(f"{size}: prompt tokens {figures['prompt_tokens']}, group {GROUP}, completion {COMPLETION}")
    for name, c in figures["contenders"].items():
        phases = ", ".join(f"{p} {s:.2f}" for p, s in c["phases_s"].items())
        tower = f", of it tower {c['tower_s']:.2f}" if c["tower_s"] is not None else ""
        print(f"  {name:14s} {c['median_s']:7.2f} s ({c['least_s']:.2f} to {c['most_s']:.2f}): {phases}{tower}")
        print(f"  {'':14s} tokens {c['tokens']}, patches {c['vision_patches']}")
    floor = figures["floor"]
    needed, rate = floor["operations"] / 1e9, floor["operations_per_s"] / 1e9
    print(f"  floor          {floor['seconds']:7.2f} s: {needed:.0f} thousand million operations at {rate:.0f} a second")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
