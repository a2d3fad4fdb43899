"""Draws a scene at any moment: a child, its things, and what it does.

`render(scene, times_s)` gives uint8 pictures (F, 128, 128, 3). Coordinates are in units of a 128 x 128 picture, drawn at
twice the size and averaged down. Every scene is drawn as side "right" and mirrored for "left", so that left and right
cannot differ in anything else. One function draws each place; `Hand`s and `Feet` are where limbs end.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from srlite.demo.world import DrawnChild, Scene

SIZE = 128
SCALE = 2
Point = tuple[float, float]
Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Setting:
    """What differs from clip to clip besides the action: colours, camera, timing."""

    wall: Colour
    floor: Colour
    thing: Colour
    thing_2: Colour
    adult: Colour
    screen: Colour
    zoom: float
    shift: Point
    begin: float
    """Share of the clip after which the action begins."""
    speed: float
    phase: float
    cut: Point
    """Where the camera looks away to in a cut-off view."""
    noise: float


def _setting(scene: Scene) -> Setting:
    rng = random.Random(f"setting/{scene.seed}")
    light = lambda low, high: tuple(rng.randint(low, high) for _ in range(3))  # noqa: E731
    return Setting(
        wall=light(165, 250),
        floor=light(95, 160),
        thing=rng.choice(THINGS),
        thing_2=rng.choice(THINGS),
        adult=rng.choice(((224, 172, 125), (198, 134, 92), (240, 200, 160), (120, 80, 54))),
        screen=light(40, 120),
        zoom=rng.uniform(0.92, 1.08),
        shift=(rng.uniform(-6, 6), rng.uniform(-4, 4)),
        begin=rng.uniform(0.08, 0.26),
        speed=scene.child.pace * rng.uniform(0.95, 1.1),
        phase=rng.uniform(0, 1),
        cut=rng.choice(((78, 0), (-78, 0), (0, 84))),
        noise=rng.uniform(1.0, 5.0),
    )


THINGS: tuple[Colour, ...] = (
    (210, 40, 40),
    (40, 90, 200),
    (230, 150, 20),
    (120, 40, 160),
    (20, 130, 70),
    (200, 30, 120),
)


class Pen:
    """ImageDraw in scene units under one camera (zoom about the centre, shift)."""

    def __init__(self, image: Image.Image, zoom: float, shift: Point):
        self._draw = ImageDraw.Draw(image)
        self._zoom, self._shift = zoom, shift

    def at(self, p: Point) -> Point:
        half = SIZE / 2
        return tuple(((v - half) * self._zoom + half + s) * SCALE for v, s in zip(p, self._shift, strict=True))

    def _width(self, w: float) -> int:
        return max(1, round(w * self._zoom * SCALE))

    def line(self, points: Sequence[Point], colour: Colour, w: float) -> None:
        xy = [self.at(p) for p in points]
        self._draw.line(xy, fill=colour, width=self._width(w), joint="curve")
        for p in (points[0], points[-1]):
            self.disc(p, w / 2, colour)

    def disc(self, centre: Point, r: float, colour: Colour, squash: float = 1.0) -> None:
        (x, y), k = self.at(centre), r * self._zoom * SCALE
        self._draw.ellipse([x - k, y - k * squash, x + k, y + k * squash], fill=colour)

    def ring(self, centre: Point, r: float, colour: Colour, w: float) -> None:
        (x, y), k = self.at(centre), r * self._zoom * SCALE
        self._draw.ellipse([x - k, y - k, x + k, y + k], outline=colour, width=self._width(w))

    def box(self, a: Point, b: Point, colour: Colour, outline: Colour | None = None) -> None:
        self._draw.rectangle([*self.at(a), *self.at(b)], fill=colour, outline=outline, width=SCALE)

    def shape(self, points: Sequence[Point], colour: Colour) -> None:
        self._draw.polygon([self.at(p) for p in points], fill=colour)


def ease(t: float, begin: float, end: float) -> float:
    """0 before `begin`, 1 after `end`, smooth between."""
    u = min(1.0, max(0.0, (t - begin) / max(end - begin, 1e-6)))
    return u * u * (3 - 2 * u)


def mix(a: Point, b: Point, u: float) -> Point:
    return (a[0] + (b[0] - a[0]) * u, a[1] + (b[1] - a[1]) * u)


def bump(t: float, begin: float, length: float, top: float = 0.35) -> float:
    """Up, held, and down again within `length` seconds; `top` is the share spent going each way."""
    return ease(t, begin, begin + length * top) - ease(t, begin + length * (1 - top), begin + length)


DARK: Colour = (30, 28, 32)
WOOD: Colour = (150, 105, 60)
TABLE_Y = 92.0


# ---- the child ----------------------------------------------------------------------------------------------------


def _head(pen: Pen, child: DrawnChild, at: Point, r: float, look: float = 0.0, back: bool = False) -> None:
    """A head whose face is turned by `look` (-1 left .. 1 right); `back`: seen from behind."""
    pen.disc(at, r, child.hair)
    if back:
        return
    face = (at[0] + look * r * 0.42, at[1] + r * 0.16)
    pen.disc(face, r * 0.80, child.skin)
    for side in (-1, 1):
        pen.disc((face[0] + side * r * 0.32 + look * r * 0.30, face[1] - r * 0.08), r * 0.13, DARK)
    mouth = (face[0] + look * r * 0.3, face[1] + r * 0.38)
    pen.line([(mouth[0] - r * 0.2, mouth[1]), (mouth[0] + r * 0.2, mouth[1])], (170, 60, 60), r * 0.12)


def _arm(pen: Pen, child: DrawnChild, shoulder: Point, hand: Point, w: float) -> None:
    bend = 3.0 if hand[0] > shoulder[0] else -3.0
    elbow = ((shoulder[0] + hand[0]) / 2 + bend, (shoulder[1] + hand[1]) / 2 + 2)
    pen.line([shoulder, elbow, hand], child.shirt, w)
    pen.disc(hand, w * 0.62, child.skin)


def _standing(
    pen: Pen,
    child: DrawnChild,
    x: float,
    hands: tuple[Point, Point],
    *,
    look: float = 0.0,
    lift: float = 0.0,
    lean: float = 0.0,
) -> None:
    """The whole child from the front. `hands` are offsets from the shoulders; `lift` raises the right foot."""
    k, ground = child.height, 108.0
    hip, neck = ground - 34 * k, ground - 62 * k
    top = (x + lean, neck)
    pen.line([(x - 4, hip), (x - 6, ground)], child.trousers, 6 * k)
    pen.line(
        [
            (x + 4, hip),
            (x + 6 + 9 * lift, ground - 15 * k - 3 * (1 - lift)) if lift > 0.02 else (x + 5, ground - 16 * k),
            (x + 6 + 3 * lift, ground - 24 * k * lift),
        ],
        child.trousers,
        6 * k,
    )
    pen.line([(x - 9, ground), (x - 4, ground)], DARK, 4)
    foot = (x + 6 + 3 * lift, ground - 24 * k * lift)
    pen.line([foot, (foot[0] + 5, foot[1])], DARK, 4)
    pen.shape(
        [(x - 8 * k, hip + 2), (x + 8 * k, hip + 2), (top[0] + 9 * k, neck), (top[0] - 9 * k, neck)],
        child.shirt,
    )
    for side, hand in zip((-1, 1), hands, strict=True):
        shoulder = (top[0] + side * 9 * k, neck + 3)
        _arm(pen, child, shoulder, (shoulder[0] + hand[0], shoulder[1] + hand[1]), 4.6 * k)
    _head(pen, child, (top[0], neck - 11 * k), 11 * k, look)


def _sitting(
    pen: Pen,
    child: DrawnChild,
    hands: tuple[Point, Point],
    *,
    look: float = 0.0,
    x: float = 64.0,
    turned: float = 0.0,
) -> None:
    """The upper half of the child at a table, from the front. `hands` are places in the picture."""
    k = child.height
    neck, half = 54.0, 14 * k * (1 - 0.45 * turned)
    pen.shape([(x - half * 1.1, 112), (x + half * 1.1, 112), (x + half, neck), (x - half, neck)], child.shirt)
    _head(pen, child, (x + 3 * turned, neck - 16 * k), 15.5 * k, look, back=turned > 0.8)
    for side, hand in zip((-1, 1), hands, strict=True):
        _arm(pen, child, (x + side * half, neck + 5), hand, 6 * k)


def _walking(pen: Pen, child: DrawnChild, x: float, stride: float) -> None:
    """The child from the side, facing right; `stride` swings the legs (-1 .. 1)."""
    k, ground = child.height, 108.0
    hip, neck = (x, ground - 34 * k), (x + 1, ground - 62 * k)
    for sign, colour in ((-1, tuple(int(c * 0.7) for c in child.trousers)), (1, child.trousers)):
        foot = (x + sign * 11 * stride, ground - 3 * abs(stride))
        pen.line([hip, ((hip[0] + foot[0]) / 2 + 3, (hip[1] + foot[1]) / 2), foot], colour, 6 * k)
        pen.line([foot, (foot[0] + 6, foot[1])], DARK, 4)
    pen.line([hip, neck], child.shirt, 13 * k)
    swing = (neck[0] - 9 * stride, neck[1] + 24 * k)
    pen.line([(neck[0], neck[1] + 3), swing], tuple(int(c * 0.8) for c in child.shirt), 4.6 * k)
    pen.disc(swing, 3 * k, child.skin)
    head = (neck[0] + 1, neck[1] - 11 * k)
    pen.disc(head, 11 * k, child.hair)
    pen.disc((head[0] + 4 * k, head[1] + 2), 8.4 * k, child.skin)
    pen.disc((head[0] + 12 * k, head[1] + 3), 2.6 * k, child.skin)  # the nose tells which way the child faces
    pen.disc((head[0] + 7 * k, head[1]), 1.6 * k, DARK)


# ---- places: each draws one scene at second t; b is when the action begins, in seconds -------------------------------

DOWN: tuple[Point, Point] = ((-3, 24), (3, 24))
LAP: tuple[Point, Point] = ((50, 90), (78, 90))


def _room(pen: Pen, s: Scene, g: Setting, t: float, b: float) -> None:
    if s.action in ("walk_forward", "walk_backward"):
        way = 1 if s.action == "walk_forward" else -1
        x = 64 + way * (-34 + 68 * ease(t, 0, s.duration_s) * 0.35 + 68 * 0.65 * min(1, t / s.duration_s))
        _walking(pen, s.child, x, math.sin(2 * math.pi * (t * 0.9 * g.speed + g.phase)))
        return
    lift = bump(t, b, s.hold_s + 0.3, top=0.12) if s.hold_s else 0.0
    arms = ((-3 - 12 * lift, 24 - 16 * lift), (3 + 12 * lift, 24 - 16 * lift))
    _standing(pen, s.child, 64, arms, lift=lift, lean=-3 * lift)


def _mat(pen: Pen, s: Scene, g: Setting, t: float, b: float) -> None:
    """Lying, head to the right. `roll` goes from 0 (on the back) to 1 (on the belly)."""
    end = b + 1.6 / g.speed
    roll = {"roll_over": ease(t, b, end), "roll_half": 0.5 * bump(t, b, 2.2 / g.speed, 0.45)}.get(s.action, 0.0)
    c, k, y = s.child, s.child.height, 88.0
    up = math.cos(math.pi * roll)  # +1: belly up, -1: belly down
    pen.box((8, 96), (120, 106), g.thing)
    pen.line([(22, y + 3), (52, y + 2)], c.trousers, 9 * k)
    pen.line([(24, y + 3 - 6 * abs(up)), (50, y - 2)], tuple(int(v * 0.75) for v in c.trousers), 7 * k)
    pen.disc((66, y), 18 * k, c.shirt, squash=0.55)
    pen.disc((66, y - 7 * k * up), 11 * k, (245, 240, 225), squash=0.35)  # the bib: on the belly side
    head = (94, y - 1)
    pen.disc(head, 12 * k, c.hair)
    pen.disc((head[0] + 1, head[1] - 5 * k * up), 8.6 * k, c.skin)
    pen.disc((head[0] - 1, head[1] - 9 * k * up), 1.6, DARK)
    pen.disc((head[0] + 4, head[1] - 9 * k * up), 1.6, DARK)
    wiggle = 5 * math.sin(2 * math.pi * (0.7 * t + g.phase)) if s.action == "lie_still" else 0.0
    hand = (76 + wiggle, y - 20 * k) if up > 0.2 else (84, y + 9) if up < -0.2 else (82, y - 9)
    pen.line([(76, y - 3), hand], c.shirt, 5 * k)
    pen.disc(hand, 3.2 * k, c.skin)


def _table(pen: Pen) -> None:
    pen.box((-20, TABLE_Y), (148, 150), WOOD)


def _block(pen: Pen, s: Scene, g: Setting, t: float, b: float) -> None:
    """The block begins in the right hand."""
    u = ease(t, b + 0.3, b + 1.2 / g.speed)
    right, left, block = (84.0, 74.0), (44.0, 76.0), (84.0, 68.0)
    if s.action == "transfer":
        meet = bump(t, b, 1.8 / g.speed, 0.45)
        right, left = mix((84, 74), (67, 72), meet), mix((44, 76), (61, 72), meet)
        block = (right[0], right[1] - 6) if u < 0.5 else (left[0], left[1] - 6)
    elif s.action == "drop_block":
        block = (84, 68 + (TABLE_Y - 5 - 68) * u)
        right = (84 + 6 * u, 74)
    else:
        right = (84, 74 + 4 * math.sin(2 * math.pi * (0.5 * t + g.phase)))
        block = (84, right[1] - 6)
    _sitting(pen, s.child, (left, right))
    _table(pen)
    pen.box((block[0] - 5.5, block[1] - 5.5), (block[0] + 5.5, block[1] + 5.5), g.thing, DARK)


def _cube(pen: Pen, at: Point, colour: Colour) -> None:
    pen.box((at[0] - 7, at[1] - 14), (at[0] + 7, at[1]), colour, DARK)


def _cubes(pen: Pen, s: Scene, g: Setting, t: float, b: float) -> None:
    """The right cube is the one that moves (both, when pushed apart)."""
    a, c, end = (52.0, TABLE_Y), (78.0, TABLE_Y), b + 1.9 / g.speed
    left, right = (40.0, 86.0), (90.0, 86.0)
    if s.action == "stack":
        u, v = ease(t, b, b + 0.8 / g.speed), ease(t, b + 0.7 / g.speed, end)
        c = mix(mix((78, TABLE_Y), (78, TABLE_Y - 26), u), (52, TABLE_Y - 14), v)
        right = (c[0] + 9, c[1] - 8)
    elif s.action == "lift_cube":
        c = (78, TABLE_Y - 26 * bump(t, b, 2.0 / g.speed, 0.4))
        right = (c[0] + 9, c[1] - 8)
    else:
        u = ease(t, b, b + 1.1 / g.speed)
        a, c = (52 - 24 * u, TABLE_Y), (78 + 24 * u, TABLE_Y)
        left, right = (a[0] + 9 if u else 56, 86), (c[0] - 9 if u else 74, 86)
    _sitting(pen, s.child, (left, right))
    _table(pen)
    _cube(pen, a, g.thing)
    _cube(pen, c, g.thing_2)
    for hand in (left, right):
        pen.disc(hand, 3.6, s.child.skin)


def _bottle(pen: Pen, s: Scene, g: Setting, t: float, b: float) -> None:
    """The bottle is held in the right hand and tilts to the right; the bead lies in it until it falls."""
    most = {"pour": 2.2, "tilt_dry": 1.25}.get(s.action, 0.0)
    angle = most * ease(t, b, b + 1.1 / g.speed)
    grip = (72.0, 70.0)
    along = (math.sin(angle), -math.cos(angle))
    base, tip = (
        (grip[0] - 9 * along[0], grip[1] - 9 * along[1]),
        (grip[0] + 11 * along[0], grip[1] + 11 * along[1]),
    )
    neck = (tip[0] + 6 * along[0], tip[1] + 6 * along[1])
    _sitting(pen, s.child, ((50, 84), (grip[0] + 2, grip[1] + 2)))
    _table(pen)
    pen.line([base, tip], (225, 235, 245), 12)
    pen.line([tip, neck], (200, 215, 235), 6)
    fall = ease(t, b + 0.9 / g.speed, b + 1.5 / g.speed) if s.action == "pour" else 0.0
    inside = mix(base, tip, 0.15 + 0.8 * ease(angle, 0.8, 2.0))
    bead = mix(inside, (neck[0] + 3, TABLE_Y - 4), fall)
    pen.disc(bead, 4.2, g.thing)
    pen.disc((grip[0] - 5 * along[1] * 0.2, grip[1]), 4.2, s.child.skin)


def _spoon(pen: Pen, s: Scene, g: Setting, t: float, b: float) -> None:
    """An adult's arm offers a spoon from the left."""
    offer, u = ease(t, 0, b), ease(t, b, b + 0.9 / g.speed)
    hand = mix((-6, 74), (22, 70), offer)
    tip = (hand[0] + 20, hand[1] - 3)
    look, turned, left, right = -0.4, 0.0, (52.0, 90.0), (84.0, 90.0)
    held = False
    if s.action == "turn_away":
        look, turned = -0.4 + 1.5 * u, u
    elif s.action == "push_off":
        push = ease(t, b + 0.3, b + 1.1 / g.speed)
        left = mix(mix((52, 90), (46, 70), u), (26, 66), push)
        hand = (22 - 20 * push, 70 + 4 * push)
        tip = (hand[0] + 20, hand[1] - 3)
    elif s.action == "shake_head":
        look = -0.2 + u * 0.95 * math.sin(2 * math.pi * (0.8 * t + g.phase))
    elif s.action == "accept":
        take = ease(t, b + 0.7, b + 1.7 / g.speed)
        left = mix(mix((52, 90), (42, 68), u), (58, 74), take)
        held = u > 0.9
        if held:
            tip, hand = (left[0] - 2, left[1] - 12), (22 - 26 * take, 72)
    _sitting(pen, s.child, (left, right), look=look, turned=turned, x=74)
    _table(pen)
    pen.line([(-20, hand[1] + 6), hand], g.adult, 9)
    grip = left if held else hand
    pen.line([grip, tip], (235, 235, 240), 2.6)
    pen.disc(tip, 4.4, (225, 225, 232), squash=0.75)
    pen.disc(left, 4, s.child.skin)


