"""What is there and what is missing is said, and a damaged file is an error."""

import pytest
from report.conftest import write_run

from srlite.errors import InputError, ModelError
from srlite.report.collect import collect


def test_a_run_killed_in_the_middle_says_what_is_missing_and_where_it_stands(killed):
    found = collect(killed)
    assert found.reached == "round 2 of 2, slice 1, step 9"
    adapter, evaluation = found.missing
    assert adapter.startswith("There is no adapter") and "--resume" in adapter
    assert evaluation.startswith("There is no evaluation") and "srlite evaluate" in evaluation


def test_the_commands_named_can_be_pasted(killed):
    folder = killed.rename(killed.parent / "b two")
    adapter, evaluation = collect(folder).missing
    assert adapter.endswith(f"srlite train ITEMS_CSV VIDEOS --run '{folder}' --resume")
    assert evaluation.endswith(f"srlite evaluate ITEMS_CSV VIDEOS --run '{folder}' --compare base")


def test_a_run_killed_before_its_first_slice(tmp_path):
    found = collect(write_run(tmp_path / "run", slices=0, lock=False, adapter=False))
    assert found.reached is None and found.lock is None
    assert [sentence.split(":")[0] for sentence in found.missing] == [
        "There is no lock.json",
        "There are no training figures",
        "There is no adapter",
        "There is no evaluation",
    ]


def test_a_line_that_a_power_cut_left_unfinished_is_none(killed):
    with (killed / "metrics.jsonl").open("a") as file:
        file.write('{"round": 2, "sli')
    assert collect(killed).reached == "round 2 of 2, slice 1, step 9"


def test_a_finished_run_with_its_evaluation_misses_nothing(evaluated):
    found = collect(evaluated)
    assert found.missing == () and found.finished
    assert len(found.evaluation.cases) == 36
    assert [len(found.split.side(side)) for side in ("train", "validation", "test")] == [8, 2, 2]


def test_no_run_is_an_error_that_says_how_to_make_one(tmp_path):
    with pytest.raises(InputError, match="there is no run here") as caught:
        collect(tmp_path)
    assert "srlite train" in caught.value.remedy


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("evaluation.json", '{"schema": "srlite.evaluation/1"}', InputError),
        ("evaluation.json", "{", InputError),
        ("metrics.jsonl", "no json\n", InputError),
        ("lock.json", "{}", ModelError),
        ("split.csv", "clip\n", InputError),
        ("config.toml", "seed = -1\n", InputError),
        ("catalogue.toml", "items = 3\n", InputError),
    ],
)
def test_a_damaged_file_is_named(killed, name, content, kind):
    (killed / name).write_text(content)
    with pytest.raises(kind) as caught:
        collect(killed)
    assert name in caught.value.where
