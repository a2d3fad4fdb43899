"""The demonstration world: which children, items and actions there are, and what each clip shows.

A clip is a `Scene`: a child, an item, the action seen, the side, the seconds, and whether the view is clear. Everything
follows from a seed. The clinician's outcome goes by the action that was done, also where the clip does not show it
(occluded, cut off): the clinician was in the room, the camera was not looking.

Left and right are those of the picture.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from srlite.types import Outcome, Sex

Side = Literal["left", "right"]
View = Literal["clear", "occluded", "cut_off"]
VIEWS: tuple[View, ...] = ("clear", "occluded", "cut_off")
FPS = 15


@dataclass(frozen=True, slots=True)
class ItemWorld:
    """How an item looks when passed and when failed, and how often children of the world pass it."""

    place: str
    passed: tuple[str, ...]
    failed: tuple[str, ...]
    pass_rate: float

    def actions(self, outcome: Outcome) -> tuple[str, ...]:
        return self.passed if outcome == "pass" else self.failed


# Failures are absent, incomplete or replaced by another action; pass rates are lopsided, as in clinics.
ITEMS: dict[str, ItemWorld] = {
    "18_4": ItemWorld("room", ("walk_backward",), ("walk_forward", "stand_still"), 0.70),
    "30_1": ItemWorld("room", ("one_foot_long",), ("one_foot_short", "stand_still"), 0.65),
    "6_1": ItemWorld("mat", ("roll_over",), ("roll_half", "lie_still"), 0.80),
    "8_2": ItemWorld("block", ("transfer",), ("hold_block", "drop_block"), 0.75),
    "18_6": ItemWorld("cubes", ("stack",), ("push_cubes", "lift_cube"), 0.70),
    "18_3": ItemWorld("bottle", ("pour",), ("tilt_dry", "hold_bottle"), 0.75),
    "10_5": ItemWorld("spoon", ("turn_away", "push_off", "shake_head"), ("accept", "no_reaction"), 0.70),
    "12_5": ItemWorld("ball", ("point_ball",), ("point_book", "no_point"), 0.75),
    "12_4": ItemWorld("car", ("give",), ("keep", "drop_car"), 0.80),
    "10_2": ItemWorld("door", ("wave",), ("raise_still", "arms_down"), 0.80),
    "6_3": ItemWorld("ring", ("reach",), ("reach_half", "look_only"), 0.85),
    "18_7": ItemWorld("cup", ("drink",), ("cup_half", "cup_table"), 0.80),
}
ACTIONS: tuple[str, ...] = tuple(sorted({a for w in ITEMS.values() for a in w.passed + w.failed}))
PLACES: tuple[str, ...] = tuple(sorted({w.place for w in ITEMS.values()}))
SITES = ("north", "river", "hill")


@dataclass(frozen=True, slots=True)
class DrawnChild:
    """A child of the world. Colours are RGB; `height` scales the figure, `pace` the speed of what it does."""

    id: str
    sex: Sex
    age_months: int
    site: str
    height: float
    pace: float
    skin: tuple[int, int, int]
    hair: tuple[int, int, int]
    shirt: tuple[int, int, int]
    trousers: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Scene:
    """One clip: all that the renderer needs, and all that is visible in it."""

    item: str
    outcome: Outcome
    child: DrawnChild
    action: str
    side: Side
    view: View
    duration_s: float
    hold_s: float | None
    """Seconds that the lifted foot stays up; None for other actions."""
    seed: int
    """Of everything else in the picture: background, camera, timing, noise."""

    @property
    def place(self) -> str:
        return ITEMS[self.item].place


SKIN = ((250, 220, 190), (240, 200, 160), (224, 172, 125), (198, 134, 92), (150, 98, 62), (105, 68, 44))
HAIR = ((40, 28, 20), (80, 50, 30), (130, 85, 40), (200, 160, 90), (25, 25, 30), (150, 60, 30))


def draw_child(number: int, world_seed: int, age_months: int) -> DrawnChild:
    """The `number`-th child of a world: the same seed gives the same child."""
    rng = random.Random(f"child/{world_seed}/{number}")
    bright = lambda: tuple(rng.randint(40, 235) for _ in range(3))  # noqa: E731
    return DrawnChild(
        id=f"{'ABCDEFGHJK'[world_seed % 10]}{number:03d}",
        sex=rng.choice(("female", "male")),
        age_months=age_months,
        site=rng.choice(SITES),
        height=rng.uniform(0.88, 1.08),
        pace=rng.uniform(0.85, 1.2),
        skin=rng.choice(SKIN),
        hair=rng.choice(HAIR),
        shirt=bright(),
        trousers=tuple(rng.randint(20, 150) for _ in range(3)),
    )


def item_age(code: str) -> int:
    """Age-specific items carry their age in months as the first part of the code."""
    return int(code.split("_")[0])


def draw_scene(item: str, outcome: Outcome, child: DrawnChild, view: View, rng: random.Random) -> Scene:
    """A fresh clip of `child` doing `item` with that outcome: which action, which side, how long."""
    return draw_action(item, outcome, rng.choice(ITEMS[item].actions(outcome)), child, view, rng)


def draw_action(item: str, outcome: Outcome, action: str, child: DrawnChild, view: View, rng: random.Random) -> Scene:
    """A fresh clip of `child` doing `action`: which side, how long."""
    hold_s = {"one_foot_long": rng.uniform(2.6, 3.4), "one_foot_short": rng.uniform(0.7, 1.3)}.get(action)
    duration_s = rng.uniform(4.8, 6.0) if ITEMS[item].place == "room" else rng.uniform(3.2, 5.6)
    return Scene(
        item,
        outcome,
        child,
        action,
        rng.choice(("left", "right")),
        view,
        duration_s,
        hold_s,
        rng.randrange(2**31),
    )


def draw_view(rng: random.Random, unseen_share: float) -> View:
    if rng.random() >= unseen_share:
        return "clear"
    return rng.choice(("occluded", "cut_off"))


def clinic(world_seed: int, clips_per_item: int, *, children: int, unseen_share: float) -> Iterator[Scene]:
    """Scenes as a clinic would collect them: lopsided outcomes, `children` of each age, now and then a bad view."""
    rng = random.Random(f"clinic/{world_seed}")
    ages = sorted({item_age(code) for code in ITEMS})
    for code, world in ITEMS.items():
        age = item_age(code)
        first = ages.index(age) * children
        for number in range(clips_per_item):
            child = draw_child(first + number % children, world_seed, age)
            outcome: Outcome = "pass" if rng.random() < world.pass_rate else "fail"
            yield draw_scene(code, outcome, child, draw_view(rng, unseen_share), rng)


def balanced(world_seed: int, clips_per_cell: int, *, view: View | None = None) -> Iterator[Scene]:
    """Scenes for measuring: the same number for every item and outcome, each of another child, clear views unless said."""
    rng = random.Random(f"balanced/{world_seed}/{view}")
    number = 0
    for code in ITEMS:
        for outcome in ("pass", "fail"):
            for _ in range(clips_per_cell):
                child = draw_child(number, world_seed, item_age(code))
                number += 1
                yield draw_scene(code, outcome, child, view or "clear", rng)
