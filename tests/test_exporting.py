"""`srlite export` on the bundled descriptor: the three forms, what is refused, and the command."""

import json
import shutil
import stat

import pytest
import torch
from exported import change_lock, finished_run_of
from safetensors.torch import load_file, save_file

from srlite.descriptor.load import load_descriptor, trainable
from srlite.errors import DeviceError, ModelError, UsageError
from srlite.exporting import export_run, exported_json
from srlite.forms import source as forms_source
from srlite.models.store import BUNDLED

BASE = BUNDLED / "descriptor"


@pytest.fixture(scope="module")
def bundled():
    """The bundled descriptor with an adapter that matters, about as large as a trained one."""
    descriptor = load_descriptor(BASE, adapter=None, device="cpu", quantise=False, dtype="float32", seed=1)
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, parameter in trainable(descriptor):
            if "lora_B" in name:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.03)
    return descriptor


@pytest.fixture
def run(bundled, tmp_path):
    return finished_run_of(bundled, "tiny", tmp_path / "runs" / "first")


def names(folder):
    return {p.name for p in folder.iterdir()}


def private(folder):
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    return all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in folder.iterdir())


def test_peft_is_the_runs_own_file_with_a_card(run, bundled, tmp_path):
    found = export_run(run, to="peft", out=tmp_path / "out")
    assert names(tmp_path / "out") == {"README.md", "adapter_config.json", "adapter_model.safetensors"}
    assert private(tmp_path / "out") and names(tmp_path) == {"runs", "out"}
    weights = "adapter_model.safetensors"
    assert (tmp_path / "out" / weights).read_bytes() == (run / "adapter" / weights).read_bytes()
    settings = json.loads((tmp_path / "out" / "adapter_config.json").read_text())
    assert settings["base_model_name_or_path"] is None and str(tmp_path) not in json.dumps(settings)
    said = (tmp_path / "out" / "README.md").read_text()
    assert bundled.base_sha256 in said and "not a diagnostic device" in said and "Demonstration model" in said
    assert found.demonstration and found.adapter_sha256 in said and str(tmp_path) not in said


def test_a_base_of_the_registry_is_named_by_its_repository(bundled, home, tmp_path):
    shutil.copytree(BASE, home / "models" / "qwen3-vl-8b")
    run = finished_run_of(bundled, "qwen3-vl-8b", tmp_path / "run")
    export_run(run, to="peft", out=tmp_path / "out")
    settings = json.loads((tmp_path / "out" / "adapter_config.json").read_text())
    assert settings["base_model_name_or_path"] == "Qwen/Qwen3-VL-8B-Instruct"
    assert "Qwen/Qwen3-VL-8B-Instruct" in (tmp_path / "out" / "README.md").read_text()


def test_merged_is_the_base_with_other_projections(run, tmp_path):
    found = export_run(run, to="merged", out=tmp_path / "out")
    assert names(tmp_path / "out") == names(BASE) | {"README.md"} and private(tmp_path / "out")
    before, after = load_file(BASE / "model.safetensors"), load_file(tmp_path / "out" / "model.safetensors")
    changed = {name for name, t in before.items() if not torch.equal(t, after[name])}
    assert len(changed) == 7 * 4 and all("_proj.weight" in name for name in changed)
    assert {t.dtype for t in after.values()} == {torch.bfloat16}
    *tensors, said = found.verified
    assert [c.largest_difference for c in tensors] == [0, 0]
    assert said.largest_difference < 0.05 < said.tolerance < 0.5 < found.effect
    assert not found.warnings


def test_rounding_that_swallows_a_small_adapter_is_told(bundled, tmp_path):
    run = finished_run_of(bundled, "tiny", tmp_path / "run")
    path = run / "adapter" / "adapter_model.safetensors"
    tensors = {name: t * (0.01 if "lora_B" in name else 1) for name, t in load_file(path).items()}
    save_file(tensors, path, metadata={"base_sha256": bundled.base_sha256})
    found = export_run(run, to="merged", out=tmp_path / "out")
    assert "costs up to" in found.warnings[0] and "--to peft" in found.warnings[0]


