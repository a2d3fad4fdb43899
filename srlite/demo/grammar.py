"""The description grammar of the demonstration world: how a scene is put in words, and whether words are true of it.

    describe / describe_unseen / describe_unrelated     scene -> words
    parse                                               words -> what they claim
    is_true                                             do the words claim what the scene shows, and no more?

Every sentence of the world is one of the templates below, so parsing is looking up. {s} is the side of the scene,
{o} the other one. A text that is not made of whole sentences of the grammar is garbled.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from srlite.demo.world import ITEMS, Scene, Side

ACTION_SENTENCES: dict[str, tuple[str, ...]] = {
    "walk_backward": (
        "The child faces {s} and moves {o}, walking backward.",
        "The child steps backward, facing {s} while moving {o}.",
        "Facing {s}, the child takes several steps backward to the {o}.",
    ),
    "walk_forward": (
        "The child faces {s} and moves {s}, walking forward.",
        "The child steps forward, facing {s} while moving {s}.",
        "Facing {s}, the child takes several steps forward to the {s}.",
    ),
    "stand_still": (
        "The child stands still with both feet on the floor.",
        "Both feet stay on the floor and the child does not move.",
        "The child stays in place, standing on both feet.",
    ),
    "one_foot_long": (
        "The child lifts the {s} foot and holds it for about three seconds.",
        "The {s} foot stays off the floor for about three seconds.",
        "Standing on the {o} leg, the child keeps the {s} foot up for about three seconds.",
    ),
    "one_foot_short": (
        "The child lifts the {s} foot and puts it down after about one second.",
        "The {s} foot leaves the floor for only about one second.",
        "Standing on the {o} leg, the child keeps the {s} foot up for only about one second.",
    ),
    "roll_over": (
        "The child rolls from the back onto the belly.",
        "Lying on the back, the child turns over onto the belly.",
        "The child turns all the way over and ends up on the belly.",
    ),
    "roll_half": (
        "The child turns onto one side and falls back.",
        "Lying on the back, the child turns to one side but not onto the belly.",
        "The child rolls only halfway and ends up on the back.",
    ),
    "lie_still": (
        "The child lies on the back and does not roll.",
        "Lying on the back, the child does not turn over.",
        "The child stays on the back, moving only the arms.",
    ),
    "transfer": (
        "The child passes the block from the {s} hand to the {o} hand.",
        "The block moves from the {s} hand to the {o} hand.",
        "Holding the block in the {s} hand, the child takes it over with the {o} hand.",
    ),
    "hold_block": (
        "The child keeps the block in the {s} hand.",
        "The block stays in the {s} hand and is not passed on.",
        "Holding the block in the {s} hand, the child never uses the {o} hand.",
    ),
    "drop_block": (
        "The child drops the block from the {s} hand.",
        "The block falls from the {s} hand onto the table.",
        "Holding the block in the {s} hand, the child lets it fall.",
    ),
    "stack": (
        "The child puts one cube on top of the other.",
        "One cube is placed on top of the other and stays there.",
        "The child stacks the two cubes.",
    ),
    "push_cubes": (
        "The child pushes the cubes apart.",
        "The cubes are pushed aside and not stacked.",
        "The child shoves the two cubes away from each other.",
    ),
    "lift_cube": (
        "The child lifts one cube and puts it back beside the other.",
        "One cube is lifted but set down next to the other.",
        "The child picks up one cube and returns it to the table.",
    ),
    "pour": (
        "The child tilts the bottle and the bead falls out.",
        "The bead drops out of the tilted bottle.",
        "The child turns the bottle over and the bead comes out.",
    ),
    "tilt_dry": (
        "The child tilts the bottle but nothing falls out.",
        "Nothing comes out of the tilted bottle.",
        "The child tilts the bottle and the bead stays inside.",
    ),
    "hold_bottle": (
        "The child holds the bottle upright and does not tilt it.",
        "The bottle stays upright in the hand.",
        "The child keeps the bottle upright with the bead inside.",
    ),
    "turn_away": (
        "The child turns away from the offered spoon.",
        "The child turns the body to the {s}, away from the spoon.",
        "Offered the spoon, the child turns away to the {s}.",
    ),
    "push_off": (
        "The child pushes the offered spoon away.",
        "A hand of the child pushes the spoon off.",
        "Offered the spoon, the child pushes it back.",
    ),
    "shake_head": (
        "The child shakes the head at the offered spoon.",
        "The head turns from side to side at the spoon.",
        "Offered the spoon, the child shakes the head.",
    ),
    "accept": (
        "The child takes the offered spoon.",
        "The child accepts the spoon and holds it.",
        "Offered the spoon, the child takes it.",
    ),
    "no_reaction": (
        "The child does not react to the offered spoon.",
        "The child looks at the spoon and stays still.",
        "Offered the spoon, the child does nothing.",
    ),
    "point_ball": (
        "The child points at the ball on the {s}.",
        "One arm goes out and points at the ball.",
        "The child stretches an arm to the {s} and points at the ball.",
    ),
    "point_book": (
        "The child points at the book on the {o}.",
        "One arm goes out and points at the book, not at the ball.",
        "The child stretches an arm to the {o} and points at the book.",
    ),
    "no_point": (
        "The child does not point at anything.",
        "The child keeps the arms down and points at nothing.",
        "Both arms stay down between the ball and the book.",
    ),
    "give": (
        "The child puts the car into the open hand.",
        "The car is handed over to the open hand on the {s}.",
        "The child reaches to the {s} and gives the car.",
    ),
    "keep": (
        "The child keeps the car and does not give it.",
        "The car stays with the child, away from the open hand.",
        "The child holds on to the car beside the open hand.",
    ),
    "drop_car": (
        "The child drops the car on the floor.",
        "The car falls to the floor, not into the open hand.",
        "The child lets the car fall beside the open hand.",
    ),
    "wave": (
        "The child raises one hand and waves it from side to side.",
        "One raised hand waves at the door.",
        "The child waves at the door with the {s} hand.",
    ),
    "raise_still": (
        "The child raises one hand but does not wave it.",
        "One hand goes up at the door and stays still.",
        "The child holds the {s} hand up without waving.",
    ),
    "arms_down": (
        "The child keeps both arms down at the door.",
        "Both arms hang down and no hand waves.",
        "The child stands by the door with both arms down.",
    ),
    "reach": (
        "The child stretches one arm out and touches the ring.",
        "One hand reaches the ring on the {s}.",
        "The child reaches to the {s} and gets hold of the ring.",
    ),
    "reach_half": (
        "The child stretches one arm out but does not touch the ring.",
        "One hand stops halfway to the ring.",
        "The child starts to reach to the {s} and stops before the ring.",
    ),
    "look_only": (
        "The child looks at the ring and keeps the arms down.",
        "No hand goes to the ring.",
        "The child does not reach for the ring.",
    ),
    "drink": (
        "The child lifts the cup to the mouth and drinks.",
        "The cup reaches the mouth and is tilted.",
        "The child brings the cup to the mouth and tilts it up.",
    ),
    "cup_half": (
        "The child lifts the cup but not to the mouth.",
        "The cup is lifted halfway and put down.",
        "The child raises the cup a little and sets it back on the table.",
    ),
    "cup_table": (
        "The cup stays on the table.",
        "The child does not lift the cup.",
        "The child leaves the cup on the table.",
    ),
}
PLACE_NAMES: dict[str, str] = {
    "room": "a child on a bare floor",
    "mat": "a child lying on a mat",
    "block": "a child with a block",
    "cubes": "a child with two cubes",
    "bottle": "a child with a bottle",
    "spoon": "a child and a spoon",
    "ball": "a child with a ball and a book",
    "car": "a child with a toy car",
    "door": "a child near a door",
    "ring": "a child and a hanging ring",
    "cup": "a child with a cup",
}
TOPICS: dict[str, str] = {
    "18_4": "walking backward",
    "30_1": "standing on one foot",
    "6_1": "rolling over",
    "8_2": "passing a block",
    "18_6": "stacking cubes",
    "18_3": "pouring from a bottle",
    "10_5": "expressing no",
    "12_5": "pointing at the ball",
    "12_4": "giving an object",
    "10_2": "waving goodbye",
    "6_3": "reaching for an object",
    "18_7": "drinking from a cup",
}
UNRELATED_SENTENCES = (
    "The clip shows {place}. Unable to assess {topic}.",
    "Only {place} is visible, so {topic} cannot be assessed.",
    "There is {place} but nothing about {topic}, unable to assess.",
)
UNSEEN_SENTENCES = {
    "occluded": (
        "A screen hides the child. Unable to assess {topic}.",
        "The view is blocked by a screen, so {topic} cannot be assessed.",
    ),
    "cut_off": (
        "The child is cut off by the edge of the picture. Unable to assess {topic}.",
        "Most of the child is outside the picture, so {topic} cannot be assessed.",
    ),
}
GENERIC_SENTENCES = (
    "The clip shows {place}.",
    "There is {place} in the picture, busy and calm.",
    "The child seems content and plays for a while.",
    "A child is filmed indoors during a visit.",
)

Kind = Literal["claim", "unseen", "unrelated", "generic", "contradiction", "garbled"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of the grammar, understood."""

    kind: Literal["claim", "occluded", "cut_off", "unrelated", "generic"]
    action: str | None = None
    sides: frozenset[Side] = frozenset()
    """The scene sides that this sentence is true of; both where it names none."""
    place: str | None = None
    topic: str | None = None
    """The item whose assessment is declined."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a whole description says."""

    kind: Kind
    sentences: tuple[Sentence, ...] = ()

    @property
    def abstains(self) -> bool:
        return self.kind in ("unseen", "unrelated")


