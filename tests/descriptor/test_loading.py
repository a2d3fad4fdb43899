"""What is loaded, what is refused, where the adapter sits and how it travels."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import stat
import sys
from pathlib import Path

import pytest
import torch
from bitsandbytes.nn import Linear4bit
from descriptor.ways import packed_logprobs, sampled
from safetensors.torch import load, save_file

import srlite.descriptor
from srlite.descriptor.adapter import adapted_modules
from srlite.descriptor.features import encode
from srlite.descriptor.inputs import build_prompt
from srlite.descriptor.load import checkpointing, load_adapter, save_adapter, trainable, usable_dtype
from srlite.descriptor.offline import VARIABLES
from srlite.errors import DeviceError, ModelError

MODULES = sorted(Path(srlite.descriptor.__file__).parent.glob("*.py"))
COMPLETIONS = ((5, 70, 71), (90, 91, 92, 93))


def score(descriptor, clip):
    prompt = build_prompt(descriptor, clip, "Describe.", system=None)
    return torch.cat(packed_logprobs(descriptor, prompt, encode(descriptor, prompt), COMPLETIONS))


def test_the_libraries_are_kept_offline():
    assert {os.environ[name] for name in VARIABLES} == {"1"}
    assert sys.modules["kernels"] is None


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.stem)
def test_no_module_imports_the_libraries_before_that(path):
    # the variables are read once, at import, so whatever module is imported first must have set them
    for statement in ast.parse(path.read_text()).body:
        if ast.unparse(statement) == "stay_offline()":
            return
        if isinstance(statement, ast.Import | ast.ImportFrom):
            names = [getattr(statement, "module", None) or "", *(alias.name for alias in statement.names)]
            assert not {n.split(".")[0] for n in names} & {"transformers", "peft", "bitsandbytes"}


def test_adapter_sits_on_language_layers_only(descriptor):
    names = adapted_modules(descriptor.model)
    assert descriptor.adapted == len(names) == 7 * 3
    assert not [n for n in names if "visual" in n]
    assert all(".language_model.layers." in n for n in names)
    assert {p.shape[0] for n, p in trainable(descriptor) if "lora_A" in n} == {16}
    assert len(trainable(descriptor)) == 2 * 7 * 3
    assert not any(p.requires_grad for p in descriptor.core.visual.parameters())


def test_fresh_adapter_comes_from_the_seed(folder, make):
    torch.manual_seed(0)
    state = torch.random.get_rng_state()
    one = make.load(folder, seed=3)
    two, other = make.load(folder, seed=3), make.load(folder, seed=4)
    first = [torch.cat([p.flatten() for _, p in trainable(d)]) for d in (one, two, other)]
    assert torch.equal(first[0], first[1])
    assert not torch.equal(first[0], first[2])
    assert torch.equal(torch.random.get_rng_state(), state)


def test_hash_is_that_of_the_file(descriptor, folder):
    content = (folder / "model.safetensors").read_bytes()
    assert descriptor.base_sha256 == hashlib.sha256(content).hexdigest()


def test_adapter_round_trip(adapted, folder, clip, make, tmp_path):
    save_adapter(adapted, tmp_path / "saved")
    again = make.load(folder, adapter=tmp_path / "saved", seed=99)
    assert torch.equal(score(again, clip), score(adapted, clip))
    fresh = make.load(folder)
    assert not torch.equal(score(fresh, clip), score(adapted, clip))
    load_adapter(fresh, tmp_path / "saved")
    assert torch.equal(score(fresh, clip), score(adapted, clip))
    assert stat.S_IMODE((tmp_path / "saved").stat().st_mode) == 0o700
    files = sorted(p.name for p in (tmp_path / "saved").iterdir())
    assert files == ["adapter_config.json", "adapter_model.safetensors"]
    for name in files:
        assert stat.S_IMODE((tmp_path / "saved" / name).stat().st_mode) == 0o600
    assert str(folder) not in (tmp_path / "saved" / "adapter_config.json").read_text()


def test_peft_itself_can_read_the_adapter(adapted, folder, clip, tmp_path, make):
    from peft import PeftModel

    save_adapter(adapted, tmp_path)
    base = make.load(folder).model.unload()
    assert not [n for n, _ in base.named_modules() if "lora" in n]
    theirs = PeftModel.from_pretrained(base, tmp_path).state_dict()
    assert all(torch.equal(theirs[name], p) for name, p in trainable(adapted))


def rewrite(folder, *, base_sha256, drop=None, add=None, resize=None):
    path = folder / "adapter_model.safetensors"
    tensors = load(path.read_bytes())
    name = min(tensors)
    if drop:
        del tensors[name]
    if add:
        tensors["stranger"] = torch.zeros(1)
    if resize:
        tensors[name] = tensors[name][:-1].contiguous()
    save_file(tensors, path, metadata={"base_sha256": base_sha256})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(drop=True), "1 missing"),
        (dict(add=True), "1 unexpected"),
        (dict(resize=True), "1 of another shape"),
        (dict(base_sha256="0" * 64), "belongs to base weights 0000"),
    ],
)
def test_adapter_that_does_not_fit_is_refused(adapted, folder, make, tmp_path, change, message):
    save_adapter(adapted, tmp_path)
    rewrite(tmp_path, **(dict(base_sha256=adapted.base_sha256) | change))
    fresh = make.load(folder)
    before = [p.clone() for _, p in trainable(fresh)]
    with pytest.raises(ModelError, match=message):
        load_adapter(fresh, tmp_path)
    assert all(torch.equal(a, b) for a, (_, b) in zip(before, trainable(fresh), strict=True))


def test_adapter_of_another_rank_or_unreadable(adapted, tmp_path):
    save_adapter(adapted, tmp_path)
    config = tmp_path / "adapter_config.json"
    settings = json.loads(config.read_text())
    config.write_text(json.dumps(settings | {"r": 8}))
    with pytest.raises(ModelError, match="rank 8"):
        load_adapter(adapted, tmp_path)
    config.write_text(json.dumps(settings))
    weights = tmp_path / "adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(ModelError, match="cannot be read"):
        load_adapter(adapted, tmp_path)
    with pytest.raises(ModelError, match="not an adapter"):
        load_adapter(adapted, tmp_path / "nothing")


def test_four_bit_on_the_cpu_learns(folder, clip, make):
    four = make.load(folder, quantise=True)
    quantised = [n for n, m in four.model.named_modules() if isinstance(m, Linear4bit)]
    assert len(quantised) == 7 * 3 and not [n for n in quantised if "visual" in n]
    prompt = build_prompt(four, clip, "Describe.", system=None)
    features = encode(four, prompt)
    # first, as in a run: some processors would repack the layers now
    rollouts = sampled(four, prompt, features, count=3, most=8)
    recorded = torch.tensor([p for r in rollouts for p in r.logprobs])
    scored = torch.cat(packed_logprobs(four, prompt, features, tuple(r.tokens for r in rollouts)))
    torch.testing.assert_close(recorded, scored.detach(), atol=1e-5, rtol=0)
    optimiser = torch.optim.AdamW([p for _, p in trainable(four)], lr=1e-3)
    before = score(four, clip).sum()
    (-before).backward()
    optimiser.step()
    assert all(bool(p.any()) for n, p in trainable(four) if "lora_B" in n)
    assert not [n for n, p in four.model.named_parameters() if p.grad is not None and "lora_" not in n]
    assert score(four, clip).sum() > before


def test_every_lora_b_moves_in_full_precision(descriptor, clip):
    optimiser = torch.optim.AdamW([p for _, p in trainable(descriptor)], lr=1e-3)
    (-score(descriptor, clip).mean()).backward()
    optimiser.step()
    assert all(bool(p.any()) for n, p in trainable(descriptor) if "lora_B" in n)


def test_bfloat16_runs_throughout(folder, clip, make):
    half = make.load(folder, dtype="bfloat16")
    assert half.dtype == torch.bfloat16 and half.core.visual.dtype == torch.bfloat16
    values = score(half, clip)
    values.sum().backward()
    assert values.dtype == torch.float32 and bool(values.isfinite().all())


def test_bfloat16_samples_and_learns_what_it_recorded(folder, clip, make):
    """The adapter stays in float32 beside it; no autocast, inside a training step and outside."""
    half = make.load(folder, dtype="bfloat16")
    make.shake(half, 0.05)
    prompt = build_prompt(half, clip, "Describe.", system=None)
    features = encode(half, prompt)
    with checkpointing(half):
        rollouts = sampled(half, prompt, features, count=4, most=12)
        scored = packed_logprobs(half, prompt, features, tuple(r.tokens for r in rollouts))
        sum(row.mean() for row in scored).backward()
    recorded = torch.tensor([p for r in rollouts for p in r.logprobs])
    torch.testing.assert_close(recorded, torch.cat(scored).detach(), atol=0.05, rtol=0)
    assert all(p.dtype == torch.float32 and bool(p.grad.isfinite().all()) for _, p in trainable(half))
    assert len({r.tokens for r in rollouts}) == 4


def test_card_without_bfloat16_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: including_emulation)
    with pytest.raises(DeviceError, match="no bfloat16"):
        usable_dtype(torch.device("cuda"), "auto")
    assert usable_dtype(torch.device("cpu"), "auto") == torch.float32
    assert usable_dtype(torch.device("cuda"), "float32") == torch.float32


def test_missing_card_is_told(folder, make, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match="no usable CUDA card"):
        make.load(folder, device="cuda")


@pytest.fixture
def broken(folders, tmp_path):
    return shutil.copytree(folders["qwen3_vl"], tmp_path / "model")


def edit_config(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_unknown_family_is_refused(broken, make):
    edit_config(broken, model_type="llava")
    with pytest.raises(ModelError, match="'llava'"):
        make.load(broken)


def test_folder_without_weights_or_with_pickles_only(broken, make, tmp_path):
    (broken / "model.safetensors").rename(broken / "pytorch_model.bin")
    with pytest.raises(ModelError, match="weights are missing"):
        make.load(broken)
    with pytest.raises(ModelError, match="not a model folder"):
        make.load(tmp_path / "nowhere")


def test_cut_short_or_incomplete_weights(broken, make):
    path = broken / "model.safetensors"
    content = path.read_bytes()
    tensors = load(content)
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelError, match="bytes where it should have"):
        make.load(broken)
    del tensors["model.language_model.norm.weight"]
    save_file(tensors, path, metadata={"format": "pt"})
    with pytest.raises(ModelError, match="missing keys"):
        make.load(broken)


def test_missing_shard_is_named(broken, make):
    index = {"metadata": {}, "weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}
    (broken / "model.safetensors").rename(broken / "one.safetensors")
    (broken / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelError, match="missing: two.safetensors"):
        make.load(broken)


def in_two_shards(folder):
    """The model folder with its weights in two files and an index; the files' paths."""
    whole = folder / "model.safetensors"
    tensors = load(whole.read_bytes())
    whole.unlink()
    names, shards = sorted(tensors), [folder / f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    parts = names[: len(names) // 2], names[len(names) // 2 :]
    for shard, part in zip(shards, parts, strict=True):
        save_file({name: tensors[name] for name in part}, shard, metadata={"format": "pt"})
    where = {name: shard.name for shard, part in zip(shards, parts, strict=True) for name in part}
    index = {"metadata": {"total_size": sum(t.nbytes for t in tensors.values())}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return shards


def test_what_an_interrupted_download_leaves(broken, make):
    """Stale parts beside a whole model do no harm; a shard that is short, or still a part, is not taken for a model."""
    first, second = in_two_shards(broken)
    cached = broken / ".cache" / "huggingface" / "download"
    cached.mkdir(parents=True)
    for stale in (cached / "abc.incomplete", second.with_name(f"{second.name}.incomplete")):
        stale.write_bytes(b"x" * 100)
    assert bool(score(make.load(broken), make.noise("qwen3_vl")).isfinite().all())
    content = second.read_bytes()
    for kept, words in ((len(content) - 1000, "bytes where it should have"), (100, "not a whole"), (0, "not a whole")):
        second.write_bytes(content[:kept])
        with pytest.raises(ModelError, match=words) as caught:
            make.load(broken)
        assert caught.value.where == str(second) and caught.value.remedy
    second.unlink()
    first.unlink()
    with pytest.raises(ModelError, match=f"missing: {first.name}, {second.name}\n") as caught:
        make.load(broken)
    assert caught.value.exit_code == 4


def test_an_adapter_in_the_tower_is_an_error(folder, make, monkeypatch):
    """A rule for names that hit the vision blocks, too."""
    monkeypatch.setattr("srlite.descriptor.adapter.TARGETS", r".*(qkv|q_proj|gate_proj)")
    with pytest.raises(ModelError, match="of them in the vision tower"):
        make.load(folder)


def test_an_adapter_that_finds_no_layer_is_an_error(folder, make, monkeypatch):
    monkeypatch.setattr("srlite.descriptor.adapter.TARGETS", "nothing")
    with pytest.raises(ModelError, match="finds no language layers"):
        make.load(folder)


def test_four_bit_without_bitsandbytes_is_told_in_words(folder, make, monkeypatch):
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    with pytest.raises(DeviceError, match="bitsandbytes"):
        make.load(folder, quantise=True)


def test_processor_of_another_model_is_refused(broken, make):
    for path in broken.glob("*processor*.json"):
        path.write_text(path.read_text().replace('"patch_size": 16', '"patch_size": 14'))
    with pytest.raises(ModelError, match="video processor"):
        make.load(broken)


def test_equal_adapters_are_equal_files(adapted, tmp_path):
    """safetensors puts several entries of metadata in an order of chance, process by process and call by call."""
    for name in range(8):
        save_adapter(adapted, tmp_path / str(name))
    assert len({(tmp_path / str(name) / "adapter_model.safetensors").read_bytes() for name in range(8)}) == 1
