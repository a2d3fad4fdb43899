"""Groups on disk while a slice is sampled: what is whole is kept, what a power cut left half is not."""

import stat

from srlite.training.rollouts import add_groups, complete_groups, groups_so_far, read_groups, unfinished
from srlite.types import Group, Pair, Rollout

GROUPS = [
    Group(Pair(f"走路 {n}.mp4", "30_1", "pass", age_months=30.5), n, (Rollout((1, 2), (-0.1, -1 / 3), "a\u2028b\nc", True),))
    for n in range(3)
]


def test_groups_come_back_as_they_were(tmp_path):
    path = tmp_path / "001" / "rollouts.jsonl"
    assert groups_so_far(path) == []
    add_groups(GROUPS[:2], path)
    add_groups(GROUPS[2:], path)
    assert groups_so_far(path) == GROUPS and not path.exists()
    assert stat.S_IMODE(unfinished(path).stat().st_mode) == 0o600
    complete_groups(GROUPS, path)
    assert read_groups(path) == GROUPS and not unfinished(path).exists()


def test_a_half_written_line_is_dropped_and_the_next_one_starts_afresh(tmp_path):
    path = tmp_path / "rollouts.jsonl"
    add_groups(GROUPS[:2], path)
    whole = unfinished(path).read_bytes()
    for end in (len(whole) - 1, len(whole) - 40):
        unfinished(path).write_bytes(whole[:end])
        assert groups_so_far(path) == GROUPS[:1]
        add_groups(GROUPS[2:], path)
        assert groups_so_far(path) == [GROUPS[0], GROUPS[2]]
    unfinished(path).write_bytes(b'{"pair"')
    assert groups_so_far(path) == []
