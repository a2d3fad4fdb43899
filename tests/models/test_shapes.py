"""The numbers of parameters are those of the models that transformers makes of these shapes, and those published."""

import pytest
import torch
from shaped_models import configured, language_sizes
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText

from srlite.descriptor.adapter import RANK, attach_adapter
from srlite.models.registry import registry
from srlite.models.shapes import shape_of_config

PUBLISHED = {
    "qwen2.5-vl-3b": 3_754_622_976,
    "qwen2.5-vl-7b": 8_292_166_656,
    "qwen3-vl-2b": 2_127_532_032,
    "qwen3-vl-4b": 4_437_815_808,
    "qwen3-vl-8b": 8_767_123_696,
}


def counted(module) -> int:
    return sum(p.numel() for p in {id(p): p for p in module.parameters()}.values())


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_those_of_transformers(name):
    entry = registry().descriptors[name]
    config = configured(entry.shape, entry.family)
    assert shape_of_config(config.to_dict(), entry.family) == entry.shape
    with torch.device("meta"):
        model = AutoModelForImageTextToText.from_config(config)
        model.tie_weights()
        assert counted(model) == entry.shape.parameters == PUBLISHED[name]
        assert counted(model.model.visual) == entry.shape.vision.parameters
        adapted = attach_adapter(model, seed=0, where=name)
    learnt = sum(p.numel() for p in adapted.parameters() if p.requires_grad)
    assert learnt == entry.shape.text.adapter_parameters(RANK)


@pytest.mark.parametrize("name", ["qwen3-1.7b", "qwen3-4b", "qwen3-8b"])
def test_parameters_of_judges(name):
    text = registry().judges[name].shape.text
    config = AutoConfig.for_model("qwen3", head_dim=text.head_dim, **language_sizes(text))
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
        model.tie_weights()
    assert counted(model) == text.parameters
