"""One training stage of a tiny model: AdamW, warm-up then cosine, a log, and checkpoints from which it resumes.

The module computes in bfloat16 (twice as fast on a CPU that has it), the optimiser keeps float32 weights. A step's batch
follows from its number alone (the caller seeds with it), so a resumed stage sees what an undisturbed one would have seen.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True, slots=True)
class Recipe:
    """Steps and rates of one stage. `rates`: name prefix of parameters -> peak learning rate; first match wins."""

    steps: int
    rates: Mapping[str, float]
    warmup: int = 100
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.98)
    floor: float = 0.05
    """Last learning rate as a share of the peak."""
    log_every: int = 25
    save_every: int = 100


@dataclass(frozen=True)
class Masters:
    """The float32 weights behind a bfloat16 module: `pairs` of (weight of the module, its master)."""

    pairs: list[tuple[torch.nn.Parameter, torch.nn.Parameter]]
    groups: list[dict]

    @classmethod
    def of(cls, module: torch.nn.Module, rates: Mapping[str, float]) -> Masters:
        groups, pairs = [dict(params=[], lr=rate, peak=rate) for rate in rates.values()], []
        for name, weight in module.named_parameters():
            at = next((i for i, prefix in enumerate(rates) if name.startswith(prefix)), None)
            weight.requires_grad_(at is not None and groups[at]["peak"] > 0)
            if weight.requires_grad:
                pairs.append((weight, torch.nn.Parameter(weight.detach().float().clone())))
                groups[at]["params"].append(pairs[-1][1])
        return cls(pairs, [g for g in groups if g["params"]])

    def take_gradients(self) -> None:
        for weight, master in self.pairs:
            master.grad, weight.grad = weight.grad.float(), None

    @torch.no_grad()
    def give_weights(self) -> None:
        for weight, master in self.pairs:
            weight.copy_(master)

    def state(self) -> list[torch.Tensor]:
        return [master.detach() for _, master in self.pairs]

    @torch.no_grad()
    def load(self, state: list[torch.Tensor]) -> None:
        for (_, master), saved in zip(self.pairs, state, strict=True):
            master.copy_(saved)
        self.give_weights()


def _scale(step: int, recipe: Recipe) -> float:
    cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, step / recipe.steps)))
    return min(1.0, (step + 1) / recipe.warmup) * (recipe.floor + (1 - recipe.floor) * cosine)


def _save(path: Path, state: dict) -> None:
    beside = path.with_suffix(".part")
    torch.save(state, beside)
    os.replace(beside, path)


def train(
    folder: Path,
    module: torch.nn.Module,
    recipe: Recipe,
    loss_of: Callable[[int], tuple[torch.Tensor, dict[str, float]]],
) -> None:
    """Train `module` in place; `loss_of(step)` returns the loss and figures to log. A finished stage only loads."""
    folder.mkdir(parents=True, exist_ok=True)
    state_file, log = folder / "state.pt", folder / "log.txt"
    masters = Masters.of(module, recipe.rates)
    module.to(torch.bfloat16)
    optimiser = torch.optim.AdamW(masters.groups, weight_decay=recipe.weight_decay, betas=recipe.betas)
    done = 0
    if state_file.exists():
        state = torch.load(state_file, weights_only=True)
        masters.load(state["masters"])
        optimiser.load_state_dict(state["optimiser"])
        done = state["step"]
    seen: list[dict[str, float]] = []
    began = time.monotonic()
    for step in range(done, recipe.steps):
        for group in optimiser.param_groups:
            group["lr"] = group["peak"] * _scale(step, recipe)
        loss, figures = loss_of(step)
        loss.backward()
        masters.take_gradients()
        torch.nn.utils.clip_grad_norm_([master for _, master in masters.pairs], 1.0)
        optimiser.step()
        masters.give_weights()
        seen.append({"loss": loss.item(), **figures})
        if (step + 1) % recipe.log_every == 0:
            _log(log, step + 1, seen, time.monotonic() - began)
            seen = []
        if (step + 1) % recipe.save_every == 0 or step + 1 == recipe.steps:
            _save(
                state_file,
                {"masters": masters.state(), "optimiser": optimiser.state_dict(), "step": step + 1},
            )


def _log(path: Path, step: int, seen: list[dict[str, float]], seconds: float) -> None:
    names = dict.fromkeys(name for row in seen for name in row)
    values = {n: [row[n] for row in seen if n in row] for n in names}
    line = f"{step} " + " ".join(f"{n} {sum(v) / len(v):.4f}" for n, v in values.items()) + f" {seconds:.0f}s"
    with path.open("a", encoding="utf-8") as out:
        out.write(line + "\n")
    print(path.parent.name, line, flush=True)