def _ball(pen: Pen, s: Scene, g: Setting, t: float, b: float) -> None:
    """The ball lies on the right, the book on the left."""
    u = ease(t, b, b + 0.8 / g.speed)
    pen.disc((108, 98), 10, g.thing)
    pen.disc((105, 94), 3, (250, 250, 250))
    pen.shape([(8, 104), (32, 104), (28, 88), (12, 88)], g.thing_2)
    pen.line([(20, 88), (20, 104)], (250, 250, 250), 1.5)
    left, right = DOWN
    if s.action == "point_ball":
        right = mix(DOWN[1], (25, 14), u)
    elif s.action == "point_book":
        left = mix(DOWN[0], (-25, 14), u)
    _standing(pen, s.child, 62, (left, right), look=0.5 * (right[0] > 10) - 0.5 * (left[0] < -10))


def _open_hand(pen: Pen, at: Point, colour: Colour) -> None:
    pen.line([(148, at[1] + 10), at], colour, 9)
    for dy in (-3, 0, 3):
        pen.line([at, (at[0] - 9, at[1] + dy - 2)], colour, 2.4)


def _car(pen: Pen, s: Scene, g: Setting, t: float, b: float) -> None:
    """An adult's open hand waits on the right; the child begins with the car in front of it."""
    u = ease(t, b, b + 1.0 / g.speed)
    palm, start = (106.0, 82.0), (62.0, 66.0)
    car, right = start, (start[0] + 3, start[1])
    if s.action == "give":
        back = ease(t, b + 1.4 / g.speed, b + 2.2 / g.speed)
        car = mix(start, (palm[0] - 4, palm[1] - 7), u)
        right = mix((car[0] - 6, car[1] + 1), (76, 88), back)
    elif s.action == "drop_car":
        fall = ease(t, b + 0.8, b + 1.4)
        right = mix((65, 66), (84, 70), u)
        car = (right[0] - 1, right[1] + (116 - 66) * fall)
    else:
        car = (60 - 4 * u, 66 + 2 * math.sin(2 * math.pi * (0.5 * t + g.phase)))
        right = (car[0] + 3, car[1])
    _sitting(pen, s.child, ((46, 84), right), look=0.4, x=52)
    _open_hand(pen, palm, g.adult)
    pen.box((car[0] - 8, car[1] - 4), (car[0] + 8, car[1] + 3), g.thing, DARK)
    pen.box((car[0] - 4, car[1] - 8), (car[0] + 4, car[1] - 4), g.thing)
    for dx in (-5, 5):
        pen.disc((car[0] + dx, car[1] + 4), 2.4, DARK)
    pen.disc(right, 3.4, s.child.skin)


