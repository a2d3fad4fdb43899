"""models.toml: every preset names models that exist, and a model is found by name or by path, or refused with the remedy."""

import pytest

from srlite.config import settings_from
from srlite.errors import ModelError, UsageError
from srlite.models.registry import registry
from srlite.models.store import find_descriptor, find_judge
from srlite.training.job import settings_for


def test_every_preset_names_known_models_and_valid_settings():
    known = registry()
    for preset in known.presets.values():
        assert preset.descriptor in known.descriptors and preset.judge in known.judges
        assert settings_for(preset.name, {})[1].models.descriptor == preset.descriptor
    assert set(known.presets) == {"8gb", "12gb", "16gb", "24gb", "cpu", "tiny"}


def test_presets_for_cards_load_the_base_in_four_bit():
    for preset in registry().presets.values():
        assert settings_for(preset.name, {})[1].models.quantise == (preset.card_gb is not None)


def test_what_is_given_wins_over_the_preset():
    name, settings = settings_for("tiny", {"seed": 9, "video": {"frames": 4}})
    assert name == "tiny" and settings.seed == 9
    assert settings.video.frames == 4 and settings.video.max_pixels == 16384


def test_both_models_given_need_no_preset(tmp_path):
    name, settings = settings_for(None, {"models": {"descriptor": "a", "judge": "b"}})
    assert name is None and settings == settings_from({"models": {"descriptor": "a", "judge": "b"}}, where="")


def test_the_tiny_pair_is_chosen_by_name_only():
    with pytest.raises(ModelError, match="--preset tiny"):
        settings_for(None, {})


def test_a_model_that_is_not_installed_is_refused_with_the_remedy():
    with pytest.raises(ModelError, match="Qwen/Qwen3-VL-8B-Instruct") as caught:
        find_descriptor("qwen3-vl-8b")
    assert caught.value.exit_code == 4
    for command in ("models pull qwen3-vl-8b", "models pull --preset 16gb", "models import", "path of a model's folder"):
        assert command in caught.value.remedy
    with pytest.raises(ModelError, match="path of a GGUF file in the place of the name qwen3-8b") as caught:
        find_judge("qwen3-8b")
    assert "models pull qwen3-8b" in caught.value.remedy
    assert not [option for option in ("--judge", "--descriptor", "--preset tiny") if option in caught.value.remedy]
    with pytest.raises(ModelError, match="Give a path"):
        find_judge("no-such-judge.gguf")
    with pytest.raises(UsageError, match="tiny"):
        registry().preset("huge")


def test_what_is_pulled_has_a_name_of_its_own_and_files_that_are_said():
    known = registry()
    assert len(known.published) == len(known.descriptors) + len(known.judges) - 2  # the bundled pair
    for entry in known.published.values():
        assert entry.repository and entry.licence and entry.revision == "main" and entry.download_bytes and entry.shape
        assert entry.owns(entry.file or "model-00001-of-00002.safetensors")
        for name in ("pytorch_model.bin", "model.pt", "code.py", "onnx/config.json", "../config.json", "a\\config.json"):
            assert not entry.owns(name)
    assert known.judges["qwen3-8b-q6_k"].shape == known.judges["qwen3-8b"].shape
    with pytest.raises(UsageError, match="comes with srlite"):
        known.model("tiny")
    with pytest.raises(UsageError, match="no model 'qwen9'"):
        known.model("qwen9")


def test_a_model_is_found_where_pull_would_put_it(home):
    folder = home / "models" / "qwen3-8b"
    folder.mkdir(parents=True)
    (folder / "Qwen3-8B-Q4_K_M.gguf").write_bytes(b"GGUF")
    found = find_judge("qwen3-8b")
    assert found.path == folder / "Qwen3-8B-Q4_K_M.gguf" and found.family == "qwen3" and not found.demonstration
    assert find_judge("tiny").demonstration