def test_llama_cpp_says_the_same_with_the_adapter(run, tmp_path):
    """A hundredth of a logit, where the adapter changes them by some ten: what rounding to 16 bits in each product leaves."""
    found = export_run(run, to="gguf", out=tmp_path / "out")
    assert names(tmp_path / "out") == {"README.md", "model.gguf", "adapter.gguf", "tower.gguf"} and private(tmp_path / "out")
    plain, with_adapter, features = found.verified
    assert plain.largest_difference < 1e-2 and with_adapter.largest_difference < 1e-2 and features.largest_difference < 1e-2
    assert found.effect > 1 and not found.warnings


def test_a_wrong_scale_is_seen_even_of_a_small_adapter(bundled, tmp_path, monkeypatch):
    """The file says alpha 24 where it is 32: three quarters of the adapter, which changes logits of 27 by 0.6 at most."""
    from srlite.descriptor import gguf_lora

    run = finished_run_of(bundled, "tiny", tmp_path / "run")
    path = run / "adapter" / "adapter_model.safetensors"
    tensors = {name: t * (0.1 if "lora_B" in name else 1) for name, t in load_file(path).items()}
    save_file(tensors, path, metadata={"base_sha256": bundled.base_sha256})
    monkeypatch.setattr(gguf_lora, "ALPHA", 24)
    refused(run, "base . adapter: they differ by", to="gguf", out=tmp_path / "out")
    monkeypatch.undo()
    assert export_run(run, to="gguf", out=tmp_path / "out").effect < 1


def test_the_document_names_files_and_comparisons(run, tmp_path):
    document = exported_json(export_run(run, to="peft", out=tmp_path / "out"))
    assert document["schema"] == "srlite.export/1" and document["demonstration"] is True
    assert {f["name"]: f["bytes"] for f in document["files"]} == {
        p.name: p.stat().st_size for p in (tmp_path / "out").iterdir()
    }
    assert all(len(f["sha256"]) == 64 for f in document["files"])
    assert document["verified"] == [
        {"compared": "56 tensors of the adapter, in shapes that fit the base", "largest_difference": 0.0, "tolerance": 0.0}
    ]
    json.dumps(document, allow_nan=False)


def test_nothing_is_written_over(run, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    for out, words in ((tmp_path / "full", "not empty"), (tmp_path / "full" / "mine.txt", "a file, not a folder")):
        with pytest.raises(UsageError, match=words) as caught:
            export_run(run, to="peft", out=out)
        assert caught.value.exit_code == 2
    assert (tmp_path / "full" / "mine.txt").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    assert export_run(run, to="peft", out=tmp_path / "empty").files


def refused(run, words, *, to="peft", out):
    with pytest.raises(ModelError, match=words) as caught:
        export_run(run, to=to, out=out)
    assert caught.value.exit_code == 4 and caught.value.remedy
    assert not out.exists() and not list(out.parent.glob(".*.part"))


def test_a_run_without_an_adapter_is_refused(run, tmp_path):
    shutil.rmtree(run / "adapter")
    refused(run, "not finished", out=tmp_path / "out")
    refused(tmp_path, "no run here", out=tmp_path / "out")


def test_a_base_that_is_missing_or_another_is_refused(bundled, run, tmp_path):
    base = shutil.copytree(BASE, tmp_path / "base")
    own = finished_run_of(bundled, str(base), tmp_path / "own")
    weights = base / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    refused(own, "the run was made with base weights", out=tmp_path / "out")
    weights.unlink()
    refused(own, "weights are missing", out=tmp_path / "out")
    shutil.rmtree(base)
    refused(own, "there is no descriptor", out=tmp_path / "out")
    change_lock(run, descriptor_sha256="0" * 64)
    refused(run, "made with base weights 0000", out=tmp_path / "out")


def test_a_base_of_an_unknown_family_is_refused(bundled, tmp_path):
    base = shutil.copytree(BASE, tmp_path / "base")
    settings = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps(settings | {"model_type": "llava"}))
    refused(finished_run_of(bundled, str(base), tmp_path / "run"), "'llava'", out=tmp_path / "out")


