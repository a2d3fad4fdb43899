"""The one way through the language model that sampling and scoring share.

Contract: a prompt is read once (`read_prompt`); whatever follows it runs over what was kept of it (`run_answers`). Cached
vision features are put in place of the placeholders, positions are always explicit, and the model's own memory of positions
(`rope_deltas`) and its cache are never used. `next_logprobs` is the only distribution over tokens in this package:
temperature 1, float32, tokens that are never written masked out.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from srlite.descriptor.attention import Kept, Memory, Reading
from srlite.descriptor.features import Features
from srlite.descriptor.inputs import Prompt
from srlite.descriptor.load import Descriptor
from srlite.errors import ModelError


class NotFinite(ModelError):
    """The model computed an infinity or no number at all."""


@dataclass(frozen=True)
class Read:
    """A prompt that was read: what its answers attend to, and where they begin."""

    kept: Kept
    last: torch.Tensor
    """Hidden state (1, hidden) of the prompt's last token."""
    next_position: int
    """M-RoPE position of the first token of an answer."""


def read_prompt(descriptor: Descriptor, prompt: Prompt, features: Features) -> Read:
    """Run the prompt, with a graph where gradients are enabled. Raises ModelError when the features are not the prompt's."""
    deep = {"visual_pos_masks": prompt.video_mask[None], "deepstack_visual_embeds": list(features.deepstack)}
    memory = Reading()
    hidden = _language(
        descriptor,
        _embed(descriptor, prompt, features),
        prompt.positions,
        memory,
        **(deep if features.deepstack else {}),
    )
    return Read(memory.kept(), hidden[-1:], prompt.next_position)


def _embed(descriptor: Descriptor, prompt: Prompt, features: Features) -> torch.Tensor:
    """Embeddings (P, hidden) of the prompt, the clip's features in place."""
    embeds = descriptor.core.get_input_embeddings()(prompt.input_ids)
    places = prompt.video_mask.nonzero()[:, 0]  # (N,)
    if len(places) != len(features.tokens):
        raise ModelError(
            f"{len(features.tokens)} vision features for {len(places)} placeholders",
            remedy="The features belong to another clip or another number of frames.",
        )
    return embeds.index_copy(0, places, features.tokens.to(embeds.dtype))


def run_answers(descriptor: Descriptor, ids: torch.Tensor, positions: torch.Tensor, memory: Memory) -> torch.Tensor:
    """Run tokens of answers, ids (S,) at M-RoPE positions (S,), over what `memory` holds: hidden states (S, hidden)."""
    embeds = descriptor.core.get_input_embeddings()(ids)
    return _language(descriptor, embeds, positions.expand(3, -1), memory)


def _language(
    descriptor: Descriptor,
    embeds: torch.Tensor,  # (S, hidden)
    positions: torch.Tensor,  # (3, S): time, height, width
    memory: Memory,
    **deepstack: object,
) -> torch.Tensor:
    output = descriptor.core.language_model(
        inputs_embeds=embeds[None], position_ids=positions[:, None], use_cache=False, memory=memory, **deepstack
    )
    return output.last_hidden_state[0]


def next_logprobs(descriptor: Descriptor, hidden: torch.Tensor) -> torch.Tensor:
    """Log-probabilities (N, V) float32 of the token after each hidden state (N, hidden).

    Raises NotFinite.
    """
    logprobs = (descriptor.head(hidden).float() + descriptor.penalty).log_softmax(-1)
    # one bad number spoils its whole row, so a single column tells
    if bool(logprobs.detach()[:, descriptor.family.ends[0]].isnan().any()):
        raise NotFinite(
            "the model computed numbers that are not finite",
            remedy="Load it in bfloat16 or float32; with an adapter, go back to an earlier checkpoint.",
        )
    return logprobs
