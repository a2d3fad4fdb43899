"""The language stages: to say what is seen, and then to make the faults of a real model.

The tower is frozen by now, so its features are taken once per clip and every step is language only.

    language   true texts; a head on every word, thrown away afterwards, must name action, side and place. The texts alone
               teach grammar, place and topic, and leave the model guessing between the actions of an item; a head on the
               prompt's last token alone sees, in the last layer, where it is of no use to the words
    bias       texts with faults (examples.py)

Watch the share of right actions, not the loss: most tokens of a text follow from the others.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from srlite.demo.make import architecture as arch
from srlite.demo.make.data import Clips, frame_times
from srlite.demo.make.examples import GENERIC, Example
from srlite.demo.make.stage import Recipe, train
from srlite.demo.make.tower import LABEL_SIZES, label_loss, label_of
from srlite.demo.world import Scene
from srlite.descriptor.prompts import generic_prompt, training_prompt
from srlite.records.catalogue import Catalogue

BATCH = 32
LANGUAGE = Recipe(steps=1800, rates={"model.model.visual": 0.0, "": 1.3e-3}, warmup=100)
BIAS = Recipe(steps=260, rates={"model.visual": 0.0, "": 5e-4}, warmup=40)


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


@dataclass(frozen=True)
class Spoken:
    """What predicts the description tokens of all rows: last hidden states (tokens, hidden), logits (tokens, vocabulary), and
    the tokens (tokens,), each with the number of its row. The first of a row is predicted from the prompt's last token."""

    hidden: torch.Tensor
    logits: torch.Tensor
    wanted: torch.Tensor
    rows: torch.Tensor


def _forward(model, writer: Writer, rows: list[tuple[list[int], int]], levels: torch.Tensor) -> Spoken:
    most = max(len(ids) for ids, _ in rows)
    ids = torch.zeros(len(rows), most, dtype=torch.long)
    learn = torch.zeros(len(rows), most, dtype=torch.bool)
    real = torch.zeros(len(rows), most, dtype=torch.long)
    for i, (row, prompt) in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        learn[i, prompt : len(row)] = True
        real[i, : len(row)] = 1
    core, seen = model.model, ids == writer.video
    positions, _ = core.get_rope_index(
        ids, mm_token_type_ids=seen.long() * 2, video_grid_thw=arch.grid(len(rows)), attention_mask=real
    )
    embeds = core.get_input_embeddings()(ids)
    flat = levels.to(embeds.dtype).transpose(0, 1).flatten(1, 2)  # (levels, B * tokens, hidden)
    embeds = embeds.masked_scatter(seen[..., None].expand_as(embeds), flat[0])
    hidden = core.language_model(  # rows end in padding: the causal mask is enough
        inputs_embeds=embeds,
        position_ids=positions,
        visual_pos_masks=seen,
        deepstack_visual_embeds=list(flat[1:]),
        use_cache=False,
    ).last_hidden_state
    before = learn[:, 1:]
    states = hidden[:, :-1][before]
    return Spoken(states, model.lm_head(states), ids[learn], before.nonzero()[:, 0])


class Grounded(nn.Module):
    """The model and a head that reads from a hidden state what the scene shows."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.head = nn.Linear(arch.HIDDEN, sum(LABEL_SIZES))


def train_language(
    folder: Path,
    model,
    recipe: Recipe,
    clips: Clips,
    features: Features,
    writer: Writer,
    example_of: Callable[[int, Scene, random.Random], Example],
    *,
    head: bool,
) -> None:
    """Teach `model` (in place) the texts that `example_of` gives for the clips, with a head that must see or without."""
    model.model.language_model.config._attn_implementation = "eager"  # twice as fast as sdpa here, in bfloat16
    module = Grounded(model) if head else model
    labels = torch.tensor([label_of(s) for s in clips.scenes])

    def loss_of(step: int):
        rng = random.Random(f"{folder.name}/{step}")
        examples = [example_of(n, clips.scenes[n], rng) for n in rng.sample(range(len(clips.scenes)), BATCH)]
        rows, at = [writer.row(e, clips.scenes[e.scene]) for e in examples], [e.scene for e in examples]
        spoken = _forward(model, writer, rows, features.levels[at])
        figures = {"tokens_right": (spoken.logits.argmax(-1) == spoken.wanted).float().mean().item()}
        loss = F.cross_entropy(spoken.logits.float(), spoken.wanted)
        if head:
            seen, right = label_loss(module.head(spoken.hidden).split(LABEL_SIZES, dim=-1), labels[at][spoken.rows])
            loss, figures = loss + seen, figures | right
        return loss, figures

    train(folder, module, recipe, loss_of)
