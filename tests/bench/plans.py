"""What every preset for a card plans for a clinic of 500 clips: `python tests/bench/plans.py`. No model is loaded.

The same numbers as `srlite train ... --preset NAME --dry-run` prints for such data; on a machine with a card, for that card.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from srlite.models.registry import registry
from srlite.records.dataset import catalogue_of
from srlite.training.planning import plan_json, plan_run

CLIPS, CHILDREN = 500, 60
PHASES = ("look", "sample", "judge", "reference", "update")
GB = 1e9


def clinic(folder: Path) -> tuple[Path, Path]:
    """Records of 500 clips over the bundled items; what stands for the clips is never decoded here."""
    (folder / "videos").mkdir()
    codes, rows = list(catalogue_of(None)), ["video,item,outcome,child"]
    for i in range(CLIPS):
        (folder / "videos" / f"{i}.mp4").write_text(str(i))
        rows.append(f"{i}.mp4,{codes[i % len(codes)]},{'fail' if i % 4 == 0 else 'pass'},child{i % CHILDREN}")
    (folder / "items.csv").write_text("\n".join(rows) + "\n")
    return folder / "items.csv", folder / "videos"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        items, videos = clinic(Path(folder))
        plans = [
            plan_json(plan_run(items, videos, preset=name, catalogue=None, over={}))
            for name, preset in registry().presets.items()
            if preset.card_gb
        ]
    print("| preset | descriptor, judge | prompt | held | " + " | ".join(PHASES) + " | turns | disk | time |")
    print("|---" * (7 + len(PHASES)) + "|")
    for p in plans:
        m = p["memory"]
        held = sum(m["rest"].values())
        disk = sum(p["disk"][name] for name in ("frames", "features", "run"))
        peaks = " | ".join(f"{m['peaks'][phase] / GB:.1f}" for phase in PHASES)
        print(
            f"| {p['preset']} | {p['descriptor']}, {p['judge']} | {p['prompt_tokens_at_most']:,} | {held / GB:.1f} | {peaks} "
            f"| {m['turns']} | {disk / GB:.0f} | {p['time']['hours']:.0f} h |"
        )
    print("\nTime with less, each by itself:")
    for p in plans:
        print(f"{p['preset']}: " + ", ".join(f"{s['change']} {s['hours']:.0f} h" for s in p["time"]["sooner"]))
    print(f"\nTime: {plans[0]['time']['on']}; {plans[0]['optimiser_steps_at_most']:,} optimiser steps; memory and disk in GB.")


if __name__ == "__main__":
    main()
