"""The line of metrics.jsonl that a slice leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from srlite.training.schedule import Slice
from srlite.training.update import Update
from srlite.types import Group, Reward

VOCABULARY_PAIRS = 16


def figures_of(part: Slice, groups: Sequence[Group], rewards: Sequence[Sequence[Reward]], update: Update) -> dict[str, object]:
    """Means over all descriptions of the slice; a part that was asked of none, or unscored in all, is null."""
    flat = [(g.pair, r, w) for g, group in zip(groups, rewards, strict=True) for r, w in zip(g.rollouts, group, strict=True)]

    def mean(part_of: Callable[[Reward], float | None]) -> float | None:
        known = [v for _, _, r in flat if (v := part_of(r)) is not None]
        return sum(known) / len(known) if known else None

    return {
        "round": part.round,
        "slice": part.number,
        "pairs": len(groups),
        "unreadable_pairs": len(part.pairs) - len(groups),
        "descriptions": len(flat),
        "reward": mean(lambda r: r.total),
        "outcome": mean(lambda r: r.outcome),
        "unrelated": mean(lambda r: r.unrelated),
        "relevance": mean(lambda r: r.relevance),
        "quality": mean(lambda r: r.quality),
        "abstention_matched": _share([r.abstained for p, _, r in flat if p.matched]),
        "abstention_mismatched": _share([r.abstained for p, _, r in flat if not p.matched]),
        "unscored_share": sum(w.total is None for _, _, w in flat) / max(1, len(flat)),
        "zero_signal_share": update.zero_signal / max(1, len(groups)),
        "length_tokens": sum(len(r.tokens) for _, r, _ in flat) / max(1, len(flat)),
        "cut_off_share": sum(not r.finished for _, r, _ in flat) / max(1, len(flat)),
        "distinct_share": len({(p.id, r.text) for p, r, _ in flat}) / max(1, len(flat)),
        "vocabulary": _vocabulary(groups),
        "kl": update.kl,
        "clip_fraction": update.clipped,
        "gradient_norm": update.gradient_norm,
        "steps": update.steps,
        "skipped_steps": update.skipped_steps,
    }


def _vocabulary(groups: Sequence[Group]) -> int | None:
    """Different words in one description each of a fixed number of pairs, so that slices can be compared; None with fewer."""
    if len(groups) < VOCABULARY_PAIRS:
        return None
    return len({word for g in groups[:VOCABULARY_PAIRS] for word in g.rollouts[0].text.casefold().split()})


def _share(known: Sequence[bool | None]) -> float | None:
    """Of those that are scored; None without any."""
    scored = [k for k in known if k is not None]
    return sum(scored) / len(scored) if scored else None


def rates(seconds: Mapping[str, float], *, sampled: int, judged: int, learnt: int) -> dict[str, float | None]:
    """Tokens a second of each phase: those that were sampled, that went through the judge, and of descriptions learnt from.

    None where a phase had nothing to do, as when what was sampled before is read from the disk.
    """
    counts = {"sample": sampled, "judge": judged, "update": learnt}
    return {f"{phase}_tokens_per_s": round(n / seconds[f"{phase}_s"], 1) if n else None for phase, n in counts.items()}
