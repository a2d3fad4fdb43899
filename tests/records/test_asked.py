"""What is to be assessed: folders, and lists with an item for each clip."""

import os
import shutil
from pathlib import Path

import pytest

from srlite.errors import InputError, UsageError
from srlite.records.asked import Asked, clips_of, read_asked
from srlite.records.dataset import catalogue_of
from srlite.records.problems import RowProblems

CATALOGUE = catalogue_of(None)


@pytest.fixture
def videos(examples, tmp_path):
    """Three clips, one of them in a folder below, and what else lies about."""
    folder = tmp_path / "videos"
    (folder / "below").mkdir(parents=True)
    for name, item in (("b.mp4", "18_4"), ("a.MP4", "18_3"), ("below/c.mp4", "6_3")):
        shutil.copy(next((examples / "videos").glob(f"*_{item}_*")), folder / name)
    (folder / "notes.txt").write_text("about the clips")
    (folder / ".hidden.mp4").write_text("")
    (folder / "gone.mp4").symlink_to(folder / "nowhere")
    return folder


def test_a_folder_means_its_clips_by_name_and_its_other_files_are_named(videos, tmp_path):
    single = tmp_path / "single.mp4"
    clips, notes = clips_of([single, videos])
    assert clips == (single, videos / "a.MP4", videos / "b.mp4", videos / "below" / "c.mp4")
    assert len(notes) == 2 and notes[0].endswith("left out: notes.txt") and "gone.mp4" in notes[1]


def test_a_folder_without_a_clip_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no clip in this folder"):
        clips_of([tmp_path / "empty"])


def written(tmp_path, text):
    path = tmp_path / "list.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_list_names_an_item_for_each_clip(videos, tmp_path):
    path = written(tmp_path, "视频;项目;月龄;儿童;outcome\nb.mp4;18_4;19,5;007;pass\nbelow\\c.mp4;6_3;;;\nb.mp4;18_3;;;\n")
    asked, notes = read_asked(path, videos, CATALOGUE)
    assert asked == (
        Asked(videos / "b.mp4", "18_4", 19.5, "007"),
        Asked(videos / "below" / "c.mp4", "6_3"),
        Asked(videos / "b.mp4", "18_3"),
    )
    assert "columns not used: outcome" in notes and any("was taken as 'below/c.mp4'" in note for note in notes)
    assert any("1 of 3 videos" in note for note in notes)


def test_items_csv_of_training_is_a_list_too(examples):
    asked, notes = read_asked(examples / "items.csv", examples / "videos", CATALOGUE)
    assert len(asked) == 108 == len({one.clip for one in asked})
    assert all(os.path.isfile(one.clip) for one in asked) and any("columns not used: outcome" in note for note in notes)


def test_all_that_is_wrong_comes_at_once_with_its_line(videos, tmp_path):
    rows = ["video,item,age_months,child", "b.mp4,18_4,,", "gone2.mp4,18_4,,", "b.mp4,18_44,,", "b.mp4,,,", "a.MP4,18_3,old,"]
    rows += ["b.mp4,18_4,,", "/etc/passwd,18_4,,", "a.MP4,18-Apr,,", ",18_4,,"]
    with pytest.raises(RowProblems) as caught:
        read_asked(written(tmp_path, "\n".join(rows)), videos, CATALOGUE)
    found = {(p.line, p.column) for p in caught.value.found}
    assert found == {
        *((3, "video"), (4, "item"), (5, "item"), (6, "age_months"), (7, None), (8, "video"), (9, "item"), (10, "video"))
    }
    assert "Did you mean 18_4" in str(caught.value) and "stands on line 2 already" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"), [("video,outcome\nb.mp4,pass\n", "no column item"), ("video,item\n", "no row below")]
)
def test_what_is_no_list_is_refused(videos, tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        read_asked(written(tmp_path, text), videos, CATALOGUE)


@pytest.mark.parametrize("age", [-3, 241, 1e9, float("nan"), float("inf")])
def test_an_age_that_no_child_has(age):
    with pytest.raises(UsageError, match="no age of a child"):
        Asked(Path("clip.mp4"), "18_4", age)
