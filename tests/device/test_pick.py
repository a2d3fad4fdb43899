"""The preset for the card that is here: said in words when there is none, or when it is too small."""

from types import SimpleNamespace

import pytest
import torch

from srlite.device.pick import pick_preset
from srlite.errors import ModelError


@pytest.fixture
def card(monkeypatch):
    """card(gigabytes): a machine whose only card is of that size."""

    def install(gigabytes):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda number: SimpleNamespace(total_memory=gigabytes * 1e9))

    return install


@pytest.mark.parametrize(("gigabytes", "preset"), [(4, "cpu"), (8, "8gb"), (11.8, "12gb"), (80, "24gb")])
def test_what_would_be_used_is_named_with_the_card(card, gigabytes, preset):
    card(gigabytes)
    with pytest.raises(ModelError, match=f"a card with {gigabytes:.0f} GB.*the preset {preset} would use") as caught:
        pick_preset()
    assert caught.value.exit_code == 4 and "--preset tiny" in caught.value.remedy
    assert f"srlite models pull --preset {preset}" in caught.value.remedy


def test_a_driver_that_torch_cannot_use_is_no_card(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ModelError, match="no CUDA card"):
        pick_preset()


def test_the_largest_that_is_installed_and_fits(card, home):
    """Descriptors and judges of the 8 and 12 GB presets are there, on a card of 24."""
    for name, file in (("qwen2.5-vl-3b", "config.json"), ("qwen3-vl-4b", "config.json")):
        (home / "models" / name).mkdir(parents=True)
        (home / "models" / name / file).touch()
    for name, file in (("qwen3-4b", "Qwen3-4B-Q4_K_M.gguf"), ("qwen3-8b", "Qwen3-8B-Q4_K_M.gguf")):
        (home / "models" / name).mkdir(parents=True)
        (home / "models" / name / file).touch()
    card(24)
    assert pick_preset().name == "12gb"
    card(8)
    assert pick_preset().name == "8gb"
