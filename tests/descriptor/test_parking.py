"""The language model put aside and brought back: whole, the same objects, the same numbers."""

import pytest
import torch
from shaped_models import save_model

from srlite.descriptor.load import load_descriptor, trainable
from srlite.descriptor.parking import _each, parked, parked_bytes
from srlite.device.memory import JudgeMemory, Work, memory_plan
from srlite.models.shapes import Shape, TextShape, VisionShape

SHAPE = Shape(
    TextShape(hidden=256, layers=2, heads=8, kv_heads=2, intermediate=768, vocabulary=4096, tied=True, head_dim=32),
    VisionShape(depth=2, hidden=64, intermediate=128, heads=2, patch=16, out=256, deepstack=1, positions=64),
)


@pytest.fixture(scope="module", params=[False, True], ids=["tied", "untied"])
def descriptor(request, tmp_path_factory):
    untied = TextShape(**{f: getattr(SHAPE.text, f) for f in SHAPE.text.__slots__} | {"tied": not request.param})
    folder = save_model(Shape(untied, SHAPE.vision), "qwen3_vl", tmp_path_factory.mktemp("model"), dtype=torch.bfloat16)
    return load_descriptor(folder, adapter=None, device="cpu", quantise=True, dtype="bfloat16", seed=0)


def test_what_waits_is_what_the_plan_says(descriptor):
    tied = descriptor.head.weight is descriptor.core.language_model.embed_tokens.weight
    text = TextShape(**{f: getattr(SHAPE.text, f) for f in SHAPE.text.__slots__} | {"tied": tied})
    work = Work(100, 50, 4, 8, 1, 4)
    plan = memory_plan(Shape(text, SHAPE.vision), work, JudgeMemory(0, None, 0), quantise=True, resident=False)
    assert parked_bytes(descriptor) == pytest.approx(plan.parked, rel=0.01)


def test_everything_comes_back_and_parameters_stay_the_same_objects(descriptor):
    model = descriptor.model.get_base_model()
    ids = torch.arange(5, 40)[None]
    run = lambda: model.lm_head(model.model.language_model.embed_tokens(ids)[0] @ torch.eye(256, dtype=torch.bfloat16))
    parameters = [p for _, p in trainable(descriptor)]
    before, places = run(), {id(p): p.data.data_ptr() for p in parameters}
    with parked(descriptor):
        assert all(p.data.data_ptr() != places[id(p)] for p in parameters)  # they lie elsewhere meanwhile
    assert [id(p) for _, p in trainable(descriptor)] == [id(p) for p in parameters]
    assert torch.equal(run(), before)


def test_no_tensor_of_the_language_model_is_left_behind(descriptor):
    """Every byte that a 4-bit layer needs to be used again is among those that wait."""
    waiting: set[int] = set()
    _each(descriptor, lambda tensor: (waiting.add(tensor.data_ptr()), tensor)[1])
    for module in (descriptor.core.language_model, descriptor.head):
        for tensor in (*module.parameters(), *module.buffers()):
            assert tensor.data_ptr() in waiting
            if state := getattr(tensor, "quant_state", None):
                assert {state.absmax.data_ptr(), state.state2.absmax.data_ptr(), state.offset.data_ptr()} <= waiting
