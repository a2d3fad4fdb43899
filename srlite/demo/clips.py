"""Demonstration data on disk: H.264 clips, their items.csv, the catalogue, and what every clip shows.

`python -m srlite.demo.clips FOLDER` writes a data set as the bundled examples were made.
"""

from __future__ import annotations

import argparse
import csv
import io
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

from srlite.demo.draw import render
from srlite.demo.truth import write_scenes
from srlite.demo.world import FPS, Scene, clinic
from srlite.device.threads import cores
from srlite.files import private_folder, write_private
from srlite.records.dataset import BUNDLED_CATALOGUE

EXAMPLES_WORLD = 1
"""Seed of the world of the bundled examples."""
CLIPS_PER_ITEM = 9
CHILDREN_PER_AGE = 14
UNSEEN_SHARE = 0.06
COLUMNS = ("video", "item", "outcome", "child", "sex", "age_months", "site")


def write_clip(scene: Scene, path: Path) -> None:
    """Encode a scene as H.264 in an mp4 file."""
    import av

    count = round(scene.duration_s * FPS)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS, options={"crf": "24", "preset": "medium", "threads": "1"})
        stream.width = stream.height = 128
        stream.pix_fmt = "yuv420p"
        stream.time_base = Fraction(1, FPS)
        for at, picture in enumerate(render(scene, [(i + 0.5) / FPS for i in range(count)])):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts = at
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def write_dataset(scenes: Iterable[Scene], folder: Path, *, tick: Callable[[int], None] = lambda done: None) -> Path:
    """Write videos/, items.csv, items.toml and scenes.json under `folder`; returns the path of items.csv."""
    videos = private_folder(folder / "videos")
    shown = {f"{scene.child.id}_{scene.item}_{number:03d}.mp4": scene for number, scene in enumerate(scenes)}

    def write(clip: str) -> None:
        write_clip(shown[clip], videos / clip)
        (videos / clip).chmod(0o600)

    with ThreadPoolExecutor(cores()) as threads:  # resizing and encoding let go of Python's lock
        for done, _ in enumerate(threads.map(write, shown), 1):
            tick(done)
    write_scenes(shown, folder)
    shutil.copyfile(BUNDLED_CATALOGUE, folder / "items.toml")
    write_private(folder / "items.csv", _table(shown))
    return folder / "items.csv"


def _table(shown: dict[str, Scene]) -> str:
    """The outcome is left empty where the clip does not show it: nobody could learn from such a row but to guess."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for clip, s in shown.items():
        outcome = s.outcome if s.view == "clear" else ""
        writer.writerow([clip, s.item, outcome, s.child.id, s.child.sex, s.child.age_months, s.child.site])
    return out.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a demonstration data set: clips, items.csv, catalogue.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=EXAMPLES_WORLD)
    parser.add_argument("--clips-per-item", type=int, default=CLIPS_PER_ITEM)
    args = parser.parse_args()
    scenes = clinic(args.seed, args.clips_per_item, children=CHILDREN_PER_AGE, unseen_share=UNSEEN_SHARE)
    print(write_dataset(scenes, args.folder))


if __name__ == "__main__":
    main()
