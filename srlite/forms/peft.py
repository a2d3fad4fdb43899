"""The adapter for transformers and peft: adapter_model.safetensors and adapter_config.json, as PeftModel.from_pretrained reads.

Contract: the tensors are the run's own file, byte by byte. The configuration names the base's public repository where it has
one, and never a path of this machine.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch

from srlite.descriptor.adapter import CONFIG, WEIGHTS, adapter_tensors
from srlite.descriptor.merging import adapter_pairs
from srlite.errors import ModelError
from srlite.files import require_space, write_private
from srlite.forms.source import SMALL_FILES, Comparison, Made, Source, Tick


def write_peft(source: Source, folder: Path, tick: Tick) -> Made:
    """Raises ModelError or DeviceError."""
    adapter = source.run.adapter
    require_space(folder, (adapter / WEIGHTS).stat().st_size + SMALL_FILES)
    write_private(folder / WEIGHTS, (adapter / WEIGHTS).read_bytes())
    settings = json.loads((adapter / CONFIG).read_text(encoding="utf-8"))
    settings["base_model_name_or_path"] = source.repository
    write_private(folder / CONFIG, json.dumps(settings, indent=2, sort_keys=True) + "\n")
    _compare(source, folder)
    tick("read again", 1, 1)
    return Made((Comparison(f"{2 * len(source.pairs)} tensors of the adapter, in shapes that fit the base", 0.0, 0.0),))


def _compare(source: Source, folder: Path) -> None:
    found = adapter_pairs(adapter_tensors(folder, source.base_sha256), source.stored, str(folder))
    same = [torch.equal(p.a, found[name].a) and torch.equal(p.b, found[name].b) for name, p in source.pairs.items()]
    if not all(same):
        raise ModelError("the files do not hold the adapter that was written", where=str(folder))
