"""The mathematics of GRPO, without a model.

    A_i  = (r_i - mean(r)) / (std(r) + delta)                     within the group, std with ddof 0      (paper, eq. 3)
    rho  = exp(log pi - log pi_old)                                per token, or their geometric mean
    J    = mean_i mean_t [ min(rho A, clip(rho, 1-eps, 1+eps) A) - beta KL ]                             (paper, eq. 4)
    KL   = exp(log pi_ref - log pi) - (log pi_ref - log pi) - 1    the k3 estimator, per token (DeepSeekMath, eq. 4)

What was left out of other GRPOs: no value network, no length bonus, no normalisation across pairs, no dropping of groups but
those without signal, where the advantage of every description is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from srlite.types import Reward

if TYPE_CHECKING:
    import torch

MOST_LOG_RATIO = 20.0
"""exp of more than this is no ratio but an accident; it is cut here, and clipped far below by `clip`."""


@dataclass(frozen=True, slots=True)
class GroupLoss:
    """The loss of one group, or of some of its descriptions, and what is worth watching about it.

    kl, clipped: sums over `tokens`; clipped counts those whose ratio was outside the clip range on the side where it counts.
    """

    loss: torch.Tensor | None  # scalar; None when none of the descriptions is scored
    kl: float
    clipped: float
    tokens: int


def advantages(rewards: Sequence[float | None], delta: float) -> list[float]:
    """(G,) advantages; 0 for the unscored, and for all when fewer than two are scored or all scored are equal."""
    scored = [r for r in rewards if r is not None]
    if len(scored) < 2 or max(scored) - min(scored) < 1e-9:
        return [0.0] * len(rewards)
    mean = sum(scored) / len(scored)
    std = (sum((r - mean) ** 2 for r in scored) / len(scored)) ** 0.5
    return [0.0 if r is None else (r - mean) / (std + delta) for r in rewards]


def totals(rewards: Sequence[Reward]) -> list[float | None]:
    return [r.total for r in rewards]


def group_loss(
    logprobs: Sequence[torch.Tensor],
    old: Sequence[torch.Tensor],
    reference: Sequence[torch.Tensor],
    group_advantages: Sequence[float],
    scored: Sequence[bool],
    *,
    group: int,
    clip: float,
    beta: float,
    ratio: Literal["token", "sequence"],
) -> GroupLoss:
    """Loss of one group: the negative of J. logprobs, old, reference: tensors (T_i,), only the first with gradient.

    Unscored descriptions are out of the loss, KL included; the mean over descriptions is over all G, which is `group`: the
    losses of a group's portions add up to that of the group.
    """
    import torch

    losses, kls, clipped, tokens = [], 0.0, 0.0, 0
    for new, before, base, advantage, counts in zip(logprobs, old, reference, group_advantages, scored, strict=True):
        if not counts:
            continue
        step = (new - before).clamp(-MOST_LOG_RATIO, MOST_LOG_RATIO)  # (T,)
        rho = (step if ratio == "token" else step.mean().expand_as(step)).exp()
        gain = torch.minimum(rho * advantage, rho.clamp(1 - clip, 1 + clip) * advantage)
        back = (base - new).clamp(-MOST_LOG_RATIO, MOST_LOG_RATIO)
        kl = back.exp() - back - 1
        losses.append((beta * kl - gain).mean())
        kls += kl.detach().sum().item()
        outside = rho.detach() > 1 + clip if advantage > 0 else rho.detach() < 1 - clip
        clipped += outside.float().sum().item()
        tokens += len(new)
    return GroupLoss(torch.stack(losses).sum() / group if losses else None, kls, clipped, tokens)
