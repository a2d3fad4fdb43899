"""What the vision tower sees of a clip, and its cache on disk.

Contract: the tower runs without gradients, once for a clip; `FeatureStore` keeps the result under the clip's hash
and a key made of everything else that it depends on (clipcache.py): the times and size of the frames, the tower's
weights and the number format. The store has a budget in bytes: it takes features until it is full and never throws
any out, because a run reads its clips in cycles, where throwing out the oldest would never leave a hit.
What finds no room may be kept `aside` for as long as a slice of training lasts.
Where the model is on a card, the tower waits in main memory and is there only while it is needed (`tower_at_work`).
Left out: frames on disk (the video room).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from srlite.clipcache import entry_place
from srlite.descriptor.inputs import Prompt
from srlite.descriptor.load import Descriptor
from srlite.files import write_private
from srlite.types import Frames

KEY_VERSION = "srlite.features/2"


@dataclass(frozen=True, eq=False)
class Features:
    """Merged tokens of one clip, N of them, and the levels that Qwen3-VL adds inside the language model."""

    tokens: torch.Tensor  # (N, hidden)
    deepstack: tuple[torch.Tensor, ...]  # each (N, hidden)


@contextmanager
def tower_at_work(descriptor: Descriptor) -> Iterator[None]:
    """The tower on the descriptor's device; where it waited elsewhere it goes back there. Put it around many calls."""
    tower = descriptor.core.visual
    waited = next(tower.parameters()).device
    tower.to(descriptor.device)
    try:
        yield
    finally:
        tower.to(waited)


def encode(descriptor: Descriptor, prompt: Prompt) -> Features:
    """Run the vision tower on the prompt's pixels."""
    with torch.no_grad(), tower_at_work(descriptor):
        seen = descriptor.core.get_video_features(
            prompt.pixels.to(descriptor.device), prompt.grid.to(descriptor.device), return_dict=True
        )
    deepstack = getattr(seen, "deepstack_features", None) or ()
    return Features(_whole(seen.pooler_output), tuple(_whole(level) for level in deepstack))


def _whole(parts: torch.Tensor | tuple[torch.Tensor, ...]) -> torch.Tensor:
    # one tensor, or one for each clip, by release
    return parts if isinstance(parts, torch.Tensor) else torch.cat(list(parts))


def feature_place(
    folder: Path, descriptor: Descriptor, times_s: tuple[float, ...], size: tuple[int, int], clip_sha256: str
) -> Path:
    """Named after the clip and everything else that its features depend on. size: height and width of a frame in pixels."""
    parts = [KEY_VERSION, [float(t).hex() for t in times_s], size, descriptor.vision_sha256, str(descriptor.dtype)]
    return entry_place(folder, clip_sha256, json.dumps(parts), ".safetensors")


class FeatureStore:
    """Features in a folder. Counts hits, misses, tower_calls, unkept (no room) and damaged files."""

    def __init__(self, folder: Path, *, max_bytes: int):
        self.folder = Path(folder)
        self.max_bytes = max_bytes
        self.hits = self.misses = self.tower_calls = self.unkept = self.damaged = 0
        self.used_bytes = sum(p.stat().st_size for p in self.folder.glob("*/*.safetensors"))
        self._aside: Path | None = None

    @contextmanager
    def aside(self, folder: Path) -> Iterator[None]:
        """Until the end, what finds no room is kept in `folder`, deleted then (after an error it stays, for a resume)."""
        self._aside = folder
        try:
            yield
        finally:
            self._aside = None
        shutil.rmtree(folder, ignore_errors=True)

    def holds(self, descriptor: Descriptor, frames: Frames, *, clip_sha256: str) -> bool:
        """Are the features of these frames there? Nothing is read."""
        return self._path(descriptor, frames.times_s, frames.images.shape[1:3], clip_sha256).is_file()

    def features(self, descriptor: Descriptor, prompt: Prompt, *, clip_sha256: str) -> Features:
        """Features from the disk, or from the tower; then kept if the budget allows. Raises DeviceError."""
        path = self._path(descriptor, prompt.times_s, prompt.size, clip_sha256)
        places = [path, *([self._aside / path.name] if self._aside else [])]
        for place in places:
            if (stored := self._read(place, descriptor)) is not None:
                self.hits += 1
                return stored
        self.misses += 1
        self.tower_calls += 1
        features = encode(descriptor, prompt)
        self._keep(places, features)
        return features

    def _path(self, descriptor: Descriptor, times_s: tuple[float, ...], size: tuple[int, int], clip_sha256: str) -> Path:
        return feature_place(self.folder, descriptor, times_s, tuple(size), clip_sha256)

    def _read(self, path: Path, descriptor: Descriptor) -> Features | None:
        if not path.is_file():
            return None
        try:
            # read, not mapped: a mapped file that somebody cuts short ends the process
            tensors = {name: t.to(descriptor.device) for name, t in load(path.read_bytes()).items()}
            levels = range(descriptor.family.deepstack)
            return Features(tensors["tokens"], tuple(tensors[f"deepstack.{i}"] for i in levels))
        except (SafetensorError, KeyError):
            # a cache may be rebuilt; the count makes it visible
            self.damaged += 1
            self.used_bytes -= path.stat().st_size if path.is_relative_to(self.folder) else 0
            path.unlink()
            return None

    def _keep(self, places: Sequence[Path], features: Features) -> None:
        """In the store, where it has room; else aside, where there is such a place."""
        levels = {f"deepstack.{i}": level for i, level in enumerate(features.deepstack)}
        tensors = {"tokens": features.tokens} | levels
        content = save({name: t.cpu().contiguous() for name, t in tensors.items()})
        store, *aside = places
        if self.used_bytes + len(content) <= self.max_bytes:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(store, content)
            self.used_bytes += len(content)
            return
        self.unkept += 1
        for place in aside:
            write_private(place, content)
