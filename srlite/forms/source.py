"""What is exported: a run's adapter and the base that it belongs to. And what each form has to say of what it wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from srlite.descriptor.adapter import adapter_tensors
from srlite.descriptor.files import weights_sha256
from srlite.descriptor.load import Descriptor, Precision, load_configuration, load_descriptor
from srlite.descriptor.merging import Pair, adapter_pairs
from srlite.descriptor.weights import Shard, Stored, by_name, read_shards
from srlite.errors import DeviceError, ModelError
from srlite.models.registry import registry
from srlite.models.store import InstalledModel, find_descriptor
from srlite.training.run import Run

Tick = Callable[[str, int, int], None]
SMALL_FILES = 50_000_000
"""Bytes for what a form holds besides tensors, generously: configuration, tokenizer, texts."""


@dataclass(frozen=True)
class Source:
    """Read, and found to belong together. repository: the base's public name, where it has one."""

    run: Run
    model: InstalledModel
    family: str
    repository: str | None
    base_sha256: str
    shards: tuple[Shard, ...]
    pairs: Mapping[str, Pair]

    @property
    def stored(self) -> dict[str, Stored]:
        return by_name(self.shards)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was compared after reading it again. `tolerance` 0: equal to the bit."""

    what: str
    largest_difference: float
    tolerance: float


@dataclass(frozen=True, slots=True)
class Made:
    """effect: the largest change that the adapter itself makes in the numbers compared; None where none were computed."""

    verified: tuple[Comparison, ...]
    effect: float | None = None
    warnings: tuple[str, ...] = ()


def source_of(run: Run) -> Source:
    """Raises ModelError when the base is missing or another, or the adapter is damaged or does not fit it."""
    lock, model = run.lock(), find_descriptor(run.settings().models.descriptor)
    shards = read_shards(model.path)
    family = load_configuration(model.path).model_type
    digest = weights_sha256(tuple(shard.path for shard in shards))
    if digest != lock.descriptor_sha256:
        raise ModelError(
            f"the run was made with base weights {lock.descriptor_sha256}, these are {digest}",
            where=str(model.path),
            remedy=f"Put back the {lock.descriptor} that the run was trained on, or train again.",
        )
    pairs = adapter_pairs(adapter_tensors(run.adapter, digest), by_name(shards), str(run.adapter))
    entry = registry().descriptors.get(model.id)
    return Source(run, model, family, entry.repository if entry else None, digest, shards, pairs)


def base_with_adapter(source: Source, precision: Precision) -> Descriptor:
    """On the CPU: no card is needed to export."""
    return load_descriptor(source.model.path, adapter=source.run.adapter, device="cpu", quantise=False, dtype=precision, seed=0)


def require(comparison: Comparison) -> None:
    """Raises ModelError when it differs by more than its tolerance."""
    if not comparison.largest_difference <= comparison.tolerance:  # not a number is not near
        raise ModelError(
            f"{comparison.what}: they differ by {comparison.largest_difference:.3g}, {comparison.tolerance:.3g} is admitted",
            remedy="Nothing is left of the export. This is a fault of srlite or of a library: report it with the versions.",
        )


def precision_that_fits(source: Source) -> Precision:
    """What is written is loaded to be compared: in float32, or in bfloat16 where that is too large. Raises DeviceError."""
    numbers = sum((t.end - t.begin) // t.dtype.itemsize for t in source.stored.values())
    free = _free_memory()
    if free is None or 4 * numbers < free:
        return "float32"
    if 2 * numbers < free:
        return "bfloat16"
    raise DeviceError(
        f"to be verified, the model must be loaded: it takes {2 * numbers:,} bytes of memory, {free:,} are free",
        where=source.model.id,
        remedy="Close other programs, or export the adapter alone: --to peft needs no such memory.",
    )


def _free_memory() -> int | None:
    """Bytes that a new program may take, or None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
