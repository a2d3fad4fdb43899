"""The language model put aside and brought back: whole, the same objects, the same numbers."""

import pytest
import torch
from shaped_models import save_model

from srlite.descriptor.backends import probe
from srlite.descriptor.load import load_base, load_descriptor, trainable
from srlite.descriptor.parking import _each, parked, parked_bytes, states_of
from srlite.descriptor.reloading import reloaded
from srlite.device.memory import JudgeMemory, Work, memory_plan
from srlite.models.shapes import Shape, TextShape, VisionShape

SHAPE = Shape(
    TextShape(hidden=256, layers=2, heads=8, kv_heads=2, intermediate=768, vocabulary=4096, tied=True, head_dim=32),
    VisionShape(depth=2, hidden=64, intermediate=128, heads=2, patch=16, out=256, deepstack=1, positions=64),
)


def saved(untied, folder):
    text = TextShape(**{f: getattr(SHAPE.text, f) for f in SHAPE.text.__slots__} | {"tied": not untied})
    return save_model(Shape(text, SHAPE.vision), "qwen3_vl", folder, dtype=torch.bfloat16)


@pytest.fixture(scope="module", params=[False, True], ids=["tied", "untied"])
def descriptor(request, tmp_path_factory):
    folder = saved(request.param, tmp_path_factory.mktemp("model"))
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


def test_where_main_memory_is_short_the_weights_go_and_are_read_again(request, descriptor, tmp_path):
    folder = saved(request.node.callspec.params["descriptor"], tmp_path)
    before, parameters = probe(descriptor), [p for _, p in trainable(descriptor)]
    adapter = [p.data.clone() for p in parameters]
    load = lambda: load_base(folder, descriptor.device, descriptor.dtype, True)
    language = lambda: (p for m in (descriptor.core.language_model, descriptor.head) for p in m.parameters())
    with pytest.raises(KeyboardInterrupt), reloaded(descriptor, load):
        assert all(p.numel() == 0 for p in language() if not p.requires_grad)
        assert all(tensor.numel() == 0 for p in language() for tensor in (getattr(s, n) for s, n in states_of(p)))
        raise KeyboardInterrupt
    assert torch.equal(probe(descriptor), before)
    assert all(
        p is q and torch.equal(p, kept) for (_, p), q, kept in zip(trainable(descriptor), parameters, adapter, strict=True)
    )
    with reloaded(descriptor, load):
        pass
    assert torch.equal(probe(descriptor), before)


def test_no_tensor_of_the_language_model_is_left_behind(descriptor):
    """Every byte that a 4-bit layer needs to be used again is among those that wait."""
    waiting: set[int] = set()
    _each(descriptor, lambda tensor: (waiting.add(tensor.data_ptr()), tensor)[1])
    for module in (descriptor.core.language_model, descriptor.head):
        for tensor in (*module.parameters(), *module.buffers()):
            assert tensor.data_ptr() in waiting
            if state := getattr(tensor, "quant_state", None):
                assert {state.absmax.data_ptr(), state.state2.absmax.data_ptr(), state.offset.data_ptr()} <= waiting
