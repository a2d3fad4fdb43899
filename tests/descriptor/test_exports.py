"""Exported adapters of both families: read by peft alone, merged, and in llama.cpp."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
import torch
from descriptor.ways import packed_logprobs
from exported import finished_run_of
from safetensors.torch import load_file, save_file

from srlite.descriptor.adapter import adapter_tensors
from srlite.descriptor.features import encode
from srlite.descriptor.inputs import build_prompt
from srlite.descriptor.merging import SCALE, Pair, adapter_pairs, merged, write_merged
from srlite.descriptor.weights import by_name, read_shards
from srlite.errors import ModelError
from srlite.exporting import export_run
from srlite.models.store import BUNDLED

COMPLETION = (15, 70, 71, 90, 91, 92, 93)
PLAIN = """
import sys
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file
from transformers import AutoModelForImageTextToText

for base, adapter, inputs, out in zip(*[iter(sys.argv[1:])] * 4):
    model = AutoModelForImageTextToText.from_pretrained(base, dtype=torch.float32)
    model = PeftModel.from_pretrained(model, adapter).eval()
    with torch.no_grad():
        save_file({"logits": model(**load_file(inputs)).logits[0]}, out)
assert not [name for name in sys.modules if name.startswith("srlite")]
"""


def plain_inputs(descriptor, prompt):
    """What a plain forward of transformers takes, the answer behind the prompt."""
    ids = torch.cat([prompt.input_ids, torch.tensor(COMPLETION)])[None]
    behind = prompt.next_position + torch.arange(len(COMPLETION)).expand(3, -1)
    return {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "position_ids": torch.cat([prompt.positions, behind], dim=1)[:, None].contiguous(),
        "pixel_values_videos": prompt.pixels,
        "video_grid_thw": prompt.grid,
        "mm_token_type_ids": (ids == descriptor.family.video_token).int() * 2,
    }


def test_a_plain_script_with_peft_says_the_same(folders, make, tmp_path):
    """Nothing but transformers and peft, in a process of its own; both families and the bundled descriptor."""
    bases = {**folders, "bundled": BUNDLED / "descriptor"}
    words, own = [], {}
    for name, base in bases.items():
        descriptor = make.load(base)
        make.shake(descriptor)
        clip = make.noise(descriptor.family.name)
        prompt = build_prompt(descriptor, clip, "Describe.", system=None)
        with torch.no_grad():
            own[name] = packed_logprobs(descriptor, prompt, encode(descriptor, prompt), [COMPLETION])[0]
        run = finished_run_of(descriptor, str(base), tmp_path / name / "run")
        export_run(run, to="peft", out=tmp_path / name / "peft")
        save_file(plain_inputs(descriptor, prompt), tmp_path / name / "inputs")
        words += [base, *(tmp_path / name / part for part in ("peft", "inputs", "logits"))]
        own[name] = (own[name], descriptor.penalty)
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PLAIN, *map(str, words)],
        check=True,
        cwd=tmp_path,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": ""},
    )
    for name, (wanted, penalty) in own.items():
        logits = load_file(tmp_path / name / "logits")["logits"][-len(COMPLETION) - 1 : -1]
        found = (logits + penalty).log_softmax(-1)[torch.arange(len(COMPLETION)), list(COMPLETION)]
        torch.testing.assert_close(found, wanted, atol=2e-5, rtol=0, msg=lambda said, name=name: f"{name}: {said}")


@pytest.fixture
def run(adapted, folder, tmp_path):
    return finished_run_of(adapted, str(folder), tmp_path / "run")


def test_the_merged_model_says_the_same_without_an_adapter(run, adapted, clip, make, tmp_path):
    found = export_run(run, to="merged", out=tmp_path / "merged")
    assert (
        found.verified[-1].largest_difference < 2e-5 < found.verified[-1].tolerance < 0.1 < found.effect and not found.warnings
    )
    alone = make.load(tmp_path / "merged")
    prompt = build_prompt(adapted, clip, "Describe.", system=None)
    with torch.no_grad():
        said = [packed_logprobs(d, prompt, encode(d, prompt), [COMPLETION])[0] for d in (alone, adapted)]
    torch.testing.assert_close(*said, atol=2e-5, rtol=0)


def in_two_shards(folder):
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    parts = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for file, part in parts.items():
        save_file({name: tensors[name] for name in part}, folder / file, metadata={"format": "pt"})
    index = {"metadata": {}, "weight_map": {name: file for file, part in parts.items() for name in part}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return parts


def test_shards_keep_their_names_and_what_is_not_adapted_its_bytes(folder, make, tmp_path):
    base = shutil.copytree(folder, tmp_path / "base")
    parts = in_two_shards(base)
    descriptor = make.load(base)
    make.shake(descriptor)
    run = finished_run_of(descriptor, str(base), tmp_path / "run")
    tensors = load_file(run / "adapter" / "adapter_model.safetensors")
    export_run(run, to="merged", out=tmp_path / "merged")
    changed = 0
    for file in parts:
        before, after = load_file(base / file), load_file(tmp_path / "merged" / file)
        assert before.keys() == after.keys()
        changed += sum(not torch.equal(t, after[name]) for name, t in before.items())
    assert changed == len(tensors) // 2 == 7 * 3


def test_the_sum_is_made_in_float32_and_rounded_once():
    torch.manual_seed(3)
    weight, pair = torch.randn(6, 8).bfloat16(), Pair(torch.randn(16, 8), torch.randn(6, 16) * 1e-2)
    wanted = weight.double() + SCALE * pair.b.double() @ pair.a.double()
    assert merged(weight, pair).dtype == torch.bfloat16
    steps = (merged(weight, pair).double() - wanted).abs() / wanted.abs()
    assert float(steps.max()) <= 2**-8  # half a step of the eight bits that a bfloat16 has


def test_an_adapter_that_does_not_fit_is_refused(run, adapted, folder):
    stored = by_name(read_shards(folder))
    tensors = adapter_tensors(run / "adapter", adapted.base_sha256)
    name = min(tensors)
    wrong = {
        "missing": {n: t for n, t in tensors.items() if n != name},
        "cut": tensors | {name: tensors[name][:, 1:]},
        "infinite": tensors | {name: tensors[name] / 0},
        "a stranger": tensors | {name.replace("layers.0", "layers.9"): tensors[name]},
    }
    for changed in wrong.values():
        with pytest.raises(ModelError, match="1 of 2[12] parts of the adapter do not fit"):
            adapter_pairs(changed, stored, "here")
    assert len(adapter_pairs(tensors, stored, "here")) == 21


def test_writing_stops_in_words_when_the_disk_is_full(run, adapted, folder, tmp_path):
    from srlite.errors import DeviceError

    shards = read_shards(folder)
    pairs = adapter_pairs(adapter_tensors(run / "adapter", adapted.base_sha256), by_name(shards), "here")
    (tmp_path / "model.safetensors").symlink_to("/dev/full")
    with pytest.raises(DeviceError, match="cannot write"):
        write_merged(shards, pairs, tmp_path, tick=lambda done, total: None)


def as_published(folder, family):
    """The tiny model with what llama.cpp has fixed in its code: windows of 112 pixels (the tiny ones have 56), time on every
    third axis of Qwen3-VL's interleaved positions, and an epsilon that does not matter (0.3.36 reads none for Qwen2.5-VL)."""
    settings = json.loads((folder / "config.json").read_text())
    text = settings["text_config"]
    settings["vision_config"]["window_size"], text["rms_norm_eps"] = 112, 1e-6
    if family == "qwen3_vl":
        text["rope_parameters"]["mrope_section"] = [3, 3, 2]
    (folder / "config.json").write_text(json.dumps(settings))
    return folder