def _door(pen: Pen, s: Scene, g: Setting, t: float, b: float) -> None:
    """A door on the left; the right hand goes up."""
    pen.box((6, 34), (34, 108), WOOD, DARK)
    pen.disc((30, 74), 2.2, (240, 220, 120))
    u = ease(t, b, b + 0.6 / g.speed) if s.action != "arms_down" else 0.0
    swing = 13 * math.sin(2 * math.pi * (1.15 * t + g.phase)) if s.action == "wave" else 0.0
    _standing(pen, s.child, 74, (DOWN[0], mix(DOWN[1], (10 + swing, -24), u)), look=-0.4)


def _ring(pen: Pen, s: Scene, g: Setting, t: float, b: float) -> None:
    """A ring hangs on the right."""
    far = {"reach": 1.0, "reach_half": 0.45}.get(s.action, 0.0)
    u = far * ease(t, b, b + 1.0 / g.speed)
    if s.action == "reach_half":
        u = far * bump(t, b, 2.4 / g.speed, 0.35)
    held = s.action == "reach" and u > 0.97
    ring = (103 + (2 * math.sin(6 * t) if held else 0), 58)
    _sitting(pen, s.child, ((40, 92), mix((70, 92), (96, 61), u)), look=0.6, x=52)
    pen.line([(103, -10), (ring[0], ring[1] - 9)], DARK, 1.4)
    pen.ring(ring, 9, g.thing, 3.6)


