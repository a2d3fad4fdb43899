"""Another backend is let in only where it computes the same; else the default one is used, and says why."""

import copy
from dataclasses import replace

import pytest
import torch

from srlite.descriptor.backends import TOLERANCE, checked, load_with, probe
from srlite.descriptor.load import load_descriptor

HOW = dict(adapter=None, device="cpu", quantise=False, dtype="float32", seed=0)


@pytest.fixture(scope="module")
def folder(request):
    from srlite.models.store import BUNDLED

    return BUNDLED / "descriptor"


@pytest.fixture(scope="module")
def plain(folder):
    return load_descriptor(folder, **HOW)


def test_without_a_card_the_default_is_used_and_says_so(folder, tmp_path):
    found = load_with("unsloth", folder, compiled=tmp_path / "unsloth", **HOW)
    (note,) = found.notes
    assert "unsloth" in note and "the default backend is used" in note
    assert list(tmp_path.iterdir()) == []
    assert load_with("default", folder, compiled=tmp_path, **HOW).notes == ()


def test_one_that_computes_the_same_is_used(plain):
    other = copy.deepcopy(plain)
    found = checked(lambda: other, probe(plain), pytest.fail)
    assert found.model is other.model and "is used" in found.notes[0]


def test_one_that_computes_something_else_is_not(plain):
    other = copy.deepcopy(plain)
    with torch.no_grad():
        other.core.language_model.layers[1].mlp.up_proj.base_layer.weight.mul_(1.5)
    apart = (probe(other) - probe(plain)).abs().max()
    assert apart > TOLERANCE
    found = checked(lambda: other, probe(plain), lambda: plain)
    assert found.model is plain.model and "not used" in found.notes[0] and f"{apart:.3f}" in found.notes[0]


def test_one_that_fails_is_not_and_its_words_are_told(plain):
    def failing():
        raise NotImplementedError("not on this card")

    found = checked(failing, probe(plain), lambda: plain)
    assert found.model is plain.model
    assert "NotImplementedError: not on this card" in found.notes[0] and "default backend" in found.notes[0]


def test_the_probe_sees_that_answers_do_not_see_each_other(plain):
    """Three answers behind one prompt: the third is scored as if it were alone."""
    penalty = plain.penalty.clone()
    assert torch.equal(probe(plain), probe(replace(plain, penalty=penalty)))
    assert probe(plain).isfinite().all() and len(probe(plain)) == 48 * 3 - 1
