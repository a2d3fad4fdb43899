"""Short ways to score and to sample one prompt, and the way of transformers itself to compare with."""

from __future__ import annotations

from contextlib import contextmanager

import torch

from srlite.descriptor.forward import read_prompt
from srlite.descriptor.generate import Ask, sample_groups
from srlite.descriptor.logprobs import answer_logprobs


def packed_logprobs(descriptor, prompt, features, completions):
    """All completions in one row over one reading of the prompt: tensors (T_i,)."""
    return answer_logprobs(descriptor, read_prompt(descriptor, prompt, features), completions)


def sampled(descriptor, prompt, features, *, count, seed=1, most=12, temperature=1.0, top_p=1.0):
    """One group of `count` descriptions."""
    ask = Ask(prompt, features, tuple(seed * 1000 + i for i in range(count)))
    (group,) = sample_groups(descriptor, [ask], max_new_tokens=most, temperature=temperature, top_p=top_p)
    return group


@contextmanager
def ordinary(descriptor):
    """The model as transformers runs it by itself, with its own attention, masks and cache."""
    configuration = descriptor.core.language_model.config
    ours = configuration._attn_implementation
    configuration._attn_implementation = "sdpa"
    try:
        yield
    finally:
        configuration._attn_implementation = ours


def ordinary_inputs(descriptor, prompt, completion=()):
    """The keyword arguments of a plain forward or generate, vision included."""
    ids = torch.cat([prompt.input_ids, torch.tensor(completion, dtype=torch.long)])[None]
    inputs = dict(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        pixel_values_videos=prompt.pixels,
        video_grid_thw=prompt.grid,
        mm_token_type_ids=(ids == descriptor.family.video_token).int() * 2,
    )
    if prompt.seconds_per_grid is not None:
        inputs["second_per_grid_ts"] = torch.tensor([prompt.seconds_per_grid])
    return inputs


def ordinary_logprobs(descriptor, prompt, completion):
    """Log-probabilities (T,) from a forward of one row, the vision tower run anew."""
    descriptor.core.rope_deltas = None
    with ordinary(descriptor):
        logits = descriptor.model(**ordinary_inputs(descriptor, prompt, completion)).logits[0]
    logits = logits[len(prompt.input_ids) - 1 : -1].clone()
    logits[:, list(descriptor.family.forbidden)] = float("-inf")
    return logits.log_softmax(-1)[torch.arange(len(completion)), list(completion)]
