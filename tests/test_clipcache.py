"""Entries of a clip are found by its hash alone, whatever settings they were made with."""

from pathlib import Path

from srlite.clipcache import entries_of, entry_place, older_entries
from srlite.files import write_private

CLIP, OTHER = "ab" * 32, "ab" * 31 + "cd"


def test_all_entries_of_a_clip_and_of_no_other(tmp_path):
    mine = [entry_place(tmp_path, CLIP, settings, ".npz") for settings in ("8 frames", "16 frames")]
    other = entry_place(tmp_path, OTHER, "8 frames", ".npz")
    for path in (*mine, other):
        write_private(path, b"frames")
    cut_off = mine[0].with_name(f".{mine[0].name}.x1y2z3.part")
    cut_off.write_bytes(b"half")
    assert len({*mine, other}) == 3 and other.parent == mine[0].parent
    assert set(entries_of(tmp_path, CLIP)) == {*mine, cut_off} and entries_of(tmp_path, OTHER) == [other]
    assert entries_of(tmp_path, "00" * 32) == [] == entries_of(tmp_path / "none", CLIP)
    assert older_entries(tmp_path) == [] == older_entries(tmp_path / "none")


def test_entries_of_an_older_layout_are_told_apart(tmp_path):
    write_private(entry_place(tmp_path, CLIP, "settings", ".npz"), b"frames")
    older = [tmp_path / "12" / f"{'12' * 32}.npz", tmp_path / "12" / f".{'12' * 32}.npz.x1y2z3.part"]
    for path in older:
        write_private(path, b"frames")
    assert set(older_entries(tmp_path)) == set(older)


def test_the_longest_name_fits_an_encrypted_disk():
    """eCryptfs takes 143 bytes; an unfinished file has 15 more than the file."""
    assert len(entry_place(Path(), CLIP, "settings", ".safetensors").name) + 15 <= 143
