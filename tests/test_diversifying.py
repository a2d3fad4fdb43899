"""`srlite prompts diversify`, with the bundled judge: it was never taught to write, so that little of it passes."""

import json
from dataclasses import replace

import pytest

from srlite.config import settings_from
from srlite.diversifying import Rejected, Reworded, diversify, with_paraphrases
from srlite.records.catalogue import read_catalogue
from srlite.records.dataset import catalogue_of

TINY = settings_from({"judge": {"n_ctx": 2048}}, where="test")


def test_what_does_not_pass_is_listed_with_its_reasons_and_the_same_seed_gives_the_same():
    catalogue = catalogue_of(None)
    ticks = []
    first = diversify(catalogue, ["18_4", "30_1"], judge="tiny", settings=TINY, count=2, tick=lambda *at: ticks.append(at))
    assert ticks == [(0, 2), (1, 2), (2, 2)]
    assert [r.item.code for r in first] == ["18_4", "30_1"]
    for found in first:
        assert len(found.kept) <= 2 and found.rejected
        assert all(r.reasons and r.text not in found.item.paraphrases for r in found.rejected)
    assert diversify(catalogue, ["18_4", "30_1"], judge="tiny", settings=TINY, count=2) == first


def test_new_paraphrases_stand_behind_the_old_ones_and_nothing_else_changes():
    catalogue = catalogue_of(None)
    item = catalogue["30_1"]
    more = with_paraphrases(catalogue, [Reworded(item, ("Another way.",), (Rejected("x", ("y",)),))])
    assert list(more) == list(catalogue)
    assert more["30_1"] == replace(item, paraphrases=(*item.paraphrases, "Another way."))
    assert all(more[code] == catalogue[code] for code in catalogue if code != "30_1")


@pytest.mark.slow
def test_the_command_writes_a_catalogue_and_says_where_too_few_were_found(run_cli, tmp_path):
    out = tmp_path / "items.toml"
    words = ("prompts", "diversify", "--out", out, "--item", "18_4", "--judge", "tiny", "--count", 20)
    done = run_cli(*words, "--json")
    assert done.returncode == 6, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == "srlite.paraphrases/1" and document["items"]["18_4"]["rejected"]
    assert list(read_catalogue(out)) == list(catalogue_of(None))
    assert out.stat().st_mode & 0o777 == 0o600
    again = run_cli(*words)
    assert again.returncode == 2 and "there already" in " ".join(again.stderr.split())
    unknown = run_cli("prompts", "diversify", "--out", tmp_path / "b.toml", "--item", "301", "--judge", "tiny")
    assert unknown.returncode == 3 and "301" in unknown.stderr and not (tmp_path / "b.toml").exists()
