"""What a loaded descriptor says to a made-up clip and to a fixed text: to tell whether two forms of a model are the same.

Contract: the inputs are always the same for a model of the same family and vocabulary. The clip is noise, the answers are
ordinary tokens: nothing here says how good a model is.
"""

from __future__ import annotations

import numpy as np
import torch

from srlite.descriptor.attention import Reading
from srlite.descriptor.features import Features, encode
from srlite.descriptor.forward import read_prompt
from srlite.descriptor.inputs import build_prompt
from srlite.descriptor.load import Descriptor
from srlite.descriptor.logprobs import answer_logprobs
from srlite.types import Frames

TEXTS = (
    "The child stands on the left leg for 2.5 seconds, then hops; the right foot touches the floor twice.",
    "Item 30_1 can't be assessed: the feet are hidden.\n\n(see 007)  été, 孩子单脚站立。",
)
"""Words, figures, line breaks, other scripts: what a tokenizer may split in its own way."""
_SIDE = 8  # merged tokens along a picture's side: llama.cpp scales smaller pictures up; the windows of Qwen2.5-VL are 4 wide
_ANSWERS = (6, 9)  # tokens


def row_logprobs(descriptor: Descriptor) -> torch.Tensor:
    """Log-probabilities (15,) of two answers in one packed row about the made-up clip."""
    images = np.stack([picture(descriptor, seed) for seed in range(4)])
    frames = Frames(images, times_s=(0.0, 0.5, 1.0, 1.5), duration_s=2.0, real=4)
    with torch.no_grad():
        prompt = build_prompt(descriptor, frames, TEXTS[0], system=None)
        read = read_prompt(descriptor, prompt, encode(descriptor, prompt))
        return torch.cat(answer_logprobs(descriptor, read, _answers(descriptor)))


def _answers(descriptor: Descriptor) -> list[tuple[int, ...]]:
    allowed = descriptor.penalty.isfinite().nonzero()[:, 0].tolist()
    rng = np.random.default_rng(5)
    return [tuple(int(t) for t in rng.choice(allowed, length)) for length in _ANSWERS]


def text_ids(descriptor: Descriptor, text: str) -> tuple[int, ...]:
    return tuple(descriptor.processor.tokenizer.encode(text, add_special_tokens=False))


def text_logits(descriptor: Descriptor, ids: tuple[int, ...]) -> torch.Tensor:
    """Logits (T, V) float32 after each token of a text without any clip."""
    with torch.no_grad():
        embeds = descriptor.core.get_input_embeddings()(torch.tensor(ids, device=descriptor.device))
        positions = torch.arange(len(ids), device=descriptor.device).expand(3, 1, -1)
        run = descriptor.core.language_model(
            inputs_embeds=embeds[None], position_ids=positions, use_cache=False, memory=Reading()
        )
        return descriptor.head(run.last_hidden_state[0]).float().cpu()


def picture(descriptor: Descriptor, seed: int) -> np.ndarray:
    """A made-up picture (side, side, 3), uint8."""
    side = _SIDE * descriptor.family.frame_multiple
    return np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)


def picture_features(descriptor: Descriptor) -> torch.Tensor:
    """What the tower makes of the first made-up picture, shown twice: (64, hidden * levels) float32."""
    frames = Frames(np.stack([picture(descriptor, 0)] * 2), (0.0, 0.5), 1.0, real=2)
    seen: Features = encode(descriptor, build_prompt(descriptor, frames, TEXTS[0], system=None))
    return torch.cat([seen.tokens, *seen.deepstack], dim=1).float().cpu()