def other(side: Side) -> Side:
    return "left" if side == "right" else "right"


def _fill(template: str, side: Side) -> str:
    return template.format(s=side, o=other(side))


def describe_action(action: str, side: Side, rng: random.Random) -> str:
    return _fill(rng.choice(ACTION_SENTENCES[action]), side)


def describe(scene: Scene, rng: random.Random) -> str:
    """True words for a scene under its own item."""
    if scene.view != "clear":
        return describe_unseen(scene.view, scene.item, rng)
    return describe_action(scene.action, scene.side, rng)


def describe_unseen(view: str, item: str, rng: random.Random) -> str:
    return rng.choice(UNSEEN_SENTENCES[view]).format(topic=TOPICS[item])


def describe_unrelated(place: str, item: str, rng: random.Random) -> str:
    return rng.choice(UNRELATED_SENTENCES).format(place=PLACE_NAMES[place], topic=TOPICS[item])


def describe_generic(place: str, rng: random.Random) -> str:
    return rng.choice(GENERIC_SENTENCES).format(place=PLACE_NAMES[place])


@cache
def _sentences() -> dict[str, Sentence]:
    """Every text that the grammar can produce -> its meaning. An abstention may be two sentences: looked up whole."""
    known: dict[str, Sentence] = {}
    for action, templates in ACTION_SENTENCES.items():
        for template in templates:
            for side in ("left", "right"):
                text = _fill(template, side)
                sides = known[text].sides if text in known else frozenset()
                known[text] = Sentence("claim", action, sides | {side})
    for item, topic in TOPICS.items():
        for view, templates in UNSEEN_SENTENCES.items():
            for template in templates:
                known[template.format(topic=topic)] = Sentence(view, topic=item)
        for place, words in PLACE_NAMES.items():
            for template in UNRELATED_SENTENCES:
                known[template.format(place=words, topic=topic)] = Sentence("unrelated", place=place, topic=item)
    for template in GENERIC_SENTENCES:
        for place, words in PLACE_NAMES.items():
            known.setdefault(template.format(place=words), Sentence("generic", place=place))
    return known


