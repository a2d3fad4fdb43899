"""Several clips at once: in order, each refusal with its own clip, and no more children than are needed."""

import numpy as np
import pytest
from video.numbered_clips import number_of, write_clip

from srlite.errors import InputError
from srlite.video.pool import ClipReaders
from srlite.video.store import FrameStore

WISH = {"count": 4, "multiple": 32, "max_pixels": 160 * 96}


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """Ten clips of different lengths; the fourth is empty."""
    folder = tmp_path_factory.mktemp("pool")
    paths = [folder / f"{n}.mp4" for n in range(10)]
    for n, path in enumerate(paths):
        write_clip(path, frames=20 + 4 * n, size=(160, 96))
    paths[3].write_bytes(b"")
    return paths


def children(readers):
    return sum(reader.child_pid is not None for reader in readers._all)


def test_in_order_with_refusals_where_they_belong(clips):
    with ClipReaders(limit_s=60, count=3) as readers:
        found = list(readers.each(clips, lambda p: readers.read(p, **WISH)))
        assert 1 <= children(readers) <= 3
    assert [path for path, _ in found] == clips
    assert isinstance(found[3][1], InputError) and found[3][1].where == str(clips[3])
    for n, (_, frames) in enumerate(found):
        if n != 3:
            assert frames.duration_s == pytest.approx((20 + 4 * n) / 25)
            assert [number_of(i) for i in frames.images] == [round(t * 25) for t in frames.times_s]


def test_one_thread_alone_keeps_to_one_child(clips):
    with ClipReaders(limit_s=60, count=3) as readers:
        for path in clips[:3]:
            readers.probe(path)
        assert children(readers) == 1


def test_a_fault_of_ours_is_not_taken_for_a_bad_clip(clips):
    with ClipReaders(limit_s=60, count=2) as readers, pytest.raises(ZeroDivisionError):
        list(readers.each(clips, lambda p: 1 // 0))


def test_the_store_is_filled_by_several_threads_and_decodes_each_clip_once(clips, tmp_path):
    good = [c for c in clips if c is not clips[3]]
    with ClipReaders(limit_s=60, count=3) as readers:
        store = FrameStore(tmp_path, readers, **WISH, max_bytes=10**8)
        first = dict(readers.each(good, store.frames))
        again = {path: store.frames(path) for path in good}
        assert store.decoded == len(good)
    for path in good:
        assert np.array_equal(first[path][0].images, again[path][0].images) and first[path][1] == again[path][1]


def test_the_store_keeps_to_its_budget_and_throws_nothing_out(clips, tmp_path):
    with ClipReaders(limit_s=60, count=1) as readers:
        first = FrameStore(tmp_path, readers, **WISH, max_bytes=10**8)
        first.frames(clips[0])
        size = first.used_bytes
        assert size == sum(p.stat().st_size for p in tmp_path.rglob("*.npz")) > 0
        full = FrameStore(tmp_path, readers, **WISH, max_bytes=size + 1)
        for _ in range(2):
            assert full.frames(clips[1])[0].real == 4
            full.frames(clips[0])
        assert full.decoded == 2 and full.used_bytes == size == sum(p.stat().st_size for p in tmp_path.rglob("*.npz"))
