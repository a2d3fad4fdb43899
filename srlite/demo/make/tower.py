"""First stage: the vision tower learns to see, behind a head that sees where every token is.

Behind a mean, or behind the language model alone, such a small tower learns almost nothing. The head reads all merged
tokens in order, every deepstack level added, and names the action (or why nothing is seen), the side, and the place; it is
thrown away afterwards.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from transformers.models.qwen3_vl.modeling_qwen3_vl import apply_rotary_pos_emb_vision

from srlite.demo.make import architecture as arch
from srlite.demo.make.data import Clips
from srlite.demo.make.stage import Recipe, train
from srlite.demo.world import ACTIONS, PLACES, Scene

BATCH = 32
RECIPE = Recipe(steps=1000, rates={"": 1e-3}, weight_decay=0.02, warmup=100)
LABELS = (*ACTIONS, "occluded", "cut_off")
LABEL_SIZES = (len(LABELS), 2, len(PLACES))


class LinearPatches(nn.Module):
    """The tower's patch convolution as the matrix product that it is: the same weights, less time on a CPU."""

    def __init__(self, convolution: nn.Conv3d):
        super().__init__()
        self.proj = convolution

    def forward(self, patches: torch.Tensor) -> torch.Tensor:
        return F.linear(patches, self.proj.weight.flatten(1), self.proj.bias)


class EvenAttention(nn.Module):
    """The tower's attention for pictures that are all of one size: one product for all of them, the same weights."""

    def __init__(self, attention: nn.Module, patches: int):
        super().__init__()
        self.qkv, self.proj, self.heads, self.patches = (
            attention.qkv,
            attention.proj,
            attention.num_heads,
            patches,
        )

    def forward(self, hidden_states: torch.Tensor, position_embeddings, **_) -> torch.Tensor:
        n = len(hidden_states)
        q, k, v = self.qkv(hidden_states).reshape(n, 3, self.heads, -1).permute(1, 0, 2, 3).unbind(0)
        q, k = apply_rotary_pos_emb_vision(q, k, *position_embeddings)
        q, k, v = (x.reshape(-1, self.patches, self.heads, x.shape[-1]).transpose(1, 2) for x in (q, k, v))
        weights = torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, dim=-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(n, -1))


class Seer(nn.Module):
    """Tower and head. Logits: action or view (39), side (2), place (11)."""

    def __init__(self, tower):
        super().__init__()
        self.tower = tower
        self.tower.patch_embed = LinearPatches(tower.patch_embed.proj)
        for block in self.tower.blocks:
            block.attn = EvenAttention(block.attn, arch.GRID[1] * arch.GRID[2])
        h, n = arch.HIDDEN, arch.VISION_TOKENS
        self.where = nn.Parameter(torch.randn(n, h) * 0.02)
        self.mix = nn.TransformerEncoderLayer(h, 6, 2 * h, batch_first=True, dropout=0.0, norm_first=True)
        self.out = nn.Linear(h * n, sum(LABEL_SIZES))

    def forward(self, pictures: torch.Tensor) -> tuple[torch.Tensor, ...]:
        patches = arch.patchify(pictures).to(self.where.dtype)
        seen = self.tower(patches, arch.grid(len(pictures)))
        merged = sum(seen.deepstack_features, seen.pooler_output)
        tokens = merged.reshape(len(pictures), arch.VISION_TOKENS, arch.HIDDEN)
        return self.out(self.mix(tokens + self.where).flatten(1)).split(LABEL_SIZES, dim=-1)


def label_of(scene: Scene) -> tuple[int, int, int]:
    """Action or view, side, place; -100 where the view hides it."""
    clear = scene.view == "clear"
    return (
        LABELS.index(scene.action if clear else scene.view),
        int(scene.side == "right") if clear else -100,
        PLACES.index(scene.place) if clear else -100,
    )


def label_loss(logits: Sequence[torch.Tensor], wanted: torch.Tensor) -> tuple[torch.Tensor, dict[str, float]]:
    """Loss and shares right of the three labels; wanted: (B, 3)."""
    pairs = list(zip(logits, wanted.T, strict=True))
    right = [(o.argmax(-1) == y)[y >= 0].float().mean().item() for o, y in pairs]
    loss = sum(F.cross_entropy(o.float(), y, ignore_index=-100) for o, y in pairs)
    return loss, dict(zip(("action", "side", "place"), right, strict=True))


def train_tower(folder: Path, clips: Clips) -> dict[str, torch.Tensor]:
    """The weights of a tower that sees."""
    torch.manual_seed(0)
    seer = Seer(arch.vision_tower())
    labels = torch.tensor([label_of(s) for s in clips.scenes])

    def loss_of(step: int):
        at = np.sort(random.Random(f"tower/{step}").sample(range(len(labels)), BATCH))
        return label_loss(seer(torch.from_numpy(clips.pictures[at])), labels[torch.from_numpy(at)])

    train(folder, seer, RECIPE, loss_of)
    return seer.tower.state_dict()
