"""srlite models list, verify, export and import: no socket, nothing unverified installed, nothing of a person's touched."""

import json
import pickle
import shutil
from dataclasses import replace

import pytest
from fences import can_mount, on_a_small_disk
from models.conftest import DESCRIPTOR, JUDGE_FILE, refused

from srlite.console import Screen
from srlite.console.models import models_page
from srlite.errors import ModelError, UsageError
from srlite.models.listing import models_document
from srlite.models.lock import NAME, LockedFile, read_lock, write_lock
from srlite.models.registry import registry
from srlite.models.store import State, find_descriptor, state
from srlite.models.telling import Told
from srlite.models.transfer import export_models, import_models

WEIGHTS = "model.safetensors"
TWO_B = registry().descriptors["qwen3-vl-2b"]


def flipped(path):
    """Another file of the same length."""
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


@pytest.fixture
def stick(placed, home, tmp_path):
    """An export of qwen3-vl-2b, and a machine where nothing is installed."""
    export_models(["qwen3-vl-2b"], tmp_path / "stick")
    shutil.rmtree(home / "models")
    return tmp_path / "stick"


def test_from_one_machine_to_another_without_a_socket(run_cli, placed, home, watched, tmp_path, bundled):
    env, log = watched
    out = run_cli("models", "export", tmp_path / "stick", env=env)
    assert out.returncode == 0, out.stderr
    assert out.stdout.splitlines() == [f"{n}: {tmp_path / 'stick' / n}" for n in ("qwen3-vl-2b", "qwen3-1.7b")]
    again = run_cli("models", "export", tmp_path / "stick", "qwen3-1.7b", "--json", env=env)
    assert json.loads(again.stdout)["models"] == [{"id": "qwen3-1.7b", "path": str(tmp_path / "stick" / "qwen3-1.7b")}]
    assert "is there already" in again.stderr
    (tmp_path / "stick" / ".DS_Store").write_bytes(b"x")
    (tmp_path / "stick" / "qwen3-vl-2b" / "._config.json").write_bytes(b"x")
    (tmp_path / "stick" / "holiday").mkdir()

    other = {**env, "SRLITE_HOME": str(tmp_path / "other"), "COLUMNS": "200"}
    into = run_cli("models", "import", tmp_path / "stick", "--json", env=other)
    assert into.returncode == 0, into.stderr
    assert {m["id"]: m["state"] for m in json.loads(into.stdout)["models"]} == {
        "qwen3-vl-2b": "verified",
        "qwen3-1.7b": "verified",
    }
    folder = tmp_path / "other" / "models" / "qwen3-vl-2b"
    assert {p.name: p.read_bytes() for p in folder.iterdir() if p.name != NAME} == bundled
    assert read_lock(folder) == read_lock(placed)
    assert folder.stat().st_mode & 0o777 == 0o700 and (folder / WEIGHTS).stat().st_mode & 0o777 == 0o600
    assert not list((tmp_path / "other" / "models" / ".coming").iterdir())
    second = run_cli("models", "import", tmp_path / "stick" / "qwen3-vl-2b", env=other)
    assert second.returncode == 0 and "is here already (commit cccccccccccc)" in second.stderr
    checked = run_cli("models", "verify", "--json", env=other)
    document = json.loads(checked.stdout)
    assert checked.returncode == 0 and document["schema"] == "srlite.verify/1"
    assert [(m["id"], m["locked"], m["wrong"]) for m in document["models"]] == [
        ("qwen3-vl-2b", True, []),
        ("qwen3-1.7b", True, []),
    ]
    listed = run_cli("models", "list", env=other)
    assert listed.returncode == 0 and listed.stdout.count("verified") == 2
    assert not log.exists(), log.read_text()


# ---- list -----------------------------------------------------------------------------------------------------------