def test_llama_cpp_says_and_sees_the_same(folder, family, make, tmp_path):
    """Random weights in float32 stay so in the file: the order of llama.cpp's sums is left, its epsilon, its table of GELU."""
    base = as_published(shutil.copytree(folder, tmp_path / "base"), family)
    descriptor = make.load(base)
    make.shake(descriptor)
    found = export_run(finished_run_of(descriptor, str(base), tmp_path / "run"), to="gguf", out=tmp_path / "gguf")
    plain, with_adapter, features = (c.largest_difference for c in found.verified)
    assert max(plain, with_adapter) < 1e-3 < 1 < found.effect
    assert features < 1e-2 and not found.warnings
    assert {f.name for f in found.files} == {"README.md", "model.gguf", "adapter.gguf", "tower.gguf"}


def test_a_tower_that_llama_cpp_cannot_have_is_left_out_and_told(folders, make, tmp_path):
    base = folders["qwen2_5_vl"]
    descriptor = make.load(base)
    make.shake(descriptor)
    found = export_run(finished_run_of(descriptor, str(base), tmp_path / "run"), to="gguf", out=tmp_path / "gguf")
    assert {f.name for f in found.files} == {"README.md", "model.gguf", "adapter.gguf"} and len(found.verified) == 2
    (warning,) = found.warnings
    assert "no tower.gguf" in warning and "windows of 56 pixels" in warning and "convert_hf_to_gguf.py --mmproj" in warning


def test_llama_cpp_without_the_architecture_refuses_before_anything_is_written(run, folder, tmp_path, monkeypatch):
    """The file's head is asked about first; here it names an architecture of the future."""
    import gguf

    from srlite.descriptor import gguf_parts

    here = json.loads((folder / "config.json").read_text())["model_type"]
    arch = gguf.MODEL_ARCH.QWEN3VL if here == "qwen3_vl" else gguf.MODEL_ARCH.QWEN2VL
    monkeypatch.setitem(gguf_parts.ARCHITECTURES, here, "qwen9vl")
    with pytest.raises(ModelError, match="gguf package .* does not know the architecture 'qwen9vl'"):
        export_run(run, to="gguf", out=tmp_path / "out")
    monkeypatch.setitem(gguf.MODEL_ARCH_NAMES, arch, "qwen9vl")
    with pytest.raises(ModelError, match="unknown model architecture: 'qwen9vl'"):
        export_run(run, to="gguf", out=tmp_path / "out")
    assert {p.name for p in tmp_path.iterdir()} == {"run"}


def test_a_tokenizer_that_splits_otherwise_is_refused(folder, make, tmp_path):
    """Byte-level BPE as well, but every letter by itself: no merge ever happens."""
    base = shutil.copytree(folder, tmp_path / "base")
    table = json.loads((base / "tokenizer.json").read_text())
    table["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {"Regex": "."}
    (base / "tokenizer.json").write_text(json.dumps(table))
    run = finished_run_of(make.load(base), str(base), tmp_path / "run")
    with pytest.raises(ModelError, match="splits text into other tokens"):
        export_run(run, to="gguf", out=tmp_path / "out")
    assert {p.name for p in tmp_path.iterdir()} == {"base", "run"}
