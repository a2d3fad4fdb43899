"""Right values that do not come out yet."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from safetensors.torch import load_file, save_file
from small_clinic import SMALL

import srlite
from srlite.config import Settings
from srlite.errors import DeviceError, InputError, ModelError, UsageError
from srlite.models.store import BUNDLED
from srlite.records.dataset import catalogue_of
from srlite.records.sides import Split
from srlite.training.run import begin, check_place
from srlite.types import Record


@pytest.fixture
def load():
    """load(folder, **changes): a descriptor on the CPU."""
    from srlite.descriptor.load import load_descriptor

    def load(folder, **changes):
        settings = dict(adapter=None, device="cpu", quantise=False, dtype="float32", seed=3)
        return load_descriptor(folder, **(settings | changes))

    return load


def test_c7_an_adapter_that_finds_no_layer_is_a_model_error(load, monkeypatch):
    """PEFT's own NoMatchingPeftModuleError (a ValueError) gets through: exit 1, 'a fault of srlite'."""
    monkeypatch.setattr("srlite.descriptor.adapter.TARGETS", "nothing")
    with pytest.raises(ModelError):
        load(BUNDLED / "descriptor")


def test_e3_the_short_shard_is_named(load, tmp_path):
    """The message names the folder and safetensors' words only: which of the files is to be fetched again?"""
    tensors = load_file(BUNDLED / "descriptor" / "model.safetensors")
    for path in (BUNDLED / "descriptor").iterdir():
        if path.suffix == ".json":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    names = sorted(tensors)
    where = {name: f"model-0000{1 + (i >= len(names) // 2)}-of-00002.safetensors" for i, name in enumerate(names)}
    for shard in set(where.values()):
        save_file({n: tensors[n] for n in names if where[n] == shard}, tmp_path / shard, metadata={"format": "pt"})
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))
    short = tmp_path / "model-00002-of-00002.safetensors"
    short.write_bytes(short.read_bytes()[:-1000])
    with pytest.raises(ModelError, match=short.name):
        load(tmp_path)


def test_e8_four_bit_without_bitsandbytes_is_told_in_words(tmp_path):
    """transformers' ImportError gets through: exit 1, 'a fault of srlite'. Without --four-bit all works."""
    code = """
import sys
sys.modules["bitsandbytes"] = None
from srlite.descriptor.load import load_descriptor
from srlite.models.store import BUNDLED
settings = dict(adapter=None, device="cpu", dtype="float32", seed=3)
print(load_descriptor(BUNDLED / "descriptor", quantise=False, **settings).adapted)
try:
    load_descriptor(BUNDLED / "descriptor", quantise=True, **settings)
except Exception as error:
    print(type(error).__name__, getattr(error, "remedy", None))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    plain, four_bit = done.stdout.splitlines()
    assert int(plain) > 0
    assert four_bit.startswith(("DeviceError", "ModelError")) and "bitsandbytes" in four_bit


def test_c12_where_no_clip_fits_beside_its_text_a_run_does_not_finish_as_if_it_had_learnt(data, tmp_path):
    """Right: fewer frames or smaller pictures are taken, or the run is refused. Now every pair is left out with a note, and the
    run ends complete, exit code 0, with an adapter that learnt nothing; the empty rollouts.jsonl bars resuming, too."""
    shutil.copytree(BUNDLED / "descriptor", tmp_path / "short")
    config = json.loads((tmp_path / "short" / "config.json").read_text())
    config["text_config"]["max_position_embeddings"] = 150  # the clips take some 100, the texts 60 to 90
    (tmp_path / "short" / "config.json").write_text(json.dumps(config))
    models = {"descriptor": str(tmp_path / "short"), "judge": str(BUNDLED / "judge.gguf"), "device": "cpu"}
    try:
        run = tmp_path / "run"
        done = srlite.train(data / "items.csv", data / "videos", run=run, preset="tiny", over=SMALL | {"models": models})
    except InputError as error:
        assert "150" in str(error)
    else:
        assert done.steps > 0


@pytest.mark.parametrize("words", [["models", "list"], ["models", "list", "--json"]])
def test_e1_a_full_disk_under_stdout_is_told_in_words(words):
    """Exit 1 and 'a fault of srlite' now; it is one of the disk, exit 5."""
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "srlite.cli", *words]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"})
    assert "a fault of srlite" not in done.stderr and "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    assert "space" in done.stderr and done.returncode == DeviceError.exit_code


def test_e5_a_file_is_not_called_a_folder_that_is_not_empty(tmp_path):
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(UsageError, match="not a folder"):
        check_place(tmp_path / "notes", resume=False)


@pytest.mark.parametrize("name", ["split.csv", "catalogue.toml"])
def test_e5_a_users_own_file_of_a_name_that_a_run_uses_is_not_overwritten(tmp_path, name):
    """A folder that holds just these is taken for a run killed while it began; the user's file is lost."""
    (tmp_path / name).write_text("mine")
    records = tuple(Record(f"{i}.mp4", "30_1", "pass", child=f"c{i}", line=i + 2) for i in range(3))
    with pytest.raises(UsageError):
        begin(tmp_path, Settings(), catalogue_of(None), Split(records[:1], records[1:2], records[2:]))
    assert (tmp_path / name).read_text() == "mine"