def test_the_list_has_a_place_for_what_fits(placed, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    fits = {"qwen3-vl-2b": "yes", "qwen3-vl-8b": "needs 14 GB"}
    models_page(Screen(), models_document(fits))
    shown = capsys.readouterr().out
    assert "fits this card" in shown and "needs 14 GB" in shown and "8.1 MB" in shown and "~17.53 GB" in shown
    models_page(Screen(), models_document())
    assert "fits this card" not in capsys.readouterr().out
    document = models_document(fits)
    assert {m["id"]: m["fits"] for m in document["models"] if m["fits"]} == fits
    assert {p["name"]: p["installed"] for p in document["presets"]}["cpu"] is True


# ---- verify ---------------------------------------------------------------------------------------------------------


def test_verify_says_which_file_is_wrong_and_what_mends_it(run_cli, placed, home):
    flipped(placed / WEIGHTS)
    (placed / "config.json").unlink()
    (home / "models" / "qwen3-1.7b" / JUDGE_FILE).write_bytes(b"GGUF")
    found = run_cli("models", "verify", "--json")
    assert found.returncode == 4 and "Traceback" not in found.stderr
    wrong = {m["id"]: {w["name"]: w["said"] for w in m["wrong"]} for m in json.loads(found.stdout)["models"]}
    assert set(wrong["qwen3-vl-2b"]) == {WEIGHTS, "config.json"} and wrong["qwen3-vl-2b"]["config.json"] == "is missing"
    assert wrong["qwen3-vl-2b"][WEIGHTS].startswith("its sha256 is")
    assert wrong["qwen3-1.7b"] == {JUDGE_FILE: "has 4 bytes where the lock says 3,885,568"}
    assert "srlite models pull qwen3-vl-2b qwen3-1.7b" in " ".join(found.stderr.split())


def test_a_damaged_model_is_not_taken_for_a_model(placed):
    (placed / WEIGHTS).write_bytes(b"")
    assert state(TWO_B) is State.INCOMPLETE
    with pytest.raises(ModelError, match="is damaged: model.safetensors has 0 bytes.*") as caught:
        find_descriptor("qwen3-vl-2b")
    assert "srlite models pull qwen3-vl-2b" in caught.value.remedy and "--preset cpu" in caught.value.remedy


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": "srlite.lock/9"}', '{"schema": "srlite.lock/1", "files": []}'])
def test_a_damaged_lock_is_said_by_all_of_them(run_cli, placed, content):
    (placed / NAME).write_text(content)
    assert state(TWO_B) is State.INCOMPLETE
    found = run_cli("models", "verify", "qwen3-vl-2b", env={"COLUMNS": "200"})
    assert found.returncode == 4 and "the lock cannot be read" in found.stdout and "models pull qwen3-vl-2b" in found.stderr
    assert {m["state"] for m in models_document()["models"] if m["id"] == "qwen3-vl-2b"} == {"incomplete"}


def test_a_model_placed_by_hand_is_used_and_said_to_be_unlocked(run_cli, placed, tmp_path):
    (placed / NAME).unlink()
    assert state(TWO_B) is State.BY_HAND and find_descriptor("qwen3-vl-2b").path == placed
    found = run_cli("models", "verify", "qwen3-vl-2b")
    assert found.returncode == 0 and "not locked (placed by hand)" in found.stdout
    refused(run_cli("models", "export", tmp_path / "stick", "qwen3-vl-2b"), 4, "placed by hand", "Copy its folder by hand")
    assert not (tmp_path / "stick").exists()


def test_nothing_is_installed(run_cli, tmp_path):
    none = run_cli("models", "verify")
    assert none.returncode == 0 and "no model is installed" in none.stderr
    refused(run_cli("models", "verify", "qwen3-4b"), 4, "qwen3-4b is not installed", "srlite models pull qwen3-4b")
    refused(run_cli("models", "verify", "qwen9"), 2, "no model 'qwen9'")
    refused(run_cli("models", "verify", "tiny"), 2, "comes with srlite")
    refused(run_cli("models", "import", tmp_path / "gone"), 2, "there is no such folder")
    refused(run_cli("models", "export", tmp_path / "stick"), 4, "no model is here", "srlite models pull --preset")
    assert not (tmp_path / "stick").exists()


# ---- export ---------------------------------------------------------------------------------------------------------


def test_a_model_that_changed_since_it_was_pulled_is_not_copied(run_cli, placed, tmp_path):
    flipped(placed / WEIGHTS)
    refused(run_cli("models", "export", tmp_path / "stick", "qwen3-vl-2b"), 4, f"{WEIGHTS} is damaged", "It was not copied")
    assert list((tmp_path / "stick").iterdir()) == []


def test_nothing_is_written_over(run_cli, placed, tmp_path):
    (tmp_path / "stick" / "qwen3-vl-2b").mkdir(parents=True)
    (tmp_path / "stick" / "qwen3-vl-2b" / "mine").write_text("mine")
    refused(run_cli("models", "export", tmp_path / "stick"), 2, "something else is there already")
    assert [p.name for p in (tmp_path / "stick").iterdir()] == ["qwen3-vl-2b"]
    (tmp_path / "file").write_text("")
    refused(run_cli("models", "export", tmp_path / "file"), 5, "Check the folder and its permissions")


EXPORT = """
import sys
from srlite.cli import app
app(["models", "export", sys.argv[1]])
"""


def test_a_stick_that_is_too_small(placed, tmp_path):
    if not can_mount(tmp_path):
        pytest.skip("this system lets no test mount a file system")
    _, done = on_a_small_disk(EXPORT, tmp_path, size="3m")
    refused(done, 5, "the disk is full: 11,978,001 bytes are to be written", "are missing")


# ---- import ---------------------------------------------------------------------------------------------------------


def relocked(folder, **changes):
    write_lock(folder, replace(read_lock(folder), **changes))


def with_a_link(folder, outside):
    (folder / "config.json").rename(outside)
    (folder / "config.json").symlink_to(outside)


def with_a_linked_lock(folder, outside):
    (folder / NAME).rename(outside)
    (folder / NAME).symlink_to(outside)


def with_a_pickle(folder, outside):
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps([1]))


