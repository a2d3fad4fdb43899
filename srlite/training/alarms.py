"""What a run's figures warn of, in words, and what stops it. Looked at in every slice; nothing here changes what is learnt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from srlite.errors import ModelError
from srlite.training.update import Update
from srlite.types import Reward

Figures = Mapping[str, object]

_LOOK_BACK = 6
_LEFT_OUT, _NO_SIGNAL, _UNSCORED, _CUT_OFF, _ALIKE = 0.10, 0.95, 0.10, 0.25, 0.15
_COLLAPSE = 0.5


def alarms(slices: Sequence[Figures]) -> tuple[str, ...]:
    """Sentences about the newest slice, the last of `slices` (lines of metrics.jsonl that are of slices)."""
    now, before = slices[-1], slices[max(0, len(slices) - 1 - _LOOK_BACK) : -1]
    planned = now["pairs"] + now["unreadable_pairs"]
    said = [
        _above(now["unreadable_pairs"] / planned, _LEFT_OUT, "of the pairs were left out: the reasons stand above"),
        _above(now["zero_signal_share"], _NO_SIGNAL, "of the groups gave no signal: all their descriptions earn the same"),
        _above(now["unscored_share"], _UNSCORED, "of the descriptions are unscored: the judge does not answer yes or no"),
        _above(now["cut_off_share"], _CUT_OFF, "of the descriptions were cut off: they do not end by themselves"),
        _above(1 - now["distinct_share"], 1 - _ALIKE, "of the descriptions repeat another of their pair word for word"),
        _skipped(now["skipped_steps"], now["steps"]),
        _collapse(now, before),
    ]
    return tuple(text for text in said if text)


def refuse_unscored(rewards: Sequence[Sequence[Reward]], limit: float) -> None:
    """Raises ModelError when more than this share of a slice's descriptions is unscored: nobody says what is good."""
    flat = [r for group in rewards for r in group]
    unscored = sum(r.total is None for r in flat)
    if flat and unscored > limit * len(flat):
        raise ModelError(
            f"the judge left {unscored} of {len(flat)} descriptions unscored: it answers neither yes nor no",
            remedy="Use another judge, or a lower judge.min_mass or judge.unsure_band in a new run.",
        )


def refuse_broken(update: Update) -> None:
    """Raises ModelError when no step of a slice had a finite gradient. Some such steps are left out and counted."""
    if update.skipped_steps and not update.steps:
        raise ModelError(
            f"none of the slice's {update.skipped_steps} steps had a finite gradient",
            remedy="Begin a new run with a lower learning rate. Checkpoints up to here are kept.",
        )


def _above(share: float, limit: float, words: str) -> str | None:
    return f"{share:.0%} {words}" if share > limit else None


def _skipped(skipped: int, taken: int) -> str | None:
    """A few bad steps do no harm, but nobody should have to find them in metrics.jsonl."""
    return f"{skipped} of {skipped + taken} steps were left out: their gradient was not finite" if skipped else None


def _collapse(now: Figures, before: Sequence[Figures]) -> str | None:
    """Rising reward and poorer texts: the descriptor may have found words that please the judge and say nothing."""
    known = [f for f in before if f["reward"] is not None]
    if not known or now["reward"] is None:
        return None
    reward = sum(f["reward"] for f in known) / len(known)
    if now["reward"] <= reward:
        return None
    found = (_shrunk("length_tokens", "tokens", now, known), _shrunk("vocabulary", "different words", now, known))
    if not (shrunk := [text for text in found if text]):
        return None
    rises = f"the reward rises ({reward:.2f} to {now['reward']:.2f})"
    return f"{rises} while the descriptions shrink ({', '.join(shrunk)}): read some in rounds/"


def _shrunk(name: str, unit: str, now: Figures, before: Sequence[Figures]) -> str | None:
    """The figure's fall to below _COLLAPSE of its mean, in words."""
    values = [f[name] for f in before if f[name] is not None]
    if not values or now[name] is None:
        return None
    mean = sum(values) / len(values)
    return f"{mean:.0f} to {now[name]:.0f} {unit}" if now[name] < _COLLAPSE * mean else None