@pytest.mark.parametrize("to", ["merged", "gguf"])
def test_a_base_in_4_bit_is_never_merged_into(bundled, tmp_path, to):
    """Stored as bitsandbytes stores it; the adapter alone can still be had."""
    import hashlib

    base = shutil.copytree(BASE, tmp_path / "base")
    tensors = load_file(base / "model.safetensors")
    for name, tensor in list(tensors.items()):
        if ".language_model.layers." in name and "_proj.weight" in name:
            tensors[name] = torch.zeros(tensor.numel() // 2, 1, dtype=torch.uint8)
            tensors[f"{name}.absmax"] = torch.zeros(tensor.numel() // 64)
    save_file(tensors, base / "model.safetensors", metadata={"format": "pt"})
    run = finished_run_of(bundled, str(base), tmp_path / "run")
    digest = hashlib.sha256((base / "model.safetensors").read_bytes()).hexdigest()
    change_lock(run, descriptor_sha256=digest)
    path = run / "adapter" / "adapter_model.safetensors"
    save_file(load_file(path), path, metadata={"base_sha256": digest})
    refused(run, "fewer than 16 bits", to=to, out=tmp_path / "out")
    assert export_run(run, to="peft", out=tmp_path / "out").files


def test_a_run_that_trained_in_4_bit_is_exported_with_a_word(bundled, tmp_path):
    run = finished_run_of(bundled, "tiny", tmp_path / "run", quantise=True)
    (warning,) = export_run(run, to="peft", out=tmp_path / "out").warnings
    assert "in 4 bit" in warning


@pytest.mark.parametrize(("to", "needed"), [("peft", 5e7), ("merged", 5e7), ("gguf", 1e8)])
def test_disk_space_is_asked_for_beforehand(run, tmp_path, monkeypatch, to, needed):
    """The disk's size is made up; what is needed for the form is real."""
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=int(needed)))
    with pytest.raises(DeviceError, match="the disk is full") as caught:
        export_run(run, to=to, out=tmp_path / "out")
    assert caught.value.exit_code == 5 and names(tmp_path) == {"runs"}


def test_memory_is_asked_for_beforehand(run, tmp_path, monkeypatch):
    """The machine's memory is made up; the model's size is real. 4 million numbers: 16 MB in float32, 8 MB in bfloat16."""
    monkeypatch.setattr(forms_source, "_free_memory", lambda: 4_000_000)
    with pytest.raises(DeviceError, match="must be loaded: it takes 8,0"):
        export_run(run, to="merged", out=tmp_path / "out")
    monkeypatch.setattr(forms_source, "_free_memory", lambda: 12_000_000)
    found = export_run(run, to="merged", out=tmp_path / "out")
    assert "computed in bfloat16" in found.verified[-1].what


def test_a_merged_model_that_says_something_else_is_not_left(run, tmp_path, monkeypatch):
    """What is admitted is set to nothing; the comparison itself is real."""
    from srlite.forms import merged

    monkeypatch.setattr(merged, "TOLERANCE", {"exact": 0.0, "rounded": 0.0, "bfloat16": 0.0})
    refused(run, "they differ by", to="merged", out=tmp_path / "out")


def test_the_command_takes_the_newest_run_and_prints_one_document(run, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from srlite.cli import app

    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["export", "--to", "peft", "--out", "out", "--json"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["schema"] == "srlite.export/1" and document["run"] == "runs/first" and document["out"] == "out"
    assert "run: runs/first (the newest finished one)" in done.stderr
    again = CliRunner().invoke(app, ["export", "runs/first", "--to", "peft", "--out", "out"])
    assert again.exit_code == 2 and "not empty" in again.stderr
    assert CliRunner().invoke(app, ["export", "--to", "onnx", "--out", "other"]).exit_code == 2


def test_the_screen_shows_files_comparisons_and_what_it_is_not(run, tmp_path, capsys):
    from srlite.console import Screen

    found = export_run(run, to="peft", out=tmp_path / "out")
    Screen().exported(exported_json(found))
    said = " ".join(capsys.readouterr().out.split())
    assert "adapter_model.safetensors" in said and "demonstration model" in said and "not a diagnostic device" in said
    assert "read again: 56 tensors of the adapter, in shapes that fit the base: the same" in said