def _cup(pen: Pen, s: Scene, g: Setting, t: float, b: float) -> None:
    far = {"drink": 1.0, "cup_half": 0.45}.get(s.action, 0.0)
    if s.action == "drink":
        u, tilt = ease(t, b, b + 0.9 / g.speed), ease(t, b + 0.7, b + 1.4 / g.speed)
    else:
        u, tilt = bump(t, b, 2.2 / g.speed, 0.4) if far else 0.0, 0.0
    top = (66.0, 50.0 + 2)
    cup = mix((80, TABLE_Y - 7), top, u * (far if far < 1 else 1))
    _sitting(pen, s.child, ((46, 88), (cup[0] + 7, cup[1] + 2) if far else (94, 88)))
    _table(pen)
    lean = 0.9 * tilt
    ax, ay = math.sin(lean), math.cos(lean)
    corners = [(-6, -7), (6, -7), (4.5, 7), (-4.5, 7)]
    pen.shape([(cup[0] + x * ay + y * ax, cup[1] - x * ax + y * ay) for x, y in corners], g.thing)
    pen.disc((cup[0] + 7, cup[1] + 2), 3.8, s.child.skin) if far else None


PLACES: dict[str, Callable[[Pen, Scene, Setting, float, float], None]] = {
    "room": _room,
    "mat": _mat,
    "block": _block,
    "cubes": _cubes,
    "bottle": _bottle,
    "spoon": _spoon,
    "ball": _ball,
    "car": _car,
    "door": _door,
    "ring": _ring,
    "cup": _cup,
}


