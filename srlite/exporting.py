"""`srlite export`: take a run's adapter elsewhere. Nothing here touches the network, and nothing is written over.

    peft     adapter_model.safetensors  adapter_config.json                       forms/peft.py
    merged   the base's folder with the adapter in its weights                    forms/merged.py
    gguf     model.gguf (the base's language model)  adapter.gguf  tower.gguf     forms/llama.py

and a README.md with each, which says what it was made of.

Contract: all of it is written beside its place, read again and compared there, and only then renamed: a folder that is there is
whole and verified. Files are for their owner only; paths of this machine, and anything about children, stay behind.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

import torch

from srlite.descriptor.adapter import WEIGHTS
from srlite.device.threads import usable_threads
from srlite.errors import UsageError
from srlite.files import file_sha256, private_folder, sync_folder, write_private
from srlite.forms.card import card
from srlite.forms.llama import write_gguf
from srlite.forms.merged import write_merged_model
from srlite.forms.peft import write_peft
from srlite.forms.source import Comparison, Source, Tick, source_of
from srlite.training.run import finished_run

SCHEMA = "srlite.export/1"
Kind = Literal["peft", "merged", "gguf"]
_WRITERS = {"peft": write_peft, "merged": write_merged_model, "gguf": write_gguf}


@dataclass(frozen=True, slots=True)
class ExportedFile:
    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Exported:
    """What `export_run` leaves. effect: the largest change that the adapter makes in what was compared, or None."""

    run: Path
    to: Kind
    out: Path
    base: str
    base_sha256: str
    adapter_sha256: str
    demonstration: bool
    files: tuple[ExportedFile, ...]
    verified: tuple[Comparison, ...]
    effect: float | None
    warnings: tuple[str, ...]


def silent(what: str, done: int, total: int) -> None:
    """A tick that tells nobody."""


def export_run(run: Path, *, to: Kind, out: Path, tick: Tick = silent) -> Exported:
    """Write the run's adapter in another form into `out`, an empty or missing folder.

    Raises UsageError when something is there, ModelError when the run has no adapter, when its base is missing or another, or
    when what was written does not say the same; DeviceError for want of disk or memory. Then `out` is as it was.
    """
    if to not in get_args(Kind):
        raise UsageError(f"there is no form {to!r} to export to", remedy=f"Use one of: {', '.join(get_args(Kind))}.")
    check_out(out)
    source = source_of(finished_run(run))
    adapter = file_sha256(source.run.adapter / WEIGHTS)
    torch.set_num_threads(usable_threads(source.run.settings().threads))
    with _beside(out) as folder:
        made = _WRITERS[to](source, folder, tick)
        write_private(folder / "README.md", card(source, to, adapter))
        files = tuple(ExportedFile(p.name, p.stat().st_size, file_sha256(p)) for p in sorted(folder.iterdir()))
    return Exported(
        run=run,
        to=to,
        out=out,
        base=source.model.id,
        base_sha256=source.base_sha256,
        adapter_sha256=adapter,
        demonstration=source.model.demonstration,
        files=files,
        verified=made.verified,
        effect=made.effect,
        warnings=(*_trained_in_4_bit(source), *made.warnings),
    )


def check_out(out: Path) -> None:
    """Raises UsageError for a place where something is."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        what = "the folder is not empty" if out.is_dir() else "this is a file, not a folder"
        raise UsageError(what, where=str(out), remedy="Give another --out DIR: nothing is written over.")


@contextmanager
def _beside(out: Path) -> Iterator[Path]:
    """A folder that becomes `out` when all has gone well, and is gone when not."""
    place = out.absolute()
    folder = place.with_name(f".{place.name}.part")
    shutil.rmtree(folder, ignore_errors=True)
    private_folder(folder)
    try:
        yield folder
        os.replace(folder, place)
        sync_folder(place.parent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _trained_in_4_bit(source: Source) -> Iterator[str]:
    if source.run.settings().models.quantise:
        yield (
            "the run trained on the base in 4 bit; what is exported stands on the base as it is stored: "
            "descriptions may differ a little from srlite's own"
        )


def exported_json(found: Exported) -> dict[str, object]:
    """The document of schema srlite.export/1."""
    return {
        "schema": SCHEMA,
        "run": str(found.run),
        "to": found.to,
        "out": str(found.out),
        "base": {"id": found.base, "sha256": found.base_sha256},
        "adapter": {"sha256": found.adapter_sha256},
        "demonstration": found.demonstration,
        "files": [asdict(f) for f in found.files],
        "verified": [
            {"compared": c.what, "largest_difference": c.largest_difference, "tolerance": c.tolerance} for c in found.verified
        ],
        "adapter_effect": found.effect,
        "warnings": list(found.warnings),
    }
