"""The one way through the language model that sampling and scoring share.

Contract: cached vision features are put in place of the placeholders, positions and masks are always
explicit, and the model's own memory of positions (`rope_deltas`) is never read. `next_logprobs` is the only
distribution over tokens in this package: temperature 1, float32, tokens that are never written masked out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from srlite.descriptor.features import Features
from srlite.descriptor.inputs import Prompt
from srlite.descriptor.load import Descriptor
from srlite.errors import ModelError

if TYPE_CHECKING:
    from transformers import Cache


def embed(descriptor: Descriptor, prompt: Prompt, features: Features, ids: torch.Tensor) -> torch.Tensor:
    """Embeddings (S, hidden) of the prompt followed by `ids` (S - P,), the clip's features in place."""
    row = torch.cat([prompt.input_ids, ids])
    embeds = descriptor.core.get_input_embeddings()(row)
    places = prompt.video_mask.nonzero()[:, 0]  # (N,)
    if len(places) != len(features.tokens):
        raise ModelError(
            f"{len(features.tokens)} vision features for {len(places)} placeholders",
            remedy="The features belong to another clip or another number of frames.",
        )
    return embeds.index_copy(0, places, features.tokens.to(embeds.dtype))


def run_prompt(
    descriptor: Descriptor,
    prompt: Prompt,
    features: Features,
    *,
    ids: torch.Tensor,
    positions: torch.Tensor,
    text_positions: torch.Tensor,
    mask: torch.Tensor | None,
    cache: Cache | None,
) -> torch.Tensor:
    """Run the prompt followed by `ids` (S - P,) and return the last hidden states (S, hidden).

    positions: (3, S). text_positions: (S,).
    mask: bool (S, S), True where a row may see a column; None is causal.
    cache: filled with the row's keys and values when given.
    """
    embeds = embed(descriptor, prompt, features, ids)
    video = torch.cat([prompt.video_mask, torch.zeros_like(ids, dtype=torch.bool)])
    deep = {"visual_pos_masks": video[None], "deepstack_visual_embeds": list(features.deepstack)}
    return _language(
        descriptor,
        embeds,
        torch.cat([text_positions[None], positions]),
        mask,
        cache,
        **(deep if features.deepstack else {}),
    )


def run_tokens(
    descriptor: Descriptor,
    ids: torch.Tensor,
    *,
    position: int,
    text_position: int,
    mask: torch.Tensor,
    cache: Cache,
) -> torch.Tensor:
    """Run one token of each sample alive, ids (A,), after what is in `cache`: hidden states (A, hidden).

    All of them stand at the same M-RoPE `position`. mask: bool (A, K + A), K the length of the cache.
    """
    positions = torch.full((4, len(ids)), position, device=ids.device)
    positions[0] = text_position
    embeds = descriptor.core.get_input_embeddings()(ids)
    return _language(descriptor, embeds, positions, mask, cache)


def _language(
    descriptor: Descriptor,
    embeds: torch.Tensor,  # (S, hidden)
    positions: torch.Tensor,  # (4, S): text, time, height, width
    mask: torch.Tensor | None,  # (S, K)
    cache: Cache | None,
    **deepstack: object,
) -> torch.Tensor:
    output = descriptor.core.language_model(
        inputs_embeds=embeds[None],
        position_ids=positions[:, None],
        attention_mask=None if mask is None else mask[None, None],
        use_cache=cache is not None,
        **{descriptor.family.cache_argument: cache},
        **deepstack,
    )
    return output.last_hidden_state[0]


def next_logprobs(descriptor: Descriptor, hidden: torch.Tensor) -> torch.Tensor:
    """Log-probabilities (N, V) float32 of the token after each hidden state (N, hidden).

    Raises ModelError when the model's numbers are not finite.
    """
    logprobs = (descriptor.head(hidden).float() + descriptor.penalty).log_softmax(-1)
    # one bad number spoils its whole row, so a single column tells
    if not bool(logprobs.detach()[:, descriptor.family.ends[0]].isfinite().all()):
        raise ModelError(
            "the model computed numbers that are not finite",
            remedy="Load it in bfloat16 or float32; with an adapter, go back to an earlier checkpoint.",
        )
    return logprobs
