"""Whom the clips of an items.csv show, even where the file is no good for anything else."""

import pytest

from srlite.errors import InputError
from srlite.records.children import clips_by_child


def read(tmp_path, text):
    (tmp_path / "items.csv").write_text(text, encoding="utf-8")
    return clips_by_child(tmp_path / "items.csv")


def test_of_rows_that_no_training_would_take(tmp_path):
    found = read(
        tmp_path, "视频;儿童;outcome;item\na.mp4;C1;perhaps;999\nb.mp4; C1 ;;\nc.mp4;;pass;\n;C2;pass;\nd.mp4;c1;pass;18_4\n"
    )
    assert found == {"C1": {"a.mp4", "b.mp4"}, "c1": {"d.mp4"}}


def test_without_a_column_of_children(tmp_path):
    with pytest.raises(InputError, match="no column child"):
        read(tmp_path, "video,item\na.mp4,18_4\n")
