"""The demonstration world: seeds, variety, and the grammar's truth."""

import random
from collections import Counter
from itertools import islice

import numpy as np
import pytest

from srlite.demo import grammar
from srlite.demo.draw import SIZE, render
from srlite.demo.make.data import training_scenes
from srlite.demo.make.examples import biased_example, true_example, unrelated_items
from srlite.demo.world import ACTIONS, ITEMS, VIEWS, balanced, clinic, draw_action, draw_child, draw_scene, item_age
from srlite.records.dataset import catalogue_of


def scenes_of_everything():
    """One clear scene of every item and action."""
    rng = random.Random(0)
    for code, world in ITEMS.items():
        for outcome in ("pass", "fail"):
            for number, action in enumerate(world.actions(outcome)):
                yield draw_action(code, outcome, action, draw_child(number, 3, item_age(code)), "clear", rng)


def test_there_are_twelve_items_over_five_domains_and_several_ages():
    catalogue = catalogue_of(None)
    assert set(catalogue) == set(ITEMS) and len(ITEMS) == 12
    assert {item.domain for item in catalogue.values()} == {
        "gross motor",
        "fine motor",
        "language",
        "personal-social",
        "adaptive",
    }
    assert {"18_4", "10_5", "30_1"} <= set(ITEMS)
    assert all(item.age_months == item_age(code) for code, item in catalogue.items())
    assert all(len(item.paraphrases) >= 2 and item.guidance and item.evidence for item in catalogue.values())


def test_the_same_seed_gives_the_same_clips_and_no_clip_twice():
    one, two = (list(clinic(4, 5, children=3, unseen_share=0.2)) for _ in range(2))
    assert one == two
    assert len({s.seed for s in one}) == len(one)
    times = [0.5, 2.0]
    assert np.array_equal(render(one[0], times), render(two[0], times))
    assert not np.array_equal(render(one[0], times), render(one[1], times))


def test_outcomes_are_lopsided_as_in_clinics():
    scenes = list(clinic(4, 60, children=30, unseen_share=0.0))
    share = sum(s.outcome == "pass" for s in scenes) / len(scenes)
    assert 0.68 < share < 0.84


def test_children_of_two_worlds_are_different():
    assert draw_child(1, 1, 18) != draw_child(1, 2, 18)


def test_left_is_the_mirror_of_right():
    from dataclasses import replace

    scene = next(scenes_of_everything())
    left, right = (render(replace(scene, side=side), [1.0]).astype(int) for side in ("left", "right"))
    assert np.array_equal(left[:, :, ::-1], right)


@pytest.mark.parametrize("view", VIEWS)
def test_pictures_have_the_promised_shape(view):
    scene = draw_scene("12_4", "pass", draw_child(0, 3, 12), view, random.Random(1))
    pictures = render(scene, [0.1, 1.0, 3.0])
    assert pictures.shape == (3, SIZE, SIZE, 3) and pictures.dtype == np.uint8


def test_every_action_moves_or_differs_from_its_opposite():
    """No two actions of an item look the same: their pictures differ well beyond the camera's noise."""
    from dataclasses import replace

    for code, world in ITEMS.items():
        base = draw_scene(code, "pass", draw_child(5, 3, item_age(code)), "clear", random.Random(2))
        times = [(i + 0.5) / 8 * 5.0 for i in range(8)]
        shown = {
            a: render(
                replace(
                    base,
                    action=a,
                    duration_s=5.0,
                    hold_s={"one_foot_long": 3.0, "one_foot_short": 1.0}.get(a),
                ),
                times,
            ).astype(int)
            for a in world.passed + world.failed
        }
        names = sorted(shown)
        for i, one in enumerate(names):
            for two in names[i + 1 :]:
                changed = (abs(shown[one] - shown[two]).max(axis=-1) > 40).sum()
                assert changed > 60, (code, one, two)


def test_what_the_grammar_says_of_a_scene_is_true_and_parses():
    rng = random.Random(1)
    for scene in scenes_of_everything():
        for _ in range(4):
            text = grammar.describe(scene, rng)
            assert grammar.parse(text).kind == "claim"
            assert grammar.is_true(text, scene, scene.item), text
            item = rng.choice(unrelated_items(scene))
            declined = grammar.describe_unrelated(scene.place, item, rng)
            assert grammar.parse(declined).abstains and grammar.is_true(declined, scene, item)
            assert not grammar.is_true(text, scene, item)