def every_sentence() -> tuple[str, ...]:
    """All the texts that the grammar can say in one go."""
    return tuple(_sentences())


@cache
def _beginnings() -> frozenset[str]:
    return frozenset(text[:end] for text in every_sentence() for end in range(len(text) + 1))


def is_beginning(text: str) -> bool:
    """Could `text` go on to be whole sentences of the grammar, whether or not they agree with each other?"""
    rest = text.lstrip()
    known, beginnings = _sentences(), _beginnings()
    while rest not in beginnings:
        # The longest sentence first, as in `parse`.
        ends = [m.end() for m in re.finditer(r"\.(?= )", rest)]
        end = next((e for e in reversed(ends) if rest[:e] in known), None)
        if end is None:
            return False
        rest = rest[end:].lstrip()
    return True


def parse(text: str) -> Reading:
    """Understand a description; `contradiction` when its sentences cannot be true together, `garbled` when unknown."""
    known = _sentences()
    rest, found = " ".join(text.split()), []
    while rest:
        # The longest known beginning: abstentions hold a full stop inside.
        ends = [m.end() for m in re.finditer(r"\.(?= |$)", rest)]
        end = next((e for e in reversed(ends) if rest[:e] in known), None)
        if end is None:
            return Reading("garbled")
        found.append(known[rest[:end]])
        rest = rest[end:].strip()
    if not found:
        return Reading("garbled")
    return Reading(_kind(found), tuple(found))


def _kind(found: list[Sentence]) -> Kind:
    kinds = {s.kind for s in found}
    claims = [s for s in found if s.kind == "claim"]
    declines = kinds & {"occluded", "cut_off", "unrelated"}
    if claims and declines or len(declines) > 1 or len({s.topic for s in found if s.topic}) > 1:
        return "contradiction"
    if claims:
        same = len({s.action for s in claims}) == 1 and frozenset.intersection(*(s.sides for s in claims))
        return "claim" if same else "contradiction"
    if declines:
        return "unrelated" if "unrelated" in declines else "unseen"
    return "generic"


def is_true(text: str, scene: Scene, item: str) -> bool:
    """Are these words true of the scene as an answer about `item`?

    For the scene's own item: the action, and the side where named. For an unrelated item: an abstention about that item
    that names the right place. For a view that shows nothing: an abstention for the right reason.
    """
    reading = parse(text)
    if not reading.sentences:
        return False
    first = reading.sentences[0]
    if scene.view != "clear":
        return reading.kind == "unseen" and first.kind == scene.view and first.topic == item
    if item != scene.item and scene.action not in ITEMS[item].passed + ITEMS[item].failed:
        return reading.kind == "unrelated" and first.place == scene.place and first.topic == item
    return reading.kind == "claim" and first.action == scene.action and all(scene.side in s.sides for s in reading.sentences)