def _picture(scene: Scene, g: Setting, t: float) -> Image.Image:
    side = SIZE * SCALE
    image = Image.new("RGB", (side, side), g.wall)
    shift = g.shift if scene.view != "cut_off" else (g.shift[0] + g.cut[0], g.shift[1] + g.cut[1])
    pen = Pen(image, g.zoom, shift)
    pen.box((-200, 100 if scene.place not in ("room", "ball", "door") else 104), (330, 330), g.floor)
    PLACES[scene.place](pen, scene, g, t, g.begin * scene.duration_s)
    if scene.view == "occluded":
        pen.box((8, 12), (122, 140), g.screen, DARK)
        for x in range(24, 122, 16):
            pen.line([(x, 14), (x, 138)], tuple(min(255, c + 40) for c in g.screen), 2)
    return image.resize((SIZE, SIZE), Image.Resampling.BOX)


def render(scene: Scene, times_s: Sequence[float]) -> np.ndarray:
    """The scene at each of the times: uint8 (F, 128, 128, 3), RGB, with a little camera noise."""
    g = _setting(scene)
    grain = np.random.default_rng(scene.seed)
    pictures = np.stack([np.asarray(_picture(scene, g, t)) for t in times_s]).astype(np.int16)
    pictures += np.rint(grain.normal(0, g.noise, pictures.shape[:3] + (1,))).astype(np.int16)
    pictures = np.clip(pictures, 0, 255).astype(np.uint8)
    return np.ascontiguousarray(pictures[:, :, ::-1]) if scene.side == "left" else pictures
