"""A whole model with the adapter in its weights: the base's folder, for transformers, vLLM and whatever reads such folders.

Contract: see descriptor/merging.py for the weights; configuration, tokenizer, processor and licence are the base's files.
What was written is compared tensor by tensor, then loaded, and asked what base and adapter are asked.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from pathlib import Path

import torch

from srlite.descriptor.load import Precision, adapter_off, load_descriptor
from srlite.descriptor.merging import compare_merged, write_merged
from srlite.descriptor.probing import row_logprobs
from srlite.descriptor.weights import read_shards, require_whole_weights
from srlite.files import require_space, write_private
from srlite.forms.source import SMALL_FILES, Comparison, Made, Source, Tick, base_with_adapter, precision_that_fits, require

TOLERANCE = {"exact": 1e-4, "rounded": 2e-2, "bfloat16": 5e-2}
"""Shares of the largest log-probability compared. exact: float32 all along, only the order of the sums differs. rounded: the
merged weights were rounded to 16 bits, once (by 2^-9 of each at most). bfloat16: computed in it; logits of 16 to 32 come in
steps of an eighth there."""
_WORTH_TELLING = 0.1
"""Share of the adapter's effect that may be lost by rounding before it is told."""
_CARRIED = (".json", ".jinja", ".txt")
"""Of the base's folder: configuration, tokenizer, processor, chat template. No code and no pickles."""


def write_merged_model(source: Source, folder: Path, tick: Tick) -> Made:
    """Raises ModelError for a base in fewer than 16 bits and for a model that says something else, or DeviceError."""
    require_whole_weights(source.model.path, source.shards)
    require_space(folder, sum(shard.path.stat().st_size for shard in source.shards) + SMALL_FILES)
    precision = precision_that_fits(source)
    _carry(source.model.path, folder)
    write_merged(source.shards, source.pairs, folder, tick=lambda done, total: tick("merge", done, total))
    found = compare_merged(source.shards, read_shards(folder), source.pairs)
    said, effect = _said(source, folder, precision)
    require(said)
    tensors = (
        Comparison(f"{found.same} tensors that the adapter does not touch, and the base's", 0.0, 0.0),
        Comparison(f"{found.merged} merged tensors, and the sum in float32 rounded once", 0.0, 0.0),
    )
    lost = tuple(_lost(said, effect)) if precision == "float32" else ()  # bfloat16's own noise hides it
    return Made((*tensors, said), effect, lost)


def _said(source: Source, folder: Path, precision: Precision) -> tuple[Comparison, float]:
    """What the merged model says beside base + adapter, and the adapter's effect. One model at a time is in memory."""
    adapted, plain = _with_and_without(source, precision)
    gc.collect()
    again = row_logprobs(load_descriptor(folder, adapter=None, device="cpu", quantise=False, dtype=precision, seed=0))
    exact = all(source.stored[name].kind == "F32" for name in source.pairs)
    how = "bfloat16" if precision == "bfloat16" else "exact" if exact else "rounded"
    compared = Comparison(
        f"log-probabilities of {len(again)} tokens in a packed row, merged and base + adapter, computed in {precision}",
        float((again - adapted).abs().max()),
        TOLERANCE[how] * float(adapted.abs().max()),
    )
    return compared, float((adapted - plain).abs().max())


def _with_and_without(source: Source, precision: Precision) -> tuple[torch.Tensor, torch.Tensor]:
    descriptor = base_with_adapter(source, precision)
    adapted = row_logprobs(descriptor)
    with adapter_off(descriptor):
        return adapted, row_logprobs(descriptor)


def _lost(said: Comparison, effect: float) -> Iterator[str]:
    """Rounding to 16 bits swallows what is smaller than half a step of the weight."""
    if said.largest_difference > _WORTH_TELLING * effect:
        share = said.largest_difference / effect if effect else 1.0
        yield (
            f"rounding to the base's number format costs up to {share:.0%} of what the adapter changes: "
            "use --to peft where that matters"
        )


def _carry(base: Path, folder: Path) -> None:
    """The base's small files; the configuration without the path that some releases note in it."""
    for path in sorted(base.iterdir()):
        if path.is_file() and (path.suffix in _CARRIED or path.name.startswith("LICENSE")) and not path.name.startswith("."):
            write_private(folder / path.name, path.read_bytes())
    settings = json.loads((base / "config.json").read_text(encoding="utf-8"))
    if settings.pop("_name_or_path", None) is not None:
        write_private(folder / "config.json", json.dumps(settings, indent=2) + "\n")
