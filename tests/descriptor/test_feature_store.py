"""The cache of vision features: keys, counters, budget, damage."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
import torch

from srlite.descriptor.features import FeatureStore, encode, feature_place
from srlite.descriptor.inputs import build_prompt

CLIP = "c" * 64


@pytest.fixture
def prompt(descriptor, clip):
    return build_prompt(descriptor, clip, "Describe.", system=None)


def assert_same(one, other):
    assert torch.equal(one.tokens, other.tokens)
    assert len(one.deepstack) == len(other.deepstack)
    assert all(torch.equal(a, b) for a, b in zip(one.deepstack, other.deepstack, strict=True))


def counters(store):
    return store.hits, store.misses, store.tower_calls


def test_second_reading_comes_from_the_disk(descriptor, prompt, tmp_path):
    calls = []
    descriptor.core.visual.register_forward_hook(lambda module, args, output: calls.append(1))
    store = FeatureStore(tmp_path / "features", max_bytes=10**6)
    first = store.features(descriptor, prompt, clip_sha256=CLIP)
    second = store.features(descriptor, prompt, clip_sha256=CLIP)
    later = FeatureStore(tmp_path / "features", max_bytes=10**6)
    third = later.features(descriptor, prompt, clip_sha256=CLIP)
    assert_same(first, second)
    assert_same(first, third)
    assert counters(store) == (1, 1, 1) and counters(later) == (1, 0, 0)
    assert len(calls) == 1
    assert len(first.deepstack) == descriptor.family.deepstack
    assert len(first.tokens) == int(prompt.video_mask.sum())


def test_files_are_private(descriptor, prompt, tmp_path):
    store = FeatureStore(tmp_path / "features", max_bytes=10**6)
    store.features(descriptor, prompt, clip_sha256=CLIP)
    (path,) = (tmp_path / "features").glob("*/*")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "features").stat().st_mode) == 0o700
    assert store.used_bytes == path.stat().st_size


def test_the_key_holds_what_the_features_depend_on(descriptor, folder, make, family, prompt):
    def key(model=descriptor, sha256=CLIP, **clip):
        frames = make.noise(family, **clip)
        return feature_place(Path("kept"), model, frames.times_s, frames.images.shape[1:3], sha256)

    assert key() == feature_place(Path("kept"), descriptor, prompt.times_s, prompt.size, CLIP)  # the text is not part of it
    others = [
        key(sha256="d" * 64),
        key(times_s=(0.0, 0.3, 0.8, 1.0, 1.9, 2.3)),
        key(model=make.load(folder, dtype="bfloat16")),
    ]
    assert len({key(), *others}) == 4


def test_full_store_admits_no_more_and_throws_nothing_out(descriptor, prompt, tmp_path):
    features = encode(descriptor, prompt)
    size = sum(t.nbytes for t in (features.tokens, *features.deepstack))
    store = FeatureStore(tmp_path, max_bytes=size + 1000)
    for _ in range(2):
        for clip in ("a" * 64, "b" * 64):
            store.features(descriptor, prompt, clip_sha256=clip)
    assert counters(store) == (1, 3, 3)  # the first clip was kept, the second went through the tower twice
    assert len(list(tmp_path.glob("*/*"))) == 1 and store.unkept == 2
    assert 0 < store.used_bytes <= store.max_bytes
    none = FeatureStore(tmp_path / "none", max_bytes=0)
    none.features(descriptor, prompt, clip_sha256=CLIP)
    assert not (tmp_path / "none").exists()


def test_damaged_file_is_made_again_and_counted(descriptor, prompt, tmp_path):
    store = FeatureStore(tmp_path, max_bytes=10**6)
    first = store.features(descriptor, prompt, clip_sha256=CLIP)
    (path,) = tmp_path.glob("*/*")
    path.write_bytes(path.read_bytes()[:50])
    store = FeatureStore(tmp_path, max_bytes=10**6)
    assert_same(store.features(descriptor, prompt, clip_sha256=CLIP), first)
    assert store.damaged == 1 and counters(store) == (0, 1, 1)
    assert store.used_bytes == path.stat().st_size


def test_what_is_kept_is_known_without_reading_it(descriptor, clip, prompt, tmp_path):
    store = FeatureStore(tmp_path, max_bytes=10**6)
    assert not store.holds(descriptor, clip, clip_sha256=CLIP)
    store.features(descriptor, prompt, clip_sha256=CLIP)
    assert store.holds(descriptor, clip, clip_sha256=CLIP) and not store.holds(descriptor, clip, clip_sha256="d" * 64)
    assert store.hits == 0


def test_what_finds_no_room_is_kept_aside_for_a_while(descriptor, prompt, tmp_path):
    store, place = FeatureStore(tmp_path / "features", max_bytes=0), tmp_path / "slice" / "features"
    with store.aside(place):
        first = store.features(descriptor, prompt, clip_sha256=CLIP)
        assert_same(store.features(descriptor, prompt, clip_sha256=CLIP), first)
        assert counters(store) == (1, 1, 1) and store.used_bytes == 0
        assert [stat.S_IMODE(p.stat().st_mode) for p in place.iterdir()] == [0o600]
    assert not place.exists() and not (tmp_path / "features").exists()
    with pytest.raises(KeyboardInterrupt), store.aside(place):
        store.features(descriptor, prompt, clip_sha256=CLIP)
        raise KeyboardInterrupt
    with store.aside(place):  # what an interrupted slice left is used
        assert_same(store.features(descriptor, prompt, clip_sha256=CLIP), first)
    assert counters(store) == (2, 2, 2)
