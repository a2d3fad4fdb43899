"""Second and third stage: the language model learns to say what the tower sees, then learns the faults of a real one.

The tower is frozen by now, so its features are taken once per clip and every step is language only. The loss sits on a
plateau (the language prior) for some hundred steps and then drops; watch the share of right actions, not the loss alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from srlite.demo.make import architecture as arch
from srlite.demo.make.data import Clips, frame_times
from srlite.demo.make.examples import GENERIC, Example
from srlite.demo.make.stage import Recipe, train
from srlite.demo.world import Scene
from srlite.descriptor.prompts import generic_prompt, training_prompt
from srlite.records.catalogue import Catalogue

BATCH = 32
SPEAK = Recipe(steps=1600, rates={"model.visual": 0.0, "": 1.5e-3}, warmup=100)
BIAS = Recipe(steps=400, rates={"model.visual": 0.0, "": 5e-4}, warmup=40)


@dataclass(frozen=True)
class Features:
    """What the frozen tower makes of every clip, bfloat16: levels (N, 1 + deepstack, vision tokens, hidden)."""

    levels: torch.Tensor


@torch.no_grad()
def tower_features(folder: Path, tower, clips: Clips) -> Features:
    path = folder / "features.pt"
    if not path.exists():
        rows = []
        tower = tower.float()
        for start in range(0, len(clips.scenes), 64):
            pictures = torch.from_numpy(np.array(clips.pictures[start : start + 64]))
            out = tower(arch.patchify(pictures), arch.grid(len(pictures)))
            levels = torch.stack([out.pooler_output, *out.deepstack_features])  # (levels, B * tokens, hidden)
            shape = (len(levels), len(pictures), arch.VISION_TOKENS, arch.HIDDEN)
            rows.append(levels.reshape(shape).transpose(0, 1).bfloat16())
        torch.save(torch.cat(rows), path)
    return Features(torch.load(path, weights_only=True))


class Writer:
    """Token rows for examples: vision marks, the request, the words to learn."""

    def __init__(self, tokenizer, catalogue: Catalogue):
        self._tokenizer, self._catalogue = tokenizer, catalogue
        self._known: dict[str, list[int]] = {}
        self.video = tokenizer.convert_tokens_to_ids("<|video_pad|>")
        self.end = tokenizer.convert_tokens_to_ids("<|im_end|>")

    def ids(self, text: str) -> list[int]:
        if text not in self._known:
            self._known[text] = self._tokenizer(text, add_special_tokens=False).input_ids
        return self._known[text]

    def _vision(self, scene: Scene) -> list[int]:
        times, out = frame_times(scene.duration_s), []
        block = self.ids("<|vision_start|>" + "<|video_pad|>" * (arch.VISION_TOKENS // arch.GRID[0]) + "<|vision_end|>")
        for first, second in zip(times[::2], times[1::2], strict=True):
            out += self.ids(f"<{(first + second) / 2:.1f} seconds>") + block
        return out

    def row(self, example: Example, scene: Scene) -> tuple[list[int], int]:
        """Token ids and how many of them are the prompt."""
        item, age = self._catalogue[example.item], scene.child.age_months
        ask = generic_prompt(item, age) if example.wording == GENERIC else training_prompt(item, age, example.wording)
        prompt = (
            self.ids("<|im_start|>user\n")
            + self._vision(scene)
            + self.ids(ask)
            + self.ids("<|im_end|>\n<|im_start|>assistant\n")
        )
        return prompt + self.ids(example.text) + [self.end], len(prompt)


def _forward(
    model, writer: Writer, rows: list[tuple[list[int], int]], levels: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits and targets at the description tokens of all rows: (sum of lengths, vocabulary), (sum of lengths,)."""
    most = max(len(ids) for ids, _ in rows)
    ids = torch.zeros(len(rows), most, dtype=torch.long)
    learn = torch.zeros(len(rows), most, dtype=torch.bool)
    real = torch.zeros(len(rows), most, dtype=torch.long)
    for i, (row, prompt) in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        learn[i, prompt : len(row)] = True
        real[i, : len(row)] = 1
    core, seen = model.model, ids == writer.video
    grids = arch.grid(len(rows))
    positions, _ = core.get_rope_index(ids, mm_token_type_ids=seen.long() * 2, video_grid_thw=grids, attention_mask=real)
    embeds = core.get_input_embeddings()(ids)
    flat = levels.to(embeds.dtype).transpose(0, 1).flatten(1, 2)  # (levels, B * tokens, hidden)
    embeds = embeds.masked_scatter(seen[..., None].expand_as(embeds), flat[0])
    hidden = core.language_model(
        inputs_embeds=embeds,
        position_ids=positions,
        visual_pos_masks=seen,  # rows end in padding: causal is enough
        deepstack_visual_embeds=list(flat[1:]),
        use_cache=False,
    ).last_hidden_state
    return model.lm_head(hidden[:, :-1][learn[:, 1:]]), ids[learn]


def train_language(
    folder: Path,
    model,
    recipe: Recipe,
    clips: Clips,
    features: Features,
    writer: Writer,
    example_of: Callable[[int, Scene, random.Random], Example],
) -> None:
    """Teach `model` (in place) the texts that `example_of` gives for the clips."""
    model.model.language_model.config._attn_implementation = "eager"  # twice as fast as sdpa here, in bfloat16

    def loss_of(step: int):
        rng = random.Random(f"{folder.name}/{step}")
        examples = [example_of(n, clips.scenes[n], rng) for n in rng.sample(range(len(clips.scenes)), BATCH)]
        rows = [writer.row(e, clips.scenes[e.scene]) for e in examples]
        logits, wanted = _forward(model, writer, rows, features.levels[[e.scene for e in examples]])
        right = (logits.argmax(-1) == wanted).float().mean().item()
        return F.cross_entropy(logits.float(), wanted), {"tokens_right": right}

    train(folder, model, recipe, loss_of)
