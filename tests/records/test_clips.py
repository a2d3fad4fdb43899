"""Names of clips: what is spelled differently is found and said, what leads astray is refused (A15, A16)."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from srlite.errors import InputError
from srlite.records.clips import clip_named, identical_clips, read_folder, resolve_clips
from srlite.records.problems import RowProblems
from srlite.types import Record


def make(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode("utf-8", "surrogateescape"))
    return folder


def resolve(folder: Path, *cells: str) -> tuple[list[str], tuple[str, ...]]:
    records = [Record(cell, f"i{n}", "pass", line=n + 2) for n, cell in enumerate(cells)]
    resolved, notes = resolve_clips(records, folder)
    return [record.clip for record in resolved], notes


def refusal(folder: Path, *cells: str) -> str:
    with pytest.raises(InputError) as caught:
        resolve(folder, *cells)
    return str(caught.value)


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    (tmp_path / "videos").mkdir()
    return tmp_path / "videos"


def test_exact_names_of_any_kind_without_a_note(videos):
    names = ["child 01 走路 é [left].MP4", "sub/b.mp4", "a*?.mov"]
    assert resolve(make(videos, *names), *names) == (names, ())


def test_composed_name_finds_the_decomposed_file(videos):
    stored = unicodedata.normalize("NFD", "café_01.mp4")
    clips, notes = resolve(make(videos, stored), unicodedata.normalize("NFC", "café_01.mp4"))
    assert clips == [stored] and len(notes) == 1 and "taken as" in notes[0]


@pytest.mark.parametrize("cell", ["sub\\new.mp4", "sub/new.MP4", "./sub/new.mp4", "videos\\sub\\new.mp4"])
def test_slashes_suffix_case_and_the_folders_own_name(videos, cell):
    clips, notes = resolve(make(videos, "sub/new.mp4"), cell)
    assert clips == ["sub/new.mp4"] and "taken as 'sub/new.mp4'" in notes[0]


def test_exact_wins_over_similar_and_ambiguous_is_an_error(videos):
    make(videos, "a.mp4", "a.MP4")
    assert resolve(videos, "a.MP4")[0] == ["a.MP4"]
    said = refusal(videos, "a.Mp4")
    assert "line 2" in said and "'a.MP4'" in said and "'a.mp4'" in said


def test_one_cell_by_itself(videos):
    folder = read_folder(make(videos, "a.mp4", "b.MOV", "b.mov"))
    assert clip_named("a.MP4", folder) == "a.mp4" and clip_named("b.mov", folder) == "b.mov"
    assert (
        clip_named("b.Mov", folder) is None and clip_named("c.mp4", folder) is None and clip_named("../a.mp4", folder) is None
    )


def test_the_stem_keeps_its_case(videos):
    assert "nearest: 'Clip.mp4'" in refusal(make(videos, "Clip.mp4"), "clip.mp4")


def test_missing_ones_come_together_with_the_nearest_name(videos):
    said = refusal(make(videos, "walk_01.mp4", "jump.mp4"), "walk_1.mp4", "jump.mp4", "zzzzzzzz")
    assert "2 problems" in said and "line 2" in said and "nearest: 'walk_01.mp4'" in said
    assert "line 4, column video: 'zzzzzzzz' is not there" in said and "line 3" not in said


@pytest.mark.parametrize(
    "cell",
    [
        "/etc/passwd",
        "\\\\server\\x.mp4",
        "C:\\x.mp4",
        "c:x.mp4",
        "../out.mp4",
        "sub\\..\\..\\out.mp4",
        "sub/../a.mp4",
        "https://example.org/a.mp4",
        "file:///a.mp4",
    ],
)
def test_paths_that_lead_out_are_refused_even_if_there_is_such_a_file(videos, cell):
    make(videos, "a.mp4", "sub/b.mp4")
    make(videos.parent, "out.mp4")
    assert "line 2, column video" in refusal(videos, cell)


def test_links_inside_are_followed_to_the_real_file(videos):
    make(videos, "real.mp4", "sub/b.mp4")
    (videos / "link.mp4").symlink_to("real.mp4")
    (videos / "folder").symlink_to("sub", target_is_directory=True)
    assert resolve(videos, "link.mp4", "folder/b.mp4")[0] == ["real.mp4", "sub/b.mp4"]


def test_links_out_dangling_links_loops_and_folders(videos):
    make(videos, "a.mp4")
    make(videos.parent, "elsewhere/secret.mp4")
    (videos / "out.mp4").symlink_to("../elsewhere/secret.mp4")
    (videos / "outdir").symlink_to("../elsewhere", target_is_directory=True)
    (videos / "gone.mp4").symlink_to("nothing.mp4")
    (videos / "self.mp4").symlink_to("self.mp4")
    (videos / "loop").symlink_to(".", target_is_directory=True)
    (videos / "dir.mp4").mkdir()
    os.mkfifo(videos / "pipe.mp4")
    assert resolve(videos, "loop/a.mp4")[0] == ["a.mp4"]
    said = refusal(
        videos,
        "out.mp4",
        "outdir/secret.mp4",
        "gone.mp4",
        "self.mp4",
        "dir.mp4",
        "pipe.mp4",
        "loop/loop/a.mp4",
    )
    assert "7 problems" in said
    for words in (
        "'out.mp4': a link out of",
        "'outdir/secret.mp4'",
        "'gone.mp4': a link to something that is not there",
        "'self.mp4'",
        "'dir.mp4' is a folder",
        "'pipe.mp4': no ordinary file",
    ):
        assert words in said


def test_the_videos_folder_itself_may_be_a_link(videos):
    make(videos, "a.mp4")
    (videos.parent / "alias").symlink_to("videos", target_is_directory=True)
    assert resolve(videos.parent / "alias", "a.mp4", "alias/a.mp4")[0] == ["a.mp4", "a.mp4"]


def test_system_leftovers_are_no_clips(videos):
    make(
        videos,
        "clip.mp4",
        "._clip.mp4",
        ".DS_Store",
        "Thumbs.db",
        "clip.mp4.crdownload",
        "~$items.csv",
        ".AppleDouble/clip.mp4",
        "__MACOSX/clip.mp4",
        "notes.txt",
        "Zwei.MOV",
    )
    assert read_folder(videos).videos == ("Zwei.MOV", "clip.mp4")
    clips, notes = resolve(videos, "clip.mp4")
    assert clips == ["clip.mp4"] and notes == ("1 of 2 videos in the folder are in no row that is used",)
    for cell in ("._clip.mp4", ".AppleDouble/clip.mp4", "clip.mp4.crdownload"):
        assert "a hidden or temporary file" in refusal(videos, cell)


def test_two_spellings_of_one_clip_are_one_clip(videos):
    make(videos, "a.mp4")
    same = [Record("a.mp4", "x", "pass", line=2), Record(".\\a.MP4", "x", "pass", line=3)]
    resolved, notes = resolve_clips(same, videos)
    assert [r.line for r in resolved] == [2] and any("dropped" in note for note in notes)
    with pytest.raises(InputError, match="line 3, column outcome"):
        resolve_clips([same[0], Record("A.mp4".lower().replace(".mp4", ".MP4"), "x", "fail", line=3)], videos)


def test_a_wrong_folder_is_one_problem_and_not_one_a_row(videos):
    make(videos, "x1.mp4", "sub/a.mp4")
    records = [Record(f"clip-{n // 2}.mp4", f"i{n % 2}", "pass", line=n + 2) for n in range(60)]
    with pytest.raises(RowProblems) as caught:
        resolve_clips(records, videos, named_by="rows.csv")
    assert caught.value.exit_code == 3 and len(caught.value.found) == 1 and caught.value.remedy
    said = caught.value.message
    assert said.startswith(f"none of the 30 clips that rows.csv names is in {videos} (line 2: 'clip-0.mp4' is not there")
    assert said.endswith("is it the right folder?")
    assert "2 problems" in refusal(videos, "x1.mp4", "b1.mp4", "c1.mp4")  # one is there, so it is the right folder
    assert "2 problems" in refusal(videos, "/b1.mp4", "c1.mp4")  # and here a name is wrong by itself


def test_the_folder_must_be_one(videos):
    assert "no such folder" in refusal(videos / "nowhere", "a.mp4")
    assert "a file" in refusal(make(videos, "a.mp4") / "a.mp4", "a.mp4")


def test_the_same_bytes_under_two_children_are_refused(videos):
    for name, data in (("a.mp4", b"12345"), ("b.mp4", b"12345"), ("c.mp4", b"54321")):
        (videos / name).write_bytes(data)
    records = [Record(name, "x", "pass", child=child) for name, child in (("a.mp4", "C1"), ("b.mp4", "c1"), ("c.mp4", "C2"))]
    assert identical_clips(records, videos) == ("the same video under several names: 'a.mp4' (C1), 'b.mp4' (c1)",)
    (videos / "c.mp4").write_bytes(b"12345")
    with pytest.raises(InputError, match="'c.mp4' \\(C2\\)"):
        identical_clips(records, videos)
