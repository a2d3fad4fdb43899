"""The descriptor by another backend: unsloth's faster layers, let in only where they compute the same.

Contract: `load_with` gives a descriptor of the backend asked for, or of the default one with a note that says why. Unsloth is
believed after a check: the log-probabilities of a packed row, once by each backend, may differ by TOLERANCE at most.
What unsloth does to a process is contained: it is imported here only, after its telemetry was switched off and its compiled
files were sent to the cache folder; its patches of other libraries last as long as the process that asked for it.
Left out: its trainers and its own adapters; the adapter is PEFT's, as everywhere.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import torch

from srlite.descriptor import attention
from srlite.descriptor.attention import Scoring
from srlite.descriptor.forward import next_logprobs, run_answers
from srlite.descriptor.load import Descriptor, assembled, load_descriptor

TOLERANCE = 0.05
"""In log-probability, of one token: two orders of bfloat16 sums over some 36 layers differ by about half of it."""
_LENGTH, _ANSWERS = 48, 3


def load_with(backend: str, folder: Path, *, compiled: Path, **how) -> Descriptor:
    """`compiled`: where unsloth may put what it compiles. how: as of load_descriptor. Raises as that does."""
    plain = load_descriptor(folder, **how)
    if backend == "default":
        return plain
    if why := _impossible(plain, how["quantise"]):
        return replace(plain, notes=(f"{why}: the default backend is used",))
    expected = probe(plain)
    del plain
    gc.collect()
    torch.cuda.empty_cache()
    return checked(lambda: _load_by_unsloth(folder, compiled, **how), expected, lambda: load_descriptor(folder, **how))


def checked(load: Callable[[], Descriptor], expected: torch.Tensor, otherwise: Callable[[], Descriptor]) -> Descriptor:
    """What `load` gives where it computes what was expected, else what `otherwise` gives, with a note."""
    try:
        found = load()
        apart = (probe(found) - expected).abs().max().item()
        said = f"its log-probabilities are {apart:.3f} apart from the default's, more than {TOLERANCE}"
        if apart <= TOLERANCE:
            return replace(found, notes=(f"unsloth is used: its log-probabilities are within {apart:.3f} of the default's",))
        del found
    except Exception as error:  # whatever another's code raises: there is another way
        said = f"it failed ({type(error).__name__}: {error})"
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return replace(otherwise(), notes=(f"unsloth is not used: {said}. The default backend is",))


def probe(descriptor: Descriptor) -> torch.Tensor:
    """Log-probabilities (S,) of a fixed row: a stretch of tokens read as a prompt, and answers that share it."""
    ordinary = (descriptor.penalty == 0).nonzero()[:, 0].cpu()
    picked = torch.randint(len(ordinary), (_LENGTH * (1 + _ANSWERS),), generator=torch.Generator().manual_seed(0))
    prompt, answers = ordinary[picked].to(descriptor.device).split([_LENGTH, _LENGTH * _ANSWERS])
    reading = attention.Reading()
    with torch.no_grad():
        run_answers(descriptor, prompt, torch.arange(_LENGTH, device=descriptor.device), reading)
        steps = _LENGTH + torch.arange(_LENGTH, device=descriptor.device).repeat(_ANSWERS)
        owners = torch.arange(_ANSWERS, device=descriptor.device).repeat_interleave(_LENGTH)
        hidden = run_answers(descriptor, answers, steps, Scoring(reading.kept(), owners))
        logprobs = next_logprobs(descriptor, hidden[:-1])
    return logprobs.gather(1, answers[1:, None])[:, 0].cpu()


def _impossible(descriptor: Descriptor, quantise: bool) -> str | None:
    if find_spec("unsloth") is None:
        return 'unsloth is not installed (pip install "srlite[unsloth]")'
    if descriptor.device.type != "cuda":
        return "unsloth loads vision models on a card only"
    return None if quantise else "unsloth is let in for models in 4 bit only"


def _load_by_unsloth(folder: Path, compiled: Path, **how) -> Descriptor:
    os.environ["UNSLOTH_DISABLE_STATISTICS"] = "1"
    os.environ["UNSLOTH_COMPILE_LOCATION"] = str(compiled)
    from unsloth import FastVisionModel

    base, _ = FastVisionModel.from_pretrained(
        str(folder), load_in_4bit=True, fast_inference=False, local_files_only=True, trust_remote_code=False
    )
    base.config.text_config._attn_implementation = attention.NAME
    base.model.language_model.config._attn_implementation = attention.NAME
    return assembled(base, folder, adapter=how["adapter"], seed=how["seed"], device=torch.device("cuda"), dtype=torch.bfloat16)