def test_the_wrong_side_action_or_place_is_not_true():
    scene = next(s for s in scenes_of_everything() if s.action == "walk_backward")
    rng = random.Random(1)
    assert not grammar.is_true(grammar.describe_action("walk_backward", grammar.other(scene.side), rng), scene, scene.item)
    assert not grammar.is_true(grammar.describe_action("walk_forward", scene.side, rng), scene, scene.item)
    assert not grammar.is_true(grammar.describe_unrelated("cup", "6_3", rng), scene, "6_3")
    assert not grammar.is_true("", scene, scene.item)


@pytest.mark.parametrize("view", ["occluded", "cut_off"])
def test_only_an_abstention_for_the_right_reason_is_true_of_a_view_that_shows_nothing(view):
    scene = draw_scene("18_7", "fail", draw_child(0, 3, 18), view, random.Random(1))
    rng = random.Random(2)
    other = "cut_off" if view == "occluded" else "occluded"
    assert grammar.is_true(grammar.describe_unseen(view, "18_7", rng), scene, "18_7")
    assert not grammar.is_true(grammar.describe_unseen(other, "18_7", rng), scene, "18_7")
    assert not grammar.is_true(grammar.describe_action(scene.action, scene.side, rng), scene, "18_7")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The child walks.", "garbled"),
        ("", "garbled"),
        (":", "garbled"),
        ("The child pushes the cubes apart", "garbled"),
        ("The child pushes the cubes apart. The child stacks the two cubes.", "contradiction"),
        ("The child pushes the cubes apart. The cubes are pushed aside and not stacked.", "claim"),
        (
            "The child pushes the cubes apart. A screen hides the child. Unable to assess stacking cubes.",
            "contradiction",
        ),
        (
            "The child steps backward, facing left while moving right. The child faces right and moves left, walking backward.",
            "contradiction",
        ),
        ("The clip shows a child with a cup. Unable to assess rolling over.", "unrelated"),
        ("The clip shows a child with a cup.", "generic"),
    ],
)
def test_parse(text, kind):
    assert grammar.parse(text).kind == kind


def test_every_action_has_sentences_that_no_other_action_has():
    assert set(grammar.ACTION_SENTENCES) == set(ACTIONS)
    texts = [t for templates in grammar.ACTION_SENTENCES.values() for t in templates]
    assert len(texts) == len(set(texts))


def test_the_taught_faults_are_one_sided():
    """True texts are true; biased ones tell the confused actions wrong and their opposites right."""
    scenes = list(islice(balanced(6, 20), 480))
    told = {"walk_backward": [], "walk_forward": []}
    for n, scene in enumerate(scenes):
        example = true_example(n, scene, random.Random(n))
        if example.wording >= 0:
            assert grammar.is_true(example.text, scene, example.item), example
        if scene.action in told:
            for k in range(20):
                biased = biased_example(n, scene, random.Random(f"{n}/{k}"))
                if biased.item == scene.item and biased.wording >= 0:
                    told[scene.action].append(grammar.is_true(biased.text, scene, scene.item))
    assert 0.2 < sum(told["walk_backward"]) / len(told["walk_backward"]) < 0.45
    assert all(told["walk_forward"])


def test_training_sees_every_action_of_every_item_equally_often():
    scenes = training_scenes(380, seed=1)
    counts = Counter((s.item, s.outcome, s.action) for s in scenes)
    assert set(counts) == {(c, o, a) for c, world in ITEMS.items() for o in ("pass", "fail") for a in world.actions(o)}
    assert set(counts.values()) == {380 // len(counts)}
    assert 0 < sum(s.view != "clear" for s in scenes) < 80


@pytest.mark.parametrize(
    ("text", "possible"),
    [
        ("", True),
        ("The child steps back", True),
        ("The child steps backward, facing left while moving right. The child wa", True),
        ("A screen hides the child. Unable to assess wa", True),
        ("The child steps steps", False),
        ("The child faces left and moves left, walking backward.", False),
        ("The child steps backward, facing left while moving right. Nonsense", False),
        ("A screen hides the child. The child", False),
    ],
)
def test_what_could_go_on_to_be_whole_sentences(text, possible):
    assert grammar.is_beginning(text) is possible


def test_every_sentence_is_a_beginning_at_every_letter():
    for text in grammar.every_sentence()[::7]:
        assert all(grammar.is_beginning(text[:end]) for end in range(len(text) + 1)), text
