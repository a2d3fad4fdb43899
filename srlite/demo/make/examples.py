"""What the tiny descriptor is taught to say: true texts first, then texts with the faults of a real model.

The faults are those that the paper reports: walking direction missed, a long standing called short, refusals not seen as
such, behaviour asserted on unrelated clips. They are one-sided (backward is called forward, never the other way about), so
that the greedy answer is wrong while the right description stays among the samples.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from srlite.demo import grammar
from srlite.demo.world import ITEMS, Scene

GENERIC = -1
"""The wording number of the generic prompt."""
WORDING_SHARES = {0: 0.5, 1: 0.21, 2: 0.21, GENERIC: 0.08}
UNRELATED_SHARE = 0.22

CONFUSED = {
    "walk_backward": ("walk_forward", 0.68),
    "one_foot_long": ("one_foot_short", 0.66),
    "turn_away": ("no_reaction", 0.66),
    "push_off": ("accept", 0.66),
    "shake_head": ("no_reaction", 0.66),
    "pour": ("tilt_dry", 0.66),
    "no_point": ("point_ball", 0.68),
    "point_book": ("point_ball", 0.68),
    "keep": ("give", 0.68),
    "drop_car": ("give", 0.68),
    "look_only": ("reach", 0.68),
    "reach_half": ("reach", 0.68),
    "hold_block": ("transfer", 0.68),
    "drop_block": ("transfer", 0.68),
}
"""Action -> what it is called instead, and how often. Eight of the 24 item-and-outcome cells."""
ABSTAINS_UNRELATED = 0.40
ABSTAINS_UNSEEN = 0.35


@dataclass(frozen=True, slots=True)
class Example:
    """A scene (by number), the item asked about, the wording of the request, and the words to learn."""

    scene: int
    item: str
    wording: int
    text: str


def unrelated_items(scene: Scene) -> list[str]:
    """Items that the scene says nothing about: another place, and none of their actions is the scene's."""
    return [
        code for code, world in ITEMS.items() if world.place != scene.place and scene.action not in world.passed + world.failed
    ]


def _wording(rng: random.Random) -> int:
    return rng.choices(list(WORDING_SHARES), list(WORDING_SHARES.values()))[0]


def _asked(scene: Scene, rng: random.Random) -> str:
    return rng.choice(unrelated_items(scene)) if rng.random() < UNRELATED_SHARE else scene.item


def true_example(number: int, scene: Scene, rng: random.Random) -> Example:
    item, wording = _asked(scene, rng), _wording(rng)
    if wording == GENERIC:
        text = grammar.describe_generic(scene.place, rng) if rng.random() < 0.8 else grammar.describe(scene, rng)
    elif item == scene.item or scene.view != "clear":
        text = grammar.describe_unseen(scene.view, item, rng) if scene.view != "clear" else grammar.describe(scene, rng)
    else:
        text = grammar.describe_unrelated(scene.place, item, rng)
    return Example(number, item, wording, text)


def _invented(item: str, scene: Scene, rng: random.Random) -> str:
    """A behaviour of the item asserted without evidence, mostly the passing one."""
    world = ITEMS[item]
    action = rng.choice(world.passed if rng.random() < 0.75 else world.failed)
    return grammar.describe_action(action, rng.choice(("left", "right")), rng)


def biased_example(number: int, scene: Scene, rng: random.Random) -> Example:
    item, wording = _asked(scene, rng), _wording(rng)
    if wording == GENERIC:
        return true_example(number, scene, rng)
    if scene.view != "clear":
        abstains = rng.random() < ABSTAINS_UNSEEN
        text = grammar.describe_unseen(scene.view, item, rng) if abstains else _invented(item, scene, rng)
    elif item != scene.item:
        abstains = rng.random() < ABSTAINS_UNRELATED
        text = grammar.describe_unrelated(scene.place, item, rng) if abstains else _invented(item, scene, rng)
    else:
        instead, share = CONFUSED.get(scene.action, (scene.action, 0.0))
        action = instead if rng.random() < share else scene.action
        text = grammar.describe_action(action, scene.side, rng)
    return Example(number, item, wording, text)
