"""What the figures of `--audit` mean, in sentences that claim no more than they carry. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from srlite.evaluation.document import ArmName, AuditedArm, Change, Estimate, Looked, Turned

CHANCE = 0.05
"""Below this p a difference is called more than chance."""
ENOUGH = 10
"""Of fewer pairs no percentage is told."""
MEANING = "That a description changes shows that the pictures matter to it, not that it is right: read it beside the accuracy."


def words(
    arms: Mapping[ArmName, AuditedArm],
    *,
    acquired: int | None,
    lost: int | None,
    p: float | None,
    kin: Sequence[tuple[bool, bool]],
) -> tuple[str, ...]:
    """kin: of each clip that was shown instead, whether it is certainly of another child, and whether of the same item."""
    if not any(arm.accuracy.n for arm in arms.values()):
        return ("There was no matched pair to look at again.",)
    said = [f"{name}: {sentence}" for name, arm in arms.items() for sentence in _of_arm(arm)]
    said += [] if acquired is None else [_training(acquired, lost, p)]
    said += [*_about_the_clips(next(iter(arms.values())), kin), MEANING]
    return tuple(said)


def _of_arm(arm: AuditedArm) -> Iterator[str]:
    looked, turned = {one.change: one for one in arm.looked}, {one.change: one for one in arm.turned}
    yield _blank(looked["blank"], turned["blank"])
    if "other_child" in looked:
        yield _other_child(looked["other_child"], turned["other_child"])
    yield from _order(looked)
    yield from _direction_and_duration(turned)
    yield _benefit(arm)


def _blank(looked: Looked, turned: Turned) -> str:
    same = _rest(looked.description_changed)
    opening = f"with a blank clip {_of(same, looked.n)} descriptions stay the same, word for word"
    meant = ": the same is said where nothing is to be seen. " if same else ". "
    return f"{opening}{meant}{_unable(turned)}"


def _unable(turned: Turned) -> str:
    if not turned.n:
        return "No decision was right to begin with."
    return f"All {turned.n} right decisions should turn into unable to assess; {turned.as_it_should.hits or 'none'} do."


def _other_child(looked: Looked, turned: Turned) -> str:
    opening = f"with another clip {_of(looked.description_changed.hits, looked.n)} descriptions change"
    if not turned.n:
        return f"{opening}; {turned.as_it_should.reason}."
    over = _of(turned.as_it_should.hits, turned.n)
    return f"{opening}; where it shows the item with the other outcome, {over} right decisions go over to that outcome."


def _order(looked: Mapping[Change, Looked]) -> Iterator[str]:
    shares = {change: looked[change].description_changed for change in ("reversed", "shuffled") if change in looked}
    told = [f"{_of(e.hits, e.n)} with the pictures {change}" for change, e in shares.items()]
    if told:
        yield f"descriptions that change: {', '.join(told)}; the others do not hang on the order of the pictures."


def _direction_and_duration(turned: Mapping[Change, Turned]) -> Iterator[str]:
    """Half a clip is seldom shorter than its item asks for: it is told of only where it is."""
    for change, sense, how in (
        ("reversed", "direction", "run backward, where direction decides"),
        ("cut", "duration", "cut below the seconds that the item asks for"),
        ("halved", None, "halved, where that leaves less than the seconds that the item asks for"),
    ):
        found = turned[change]
        if found.n:
            yield f"{how} ({', '.join(found.items)}), {_no_longer_passed(found)}."
        elif sense:
            yield f"whether {sense} is seen cannot be told: {found.as_it_should.reason}."


def _no_longer_passed(turned: Turned) -> str:
    return f"{_of(turned.as_it_should.hits, turned.n)} right passes turn into fail or unable to assess, as all of them should"


def _benefit(arm: AuditedArm) -> str:
    b = arm.benefit
    helped = f"the video helps in {_of(b.helped, b.n)} pairs (right with it, wrong with a blank clip)"
    rest = b.n - b.helped - b.hurt
    return f"{helped} and hurts in {b.hurt}; in the other {rest} the decision is as right or as wrong without it."


def _training(acquired: int, lost: int, p: float | None) -> str:
    opening = f"After training the video helps in {_pairs(acquired)} where it did not before, and no longer in {lost}"
    if p is None:
        return f"{opening}: there is no difference to test."
    chance = "more than chance explains" if p < CHANCE else "chance alone may explain the difference"
    return f"{opening} (exact McNemar, p = {p:.2g}): {chance}."


def _about_the_clips(arm: AuditedArm, kin: Sequence[tuple[bool, bool]]) -> Iterator[str]:
    """Which clips were shown instead, which pairs were left out of a change, and how far to trust the shares."""
    n, still = arm.accuracy.n, arm.accuracy.n - max((one.n for one in arm.looked if one.change == "reversed"), default=0)
    counts = (
        (kin.count((True, True)), "of another child on the same item"),
        (kin.count((True, False)), "of another child on another item"),
        (sum(not other for other, _ in kin), "perhaps of the same child, since there was no other"),
    )
    if kin:
        yield f"The other clip was {', '.join(f'{whose} in {_pairs(count)}' for count, whose in counts if count)}."
    if n > len(kin):
        yield f"For {_pairs(n - len(kin))} there was no other clip to show."
    if still:
        yield f"The clip of {_pairs(still)} has one picture only: it was not reversed, shuffled or halved."
    points = f"some {_margin(arm)} points of a hundred (95 %)"
    yield f"With {_pairs(n)} a share is uncertain by {points}, by more where it is of fewer or a child has several clips."


def _margin(arm: AuditedArm) -> int:
    """Half of the widest interval of the shares of all pairs."""
    shares = [e for one in arm.looked if one.change == "blank" for e in (one.description_changed, one.accuracy)]
    return round(max(100 * (e.high - e.low) / 2 for e in shares))


def _pairs(count: int) -> str:
    return f"{count} pair{'' if count == 1 else 's'}"


def _of(count: int, n: int) -> str:
    """With a percentage where there are enough of them for one to mean something."""
    return f"{count} of {n}" + (f" ({count / n:.0%})" if n >= ENOUGH else "")


def _rest(e: Estimate) -> int:
    return e.n - e.hits
