"""Files for llama.cpp: model.gguf (the base's language model), adapter.gguf, and, where possible, tower.gguf (its mmproj).

Contract: before gigabytes are written, this machine's llama.cpp says whether it knows the architecture and splits text alike.
Afterwards it loads all of them, in a process of its own, and its logits of a text, without and with the adapter, and its
features of a picture are compared with torch's. A picture in a text is not: how llama.cpp numbers its positions is its own.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from srlite.descriptor.gguf_lora import write_lora
from srlite.descriptor.gguf_model import language_parts, write_head, write_language_model
from srlite.descriptor.gguf_parts import Part, architecture
from srlite.descriptor.gguf_tower import tower_parts, write_tower
from srlite.descriptor.load import (
    Precision,
    PretrainedConfig,
    ProcessorMixin,
    adapter_off,
    load_configuration,
    load_processor,
)
from srlite.descriptor.probing import TEXTS, picture, picture_features, text_ids, text_logits
from srlite.descriptor.weights import Stored, require_whole_weights
from srlite.errors import ModelError
from srlite.files import require_space
from srlite.forms.source import SMALL_FILES, Comparison, Made, Source, Tick, base_with_adapter, precision_that_fits, require
from srlite.readback.ask import Request, read_again

TOLERANCE = {"float32": 1e-2, "bfloat16": 5e-2}
"""Shares of the largest number compared, by the format that torch computes in. llama.cpp rounds whatever it multiplies float16
weights with to 16 bits: 5e-4 is usual."""
_NOISE, _OF_EFFECT = 4, 0.05
"""With the adapter the difference may be so many times that of the base alone, and that share of the adapter's effect, besides:
a wrong scale of a small adapter would not be seen otherwise."""


def write_gguf(source: Source, folder: Path, tick: Tick) -> Made:
    """Raises ModelError when llama.cpp or the gguf package cannot have the model, or says something else; or DeviceError."""
    require_whole_weights(source.model.path, source.shards)
    precision, config = precision_that_fits(source), load_configuration(source.model.path)
    processor = load_processor(source.model.path)
    parts, (of_tower, warnings) = language_parts(config, source.stored), _tower_or_why_not(config, source.stored)
    require_space(folder, sum(part.nbytes for part in (*parts, *of_tower)) + 2 * SMALL_FILES)
    _require_known(config, processor, folder)
    write_lora(source.pairs, architecture(source.family), config.text_config.num_hidden_layers, folder / "adapter.gguf")
    told = lambda what: lambda done, total: tick(what, done, total)
    write_language_model(config, processor.tokenizer, parts, folder / "model.gguf", tick=told("write model"))
    if of_tower:
        write_tower(config, processor, of_tower, folder / "tower.gguf", tick=told("write tower"))
    verified, effect = _compare(source, folder, precision, tower=bool(of_tower))
    return Made(verified, effect, warnings)


def _tower_or_why_not(config: PretrainedConfig, stored: Mapping[str, Stored]) -> tuple[list[Part], tuple[str, ...]]:
    try:
        return tower_parts(config, stored), ()
    except ModelError as error:
        return [], (f"no tower.gguf, so that llama.cpp sees no pictures: {error.message}. {error.remedy}",)


def _require_known(config: PretrainedConfig, processor: ProcessorMixin, folder: Path) -> None:
    head = folder / "head.gguf"
    write_head(config, processor.tokenizer, head)
    own = tuple(tuple(processor.tokenizer.encode(text, add_special_tokens=False)) for text in TEXTS)
    if read_again(Request(head, TEXTS)).tokens != own:
        raise ModelError(
            "llama.cpp splits text into other tokens than this model's tokenizer",
            remedy="Use --to merged or --to peft: for llama.cpp the tokenizer must be Qwen's.",
        )
    head.unlink()


def _compare(source: Source, folder: Path, precision: Precision, *, tower: bool) -> tuple[tuple[Comparison, ...], float]:
    """The comparisons, and the adapter's effect on the text's logits. Raises ModelError."""
    descriptor = base_with_adapter(source, precision)
    ids = text_ids(descriptor, TEXTS[0])
    adapted_TV = text_logits(descriptor, ids).numpy()
    with adapter_off(descriptor):
        plain_TV = text_logits(descriptor, ids).numpy()
    shown = picture(descriptor, 0) if tower else None
    features_NH = picture_features(descriptor).numpy() if tower else None
    del descriptor
    gc.collect()  # llama.cpp wants the memory
    files = {"adapter": folder / "adapter.gguf", "tower": folder / "tower.gguf" if tower else None}
    answer = read_again(Request(folder / "model.gguf", TEXTS, ids, **files, picture=shown, threads=torch.get_num_threads()))
    share, text = TOLERANCE[precision], f"logits of {len(ids)} tokens of text in llama.cpp and in torch"
    effect = float(np.abs(adapted_TV - plain_TV).max())
    plain = _near(f"{text}, base alone", answer.plain_TV, plain_TV, share)
    adapted = _near(f"{text}, base + adapter", answer.adapted_TV, adapted_TV, share)
    narrow = min(adapted.tolerance, _NOISE * plain.largest_difference + _OF_EFFECT * effect)
    verified = [plain, replace(adapted, tolerance=narrow)]
    if tower:
        verified.append(_near("features of a picture in llama.cpp and in torch", answer.features_NH, features_NH, share))
    for comparison in verified:
        require(comparison)
    return tuple(verified), effect


def _near(what: str, found: np.ndarray, wanted: np.ndarray, share: float) -> Comparison:
    same = found.shape == wanted.shape
    difference = float(np.abs(found - wanted).max()) if same else float("inf")
    return Comparison(what, difference, share * float(np.abs(wanted).max()))
