"""Four runs of one clinic, and caches: what a purge works on."""

from dataclasses import replace

import pytest
from kept_run import CHILD, CLIPS, MINE, RENAMED, case, records, review_row, sha256, write_items, write_reviews, write_run

import srlite
from srlite.clipcache import entry_place
from srlite.files import write_private

LOG = (
    f"'2026\\\\z2.mp4' was taken as {MINE[1]!r}",
    f"{MINE[0]} is left out of round 1: it cannot be read",
    f"child ids taken as one child: {CHILD} = ZOË-17",
    "child ids taken as one child: C1 = c1",
)


def sides(rows):
    """The child's records and those of others."""
    return [r for r in rows if r.clip in MINE], [r for r in rows if r.clip not in MINE]


@pytest.fixture
def clinic(tmp_path, home):
    """runs/a trained on the child, runs/b tested it, runs/c has its clip under another name, runs/d never saw it."""
    mine, others = sides(records())
    runs = tmp_path / "runs"
    a = write_run(runs / "a", [*mine, *others[:2]], others[2:4], others[4:], log=LOG)
    write_run(runs / "b", others[:4], others[4:], [*mine, others[0]], log=LOG[:1])
    unnamed = [replace(r, clip=RENAMED.get(r.clip, r.clip), child=None) for r in records() if r.clip != MINE[0]]
    write_run(runs / "c", unnamed, [], [])
    (runs / "c" / "clips.json").write_text(
        (runs / "c" / "clips.json").read_text().replace(sha256(RENAMED[MINE[1]]), sha256(MINE[1]))
    )
    write_run(runs / "d", others[:4], others[4:6], others[6:])
    reviews = [review_row(case(r), run="b") for r in (*mine, others[0])]
    srlite.add_reviews(write_reviews(tmp_path / "r.csv", reviews), run=runs / "b")
    write_reviews(tmp_path / "r.csv", [review_row(case(others[5]), note=f"as {CHILD} does")])
    srlite.add_reviews(tmp_path / "r.csv", run=a)
    for clip in CLIPS:
        for store, settings in (("frames", "8"), ("frames", "16"), ("features", "8")):
            write_private(entry_place(home / "cache" / store, sha256(clip), settings, ".bin"), b"pictures")
    write_private(home / "cache" / "frames" / "12" / f"{'12' * 32}.npz", b"of an older version")
    write_items(tmp_path / "data")
    (tmp_path / "r.csv").unlink()
    return tmp_path
