"""Everything that a job has open at once: clips, descriptor, judge, and their caches.

`open_workbench` is the one place where settings become opened things; jobs take the workbench and pass on its parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch

from srlite.clipcache import FEATURES, FRAMES
from srlite.config import Settings
from srlite.descriptor.backends import load_with
from srlite.descriptor.features import FeatureStore
from srlite.descriptor.load import Descriptor, load_base
from srlite.descriptor.parking import parked, parked_bytes
from srlite.descriptor.reloading import reloaded
from srlite.device.budget import Budget
from srlite.device.machine import free_memory, usable_device
from srlite.device.threads import usable_threads
from srlite.device.turns import judge_turn
from srlite.files import private_folder
from srlite.judge.answers import Bands
from srlite.judge.cache import VerdictCache
from srlite.judge.client import Judge, JudgeSettings
from srlite.judge.questions import QUESTIONS
from srlite.models.store import InstalledModel, cache_folder, find_descriptor, find_judge
from srlite.records.catalogue import Catalogue
from srlite.sizing import budget_for, models_of, place_for
from srlite.video.pool import ClipReaders
from srlite.video.store import FrameStore

_BUSY_TIMEOUT_S = 60.0
SPARE_BYTES = 2_000_000_000
"""Of main memory, left to everything else while the descriptor waits there."""


@dataclass(frozen=True)
class Workbench:
    """`videos` is the folder that clip paths of pairs are under; None where clips are given by path."""

    settings: Settings
    catalogue: Catalogue
    videos: Path | None
    clips: FrameStore
    descriptor: Descriptor
    features: FeatureStore
    judge: Judge
    descriptor_model: InstalledModel
    judge_model: InstalledModel
    budget: Budget | None
    """Of the card; None without one."""

    @property
    def demonstration(self) -> bool:
        return self.descriptor_model.demonstration or self.judge_model.demonstration

    @property
    def on_card(self) -> bool:
        return self.descriptor.device.type == "cuda"

    @property
    def swapped(self) -> bool:
        """The card has room for one model at a time."""
        return self.budget is not None and not self.budget.plan.resident

    def path(self, clip: str) -> Path:
        return self.videos / clip if self.videos else Path(clip)

    def _aside(self) -> AbstractContextManager[None]:
        """Where the descriptor is during the judge's turn: in main memory, if that has room, else on the disk."""
        how = self.settings.models
        if how.backend != "default" or parked_bytes(self.descriptor) + SPARE_BYTES <= free_memory():
            return parked(self.descriptor)
        d = self.descriptor
        return reloaded(d, partial(load_base, self.descriptor_model.path, d.device, d.dtype, how.quantise))

    def judges_turn(self) -> AbstractContextManager[None]:
        """Put it around every question to the judge."""
        if self.on_card:
            torch.cuda.empty_cache()  # what the allocator holds in reserve is room for the judge
        if not self.swapped:
            return nullcontext()
        return judge_turn(
            self.judge,
            aside=self._aside(),
            free=lambda: torch.cuda.mem_get_info()[0],
            judge_bytes=self.budget.plan.judge.total,
            descriptor_bytes=parked_bytes(self.descriptor),
        )


def judge_settings(settings: Settings, model: InstalledModel, device: str) -> JudgeSettings:
    s = settings.judge
    return JudgeSettings(
        path=model.path,
        sha256=None,
        family=model.family,
        threads=usable_threads(settings.threads),
        n_ctx=s.n_ctx,
        n_batch=s.n_batch,
        n_seq_max=s.n_seq_max,
        gpu_layers=s.gpu_layers if device == "cuda" else 0,
        extra_buffers=True,
        bands={q.id: Bands(s.min_mass, s.thresholds.get(q.id, s.threshold), s.unsure_band) for q in QUESTIONS},
        time_limit_s=s.limit_s,
        canaries=s.canaries,
        thought=s.thought_tokens if s.mode == "reasoned" else 0,
    )


def judge_alone(settings: Settings, model: InstalledModel) -> JudgeSettings:
    """For a command that looks at the judge itself: it is not refused for the canaries."""
    return replace(judge_settings(settings, model, usable_device(settings.models.device)), canaries=False)


def _budget(settings: Settings, catalogue: Catalogue) -> Budget:
    models, _ = models_of(settings)
    return budget_for(models, settings, catalogue, place_for(None, settings))


@contextmanager
def open_workbench(
    settings: Settings, catalogue: Catalogue, *, videos: Path | None, adapter: Path | None
) -> Iterator[Workbench]:
    """Open it all, and close it all. Raises ModelError or DeviceError before anything heavy where it can."""
    descriptor_model = find_descriptor(settings.models.descriptor)
    judge_model = find_judge(settings.models.judge)
    device, kept = usable_device(settings.models.device), private_folder(cache_folder())
    torch.set_num_threads(usable_threads(settings.threads))
    budget = _budget(settings, catalogue) if device == "cuda" else None
    with ExitStack() as stack:
        cache = stack.enter_context(VerdictCache(kept / "verdicts.sqlite", _BUSY_TIMEOUT_S))
        judge = stack.enter_context(Judge(judge_settings(settings, judge_model, device), cache))
        readers = stack.enter_context(ClipReaders(limit_s=settings.video.limit_s))
        descriptor = load_with(
            settings.models.backend,
            descriptor_model.path,
            compiled=kept / "unsloth",
            adapter=adapter,
            device=device,
            quantise=settings.models.quantise,
            dtype="auto",
            seed=settings.seed,
        )
        clips = FrameStore(
            kept / FRAMES,
            readers,
            count=settings.video.frames,
            multiple=descriptor.family.frame_multiple,
            max_pixels=settings.video.max_pixels,
            max_bytes=int(settings.cache.frames_gb * 1e9),
        )
        features = FeatureStore(kept / FEATURES, max_bytes=int(settings.cache.features_gb * 1e9))
        yield Workbench(settings, catalogue, videos, clips, descriptor, features, judge, descriptor_model, judge_model, budget)


@contextmanager
def with_judge(bench: Workbench, name: str) -> Iterator[Workbench]:
    """The workbench with another judge, whose process begins after that of its own has ended (it starts again when asked).

    Thresholds of single questions are those of one judge: the other one goes by `judge.threshold`. Raises ModelError.
    """
    model, s = find_judge(name), bench.settings
    models, judging = s.models.model_copy(update={"judge": name}), s.judge.model_copy(update={"thresholds": {}})
    settings = s.model_copy(update={"models": models, "judge": judging})
    budget = _budget(settings, bench.catalogue) if bench.on_card else None
    bench.judge.close()
    with (
        VerdictCache(private_folder(cache_folder()) / "verdicts.sqlite", _BUSY_TIMEOUT_S) as cache,
        Judge(judge_settings(settings, model, bench.descriptor.device.type), cache) as judge,
    ):
        yield replace(bench, settings=settings, judge=judge, judge_model=model, budget=budget)