def with_a_locked_pickle(folder, outside):
    with_a_pickle(folder, outside)
    relocked(folder, files=(*read_lock(folder).files, LockedFile("pytorch_model.bin", 1, "0" * 64)))


def with_a_way_out(folder, outside):
    relocked(folder, files=(*read_lock(folder).files, LockedFile("../../config.json", 1, "0" * 64)))


def with_a_way_out_by_its_name(folder, outside):
    relocked(folder, id="../qwen3-vl-2b")


def with_a_folder(folder, outside):
    (folder / "sub").mkdir()


def of_somebody_else(folder, outside):
    relocked(folder, repository="somebody/else")


def without_a_file(folder, outside):
    (folder / "config.json").unlink()


def without_weights(folder, outside):
    (folder / WEIGHTS).unlink()
    relocked(folder, files=tuple(f for f in read_lock(folder).files if f.name != WEIGHTS))


def locked_twice(folder, outside):
    files = read_lock(folder).files
    relocked(folder, files=(*files, files[0]))


def with_other_weights(folder, outside):
    flipped(folder / WEIGHTS)


def with_short_weights(folder, outside):
    (folder / WEIGHTS).write_bytes(b"short")


def with_long_weights(folder, outside):
    (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes() + b"more")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (with_a_link, "a link or a folder lies in it: config.json"),
        (with_a_linked_lock, f"a link or a folder lies in it: {NAME}"),
        (with_a_folder, "a link or a folder lies in it: sub"),
        (with_a_pickle, "files lie in it that its lock does not name: pytorch_model.bin"),
        (with_a_locked_pickle, "the lock names files that belong to no model: pytorch_model.bin"),
        (with_a_way_out, "the lock names files that belong to no model: ../../config.json"),
        (with_a_way_out_by_its_name, "models.toml knows no model '../qwen3-vl-2b'"),
        (of_somebody_else, f"is that of qwen3-vl-2b of somebody/else, not of qwen3-vl-2b of {DESCRIPTOR}"),
        (without_a_file, "files that its lock names are missing: config.json"),
        (without_weights, "there are no safetensors weights"),
        (locked_twice, "the lock names a file twice"),
        (with_other_weights, "model.safetensors is damaged: its sha256 is"),
        (with_short_weights, "model.safetensors is damaged"),
        (with_long_weights, "model.safetensors is damaged"),
    ],
)
def test_what_is_odd_is_not_imported(stick, home, tmp_path, spoil, words):
    spoil(stick / "qwen3-vl-2b", tmp_path / "outside")
    with pytest.raises(ModelError) as caught:
        import_models(stick)
    assert words in caught.value.message and caught.value.remedy
    assert state(TWO_B) is State.ABSENT
    assert not [p for p in (home / "models").rglob("*") if p.is_file() and p.name != ".lock"]


def test_import_refuses_in_words(run_cli, stick, home):
    flipped(stick / "qwen3-vl-2b" / WEIGHTS)
    refused(run_cli("models", "import", stick), 4, "its sha256 is", "It was not copied", "qwen3-vl-2b again where it came from")
    refused(run_cli("models", "import", home), 4, "no exported model", "srlite models export", "--judge")


def test_what_lies_in_its_place(stick, home):
    folder = home / "models" / "qwen3-vl-2b"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("mine")
    with pytest.raises(UsageError, match="srlite did not put there"):
        import_models(stick)
    assert (folder / "config.json").read_text() == "mine"
    (folder / "config.json").unlink()
    import_models(stick)
    (folder / WEIGHTS).write_bytes(b"cut short")
    (folder / "notes.txt").write_text("mine")
    told = []
    import_models(stick, told.append)  # in the place of a model that is damaged
    assert state(TWO_B) is State.VERIFIED and (folder / "notes.txt").read_text() == "mine"
    assert Told("qwen3-vl-2b: installed, every file verified") in told
