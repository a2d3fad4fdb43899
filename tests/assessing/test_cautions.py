"""Every warning on real clips, and that it stays away where it does not belong."""

import shutil
from dataclasses import replace

import pytest
from cut_clips import clip_of, cut

from srlite.assessing.cautions import DEMONSTRATION, Known, warnings_of
from srlite.assessing.job import assess_all
from srlite.describing import Seen
from srlite.records.asked import Asked
from srlite.training.purged import add_mark

AUDIO = "this item needs sound, which the descriptor does not hear"
UNTRAINED = "the adapter never saw this item in training"


@pytest.fixture(scope="module")
def warned(data, examples, trained, tmp_path_factory):
    """Warnings by what is odd about the clip or the question."""
    folder = tmp_path_factory.mktemp("odd")
    long, ring = clip_of(data, "18_4"), clip_of(data, "6_3")
    asked = {
        "plain": Asked(clip_of(data, "18_3"), "18_3", 23.5),
        "sound": Asked(next((examples / "videos").glob("*_12_5_*")), "12_5"),
        "short": Asked(cut(long, folder / "short.mp4", 24), "30_1"),
        "few": Asked(cut(clip_of(data, "18_3"), folder / "few.mp4", 3, every=10), "18_3"),
        "rare": Asked(long, "18_4"),
        "dense": Asked(cut(long, folder / "dense.mp4", 45), "18_4"),
        "old": Asked(clip_of(data, "18_3"), "18_3", 30.0),
        "rather old": Asked(ring, "6_3", 8.5),
        "about right": Asked(ring, "6_3", 8.0),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SRLITE_HOME", str(folder / "home"))
        found = assess_all(list(asked.values()), run=trained)
        return {name: one.warnings for name, one in zip(asked, found, strict=True)}


def test_a_demonstration_model_is_said_and_no_more_where_all_is_well(warned):
    assert warned["plain"] == (DEMONSTRATION,) == warned["about right"]


def test_an_item_with_sound_that_the_adapter_never_saw(warned):
    assert warned["sound"] == (DEMONSTRATION, AUDIO, UNTRAINED)


def test_a_clip_shorter_than_the_item(warned):
    assert warned["short"] == (DEMONSTRATION, UNTRAINED, "the clip is 1.6 s long, the item needs 2 s")


def test_a_clip_with_few_pictures(warned):
    assert warned["few"] == ("the clip has 3 frames where 8 were wanted", DEMONSTRATION)


def test_an_item_of_order_or_duration_seen_too_rarely(warned):
    (said,) = set(warned["rare"]) - {DEMONSTRATION}
    assert said.endswith(" pictures a second were looked at: order and duration, on which this item hangs, may be missed")
    assert 1.0 < float(said.split()[0]) < 2.0
    assert warned["dense"] == (DEMONSTRATION,)


def test_a_child_of_another_age(warned):
    assert warned["old"] == (DEMONSTRATION, "the child is 30 months old, the item is for 18: more than 6 months away")
    assert warned["rather old"] == (DEMONSTRATION, "the child is 8.5 months old, the item is for 6: more than 2 months away")


def test_where_the_split_cannot_be_read_it_is_said(data, trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    (tmp_path / "run" / "split.csv").unlink()
    (found,) = assess_all([Asked(clip_of(data, "18_3"), "18_3")], run=tmp_path / "run")
    assert [w for w in found.warnings if "split.csv cannot be read" in w]


def test_of_a_run_that_lost_records_it_is_not_claimed_that_an_item_was_never_seen(data, trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    add_mark(tmp_path / "run", "2030-01-02", trained=True)
    found = assess_all([Asked(clip_of(data, "18_3"), item) for item in ("18_3", "10_2")], run=tmp_path / "run")
    seen, unseen = (one.warnings for one in found)
    assert seen == (DEMONSTRATION,)
    assert [w for w in unseen if "purged" in w and "may never have seen" in w] and UNTRAINED not in unseen


def test_models_of_ones_own_are_no_demonstration_and_the_clips_own_warnings_stay(trained):
    from srlite.training.run import Run

    known = Known(demonstration=False, trained=Run(trained).items_trained(), purged=False)
    seen = Seen("0" * 64, 3.0, tuple(i / 3 for i in range(8)), ("half of it is damaged",))
    item = Run(trained).catalogue()["18_4"]
    assert known.trained == {"18_4", "18_3", "6_3", "12_4"}
    assert warnings_of(known, seen, Asked(None, "18_4"), item) == ("half of it is damaged",)
    no_age = replace(item, age_months=None)
    assert warnings_of(known, seen, Asked(None, "18_4", 200.0), no_age) == ("half of it is damaged",)
