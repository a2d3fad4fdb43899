"""srlite models pull, against a hub on 127.0.0.1: what is fetched, and what each thing that goes wrong leaves and says."""

import json
import os
import resource
import signal
import stat
import subprocess
import sys
import time

import pytest
from fences import can_mount, on_a_small_disk, without_the_rights_of_root
from filelock import FileLock
from models.conftest import DESCRIPTOR, JUDGE_FILE, UNWANTED, refused

from srlite.models.lock import NAME, read_lock
from srlite.models.registry import registry
from srlite.models.store import BUNDLED, State, find_descriptor, find_judge, state

WEIGHTS = "model.safetensors"
TWO_B = registry().descriptors["qwen3-vl-2b"]
PULL_HERE = "import os, sys; os.environ['SRLITE_HOME'] = sys.argv[1]; from srlite.cli import app; app({words!r})"


def weights_part(home):
    return next((home / "models" / ".coming" / "qwen3-vl-2b").glob(f"{WEIGHTS}.*.part"))


def started(asking, home, *words):
    """A pull that goes on in the background; with text pipes."""
    env = {**os.environ, **asking, "SRLITE_HOME": str(home)}
    command = [sys.executable, "-m", "srlite.cli", "models", "pull", *words]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


# ---- what is fetched ------------------------------------------------------------------------------------------------


def test_a_preset_is_pulled_and_works_without_the_hub(models, run_cli, hub, home, watched, examples, bundled, tmp_path):
    env, log = watched
    done = models("pull", "--preset", "cpu", env={**env, "HF_HUB_OFFLINE": "1"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"qwen3-vl-2b: {home / 'models' / 'qwen3-vl-2b'}",
        f"qwen3-1.7b: {home / 'models' / 'qwen3-1.7b' / JUDGE_FILE}",
    ]
    assert "licence Apache-2.0" in done.stderr and "every file verified" in done.stderr
    hub.stop()
    opened = {line.rsplit("('", 1)[1].split("'")[0] for line in log.read_text().splitlines() if "socket.connect" in line}
    assert opened == {"127.0.0.1"}  # nobody else was asked: no telemetry
    log.unlink()
    folder = home / "models" / "qwen3-vl-2b"
    assert {p.name: p.read_bytes() for p in folder.iterdir() if p.name != NAME} == bundled
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    lock = read_lock(folder)
    assert lock.repository == DESCRIPTOR and lock.commit == hub.repositories[DESCRIPTOR].branches["main"]
    assert {f.name: f.bytes for f in lock.files} == {name: len(content) for name, content in bundled.items()}
    assert not list((home / "models" / ".coming").iterdir())

    assert find_descriptor("qwen3-vl-2b").path == folder and not find_descriptor("qwen3-vl-2b").demonstration
    assert find_judge("qwen3-1.7b").family == "qwen3"
    train = ("train", examples / "items.csv", examples / "videos", "--preset", "cpu", "--dry-run", "--json")
    plan = run_cli(*train, cwd=tmp_path, env=env)
    assert plan.returncode == 0 and json.loads(plan.stdout)["descriptor"] == "qwen3-vl-2b", plan.stderr
    again = models("pull", "--preset", "cpu", "--json", env=env)
    assert again.returncode == 0 and {m["state"] for m in json.loads(again.stdout)["models"]} == {"verified"}
    assert "is here, and its files are those of commit" in again.stderr
    listed = {m["id"]: m for m in json.loads(models("list", "--json", env=env).stdout)["models"]}
    assert listed["qwen3-vl-2b"]["state"] == "verified" and listed["qwen3-vl-2b"]["bytes"] == lock.bytes
    assert listed["qwen3-4b"]["state"] == "not installed" and listed["qwen3-4b"]["path"] is None
    assert not log.exists(), log.read_text()


def test_the_pulled_pair_loads(models):
    from srlite.descriptor.load import load_descriptor
    from srlite.judge.header import check_header

    assert models("pull", "qwen3-vl-2b", "qwen3-1.7b").returncode == 0
    judge, descriptor = find_judge("qwen3-1.7b"), find_descriptor("qwen3-vl-2b")
    assert check_header(judge.path, judge.family).name == "qwen3"
    assert load_descriptor(descriptor.path, adapter=None, device="cpu", quantise=False, dtype="float32", seed=1).adapted


def test_only_what_a_model_needs_is_asked_for_and_the_token_stays_at_the_hub(models, hub):
    assert models("pull", "qwen3-vl-2b", env={"HF_TOKEN": "hf_secret"}).returncode == 0
    assert not {a.path.rsplit("/", 1)[1] for a in hub.asked} & {name.rsplit("/", 1)[-1] for name in UNWANTED} - {"config.json"}
    assert {a.path.split("/")[1] for a in hub.asked} == {"api", "Qwen"} and hub.asked[0].path.endswith("/revision/main")
    assert {a.authorization for a in hub.asked if a.server == "hub"} == {"Bearer hf_secret"}
    assert {a.authorization for a in hub.asked if a.server == "cdn"} == {None}
    assert all(a.agent.startswith("srlite/") and "torch" not in a.agent for a in hub.asked)


def test_a_locked_commit_is_kept_and_another_one_is_asked_for_by_name(models, hub, home, bundled):
    first = hub.repositories[DESCRIPTOR].branches["main"]
    assert models("pull", "qwen3-vl-2b").returncode == 0
    (home / "models" / "qwen3-vl-2b" / "notes.txt").write_text("mine")
    second = hub.publish(DESCRIPTOR, {**bundled, "generation_config.json": b'{"eos_token_id": 2}'})
    assert models("pull", "qwen3-vl-2b").returncode == 0 and read_lock(home / "models" / "qwen3-vl-2b").commit == first
    asked = len(hub.asked)
    assert models("pull", "qwen3-vl-2b@main").returncode == 0
    assert read_lock(home / "models" / "qwen3-vl-2b").commit == second
    assert (home / "models" / "qwen3-vl-2b" / "generation_config.json").read_bytes() == b'{"eos_token_id": 2}'
    assert (home / "models" / "qwen3-vl-2b" / "notes.txt").read_text() == "mine"
    assert models("pull", f"qwen3-vl-2b@{first}").returncode == 0 and len(hub.asked) > asked
    assert read_lock(home / "models" / "qwen3-vl-2b").commit == first
    assert not list((home / "models" / ".coming").iterdir())
    hub.stop()
    assert models("pull", f"qwen3-vl-2b@{first}").returncode == 0


# ---- interrupted ----------------------------------------------------------------------------------------------------


def test_a_line_that_breaks_is_taken_up_where_it_broke(models, hub, home, bundled):
    hub.cuts[WEIGHTS] = [1_000_000, 3_000]
    assert models("pull", "qwen3-vl-2b").returncode == 0
    asked = [wanted for server, wanted in hub.fetches(WEIGHTS) if server == "cdn"]
    assert asked == [None, "bytes=1000000-", "bytes=1003000-"]
    assert (home / "models" / "qwen3-vl-2b" / WEIGHTS).read_bytes() == bundled[WEIGHTS]


def test_the_next_pull_fetches_only_the_rest(models, hub, home, bundled):
    hub.cuts[WEIGHTS] = [2_000_000, 0, 0, 0]
    refused(models("pull", "qwen3-vl-2b"), 4, "cannot be reached", "what came so far is kept", "srlite models export")
    assert state(TWO_B) is State.INCOMPLETE and not (home / "models" / "qwen3-vl-2b").exists()
    assert weights_part(home).stat().st_size == 2_000_000
    shown = models("list")
    assert "incomplete" in shown.stdout
    refused(models("export", home / "stick", "qwen3-vl-2b"), 4, "qwen3-vl-2b is incomplete", "srlite models pull qwen3-vl-2b")
    hub.cuts.clear()
    hub.asked.clear()
    assert models("pull", "qwen3-vl-2b").returncode == 0
    assert {a.path.rsplit("/", 1)[1] for a in hub.asked} == {"main", WEIGHTS}  # the small files were there
    assert hub.fetches(WEIGHTS) == [("hub", "bytes=2000000-"), ("cdn", "bytes=2000000-")]
    assert (home / "models" / "qwen3-vl-2b" / WEIGHTS).read_bytes() == bundled[WEIGHTS]


def test_a_server_that_knows_no_ranges_is_asked_for_the_whole(models, hub, home, bundled):
    hub.ranges, hub.cuts[WEIGHTS] = False, [1_000_000]
    assert models("pull", "qwen3-vl-2b").returncode == 0
    assert (home / "models" / "qwen3-vl-2b" / WEIGHTS).read_bytes() == bundled[WEIGHTS]


def test_the_beginning_of_another_revision_is_not_gone_on_with(models, hub, home, bundled):
    hub.cuts[WEIGHTS] = [2_000_000, 0, 0, 0]
    assert models("pull", "qwen3-vl-2b").returncode == 4
    other = bundled[WEIGHTS][:-1] + bytes([bundled[WEIGHTS][-1] ^ 1])
    hub.publish(DESCRIPTOR, {**bundled, WEIGHTS: other})
    hub.cuts.clear()
    hub.asked.clear()
    assert models("pull", "qwen3-vl-2b").returncode == 0
    assert hub.fetches(WEIGHTS) == [("hub", None), ("cdn", None)]
    assert (home / "models" / "qwen3-vl-2b" / WEIGHTS).read_bytes() == other


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_ended_in_the_middle_the_next_goes_on(models, hub, home, asking, number, code):
    hub.stalls[WEIGHTS] = 1_500_000
    running = started(asking, home, "qwen3-vl-2b")
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        parts = list((home / "models").glob(f".coming/qwen3-vl-2b/{WEIGHTS}.*.part"))
        if parts and parts[0].stat().st_size > 1_000_000:
            break
        time.sleep(0.05)
    running.send_signal(number)
    out, said = running.communicate(timeout=240)
    assert running.returncode == code, said
    if code == 130:
        assert out == "" and "goes on where it stopped" in said and "Traceback" not in said and "resume" not in said
    assert state(TWO_B) is State.INCOMPLETE
    have = weights_part(home).stat().st_size
    hub.go_on.set()
    hub.asked.clear()
    assert have > 1_000_000 and models("pull", "qwen3-vl-2b").returncode == 0
    assert hub.fetches(WEIGHTS) == [("hub", f"bytes={have}-"), ("cdn", f"bytes={have}-")]
    assert state(TWO_B) is State.VERIFIED


def test_a_second_pull_waits_for_the_first(hub, home, asking):
    (home / "models").mkdir()
    with FileLock(home / "models" / ".lock"):
        running = started(asking, home, "qwen3-1.7b")
        assert "waiting" in running.stderr.readline()
        assert hub.asked == []
    _, said = running.communicate(timeout=240)
    assert running.returncode == 0 and "installed" in said


def test_two_pulls_at_once_fetch_everything_once(hub, home, asking):
    both = [started(asking, home, "--preset", "cpu") for _ in range(2)]
    assert [(p.communicate(timeout=240), p.returncode)[1] for p in both] == [0, 0]
    assert len(hub.fetches(WEIGHTS)) == 2 and len(hub.fetches(JUDGE_FILE)) == 2  # the redirect, and where it leads


def test_killed_between_the_two_renames_the_model_is_found_again(models, hub, home):
    assert models("pull", "qwen3-vl-2b").returncode == 0
    (home / "models" / "qwen3-vl-2b").rename(home / "models" / ".coming" / "qwen3-vl-2b.old")
    hub.stop()
    assert models("pull", "qwen3-vl-2b").returncode == 0 and state(TWO_B) is State.VERIFIED


# ---- not what the hub says of it ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        (WEIGHTS, lambda b: b[:-1] + bytes([b[-1] ^ 1]), "its checksum is"),
        (WEIGHTS, lambda b: b + b"more", "bytes came where the hub says 8,029,920"),
        ("config.json", lambda b: b.replace(b"{", b"[", 1), "its checksum is"),
    ],
)
def test_wrong_bytes_go_to_quarantine(models, hub, home, bundled, name, change, words):
    hub.served[name] = change(bundled[name])
    said = refused(models("pull", "qwen3-vl-2b"), 4, name, words, "srlite models pull qwen3-vl-2b", "HF_ENDPOINT")
    place = home / "models" / "quarantine" / "qwen3-vl-2b" / name
    assert str(place) in said and place.exists()
    assert state(TWO_B) is not State.VERIFIED and not (home / "models" / "qwen3-vl-2b").exists()
    hub.served.clear()
    hub.asked.clear()
    assert models("pull", "qwen3-vl-2b").returncode == 0
    assert all(wanted is None for _, wanted in hub.fetches(name))  # from the beginning
    assert (home / "models" / "qwen3-vl-2b" / name).read_bytes() == bundled[name]


def test_a_damaged_model_is_found_by_verify_and_mended_by_pull(models, hub, home, bundled):
    assert models("pull", "qwen3-vl-2b").returncode == 0
    weights = home / "models" / "qwen3-vl-2b" / WEIGHTS
    commit = read_lock(weights.parent).commit
    weights.write_bytes(bundled[WEIGHTS][:-1] + b"x")
    found = models("verify")
    assert found.returncode == 4 and f"{WEIGHTS} its sha256" in found.stdout
    assert "srlite models pull qwen3-vl-2b" in found.stderr
    hub.asked.clear()
    mended = models("pull", "qwen3-vl-2b")
    assert mended.returncode == 0 and f"{WEIGHTS} its sha256" in mended.stderr
    assert [a.path.rsplit("/", 1)[1] for a in hub.asked] == [
        commit,
        WEIGHTS,
        WEIGHTS,
    ]  # of the locked commit, what is wrong
    assert weights.read_bytes() == bundled[WEIGHTS] and models("verify").returncode == 0
    weights.write_bytes(bundled[WEIGHTS][:100])  # cut short: seen without reading it
    assert state(TWO_B) is State.INCOMPLETE
    assert models("pull", "qwen3-vl-2b").returncode == 0 and weights.read_bytes() == bundled[WEIGHTS]


INDEX = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}


@pytest.mark.parametrize(
    ("lost", "more", "words"),
    [
        (
            WEIGHTS,
            {"model.safetensors.index.json": json.dumps(INDEX).encode(), "model-00001-of-00002.safetensors": bytes(1000)},
            "weights that the index names are missing: model-00002-of-00002.safetensors",
        ),
        (WEIGHTS, {"model.safetensors.index.json": b"{"}, "the index of the weights cannot be read"),
        (WEIGHTS, {"pytorch_model.bin": b"a pickle"}, "there are no safetensors weights"),
        ("config.json", {}, "there is no config.json"),
    ],
)
def test_a_repository_that_lacks_something_is_no_model(models, hub, home, bundled, lost, more, words):
    hub.publish(DESCRIPTOR, {**{n: b for n, b in bundled.items() if n != lost}, **more})
    refused(models("pull", "qwen3-vl-2b"), 4, words, "Nothing was installed")
    assert not (home / "models" / "qwen3-vl-2b").exists()
    assert not hub.fetches("model-00001-of-00002.safetensors")  # seen before anything large is fetched


def test_a_listed_file_that_is_gone(models, hub):
    hub.hidden.add("tokenizer.json")
    refused(models("pull", "qwen3-vl-2b"), 4, "no longer has a file that it lists", DESCRIPTOR)


# ---- the hub says no ------------------------------------------------------------------------------------------------


def test_a_gated_repository_says_how_to_ask(models, hub):
    hub.repositories[DESCRIPTOR].gate, hub.repositories[DESCRIPTOR].token = "gated", "hf_mine"
    said = refused(models("pull", "qwen3-vl-2b"), 4, "gated", f"{hub.address()}/{DESCRIPTOR}", "HF_TOKEN")
    assert said == refused(models("pull", "qwen3-vl-2b", env={"HF_TOKEN": "hf_another"}), 4)
    assert "hf_another" not in said
    assert models("pull", "qwen3-vl-2b", env={"HF_TOKEN": "hf_mine"}).returncode == 0


def test_a_missing_repository_and_a_missing_revision(models, hub):
    refused(models("pull", "qwen3-8b"), 4, "no such repository, or it is private", "Qwen/Qwen3-8B-GGUF", "HF_TOKEN")
    refused(models("pull", "qwen3-8b", env={"HF_TOKEN": "x"}), 4, "no such repository")
    refused(models("pull", "qwen3-vl-2b@v9"), 4, "no revision 'v9'", DESCRIPTOR)


def test_no_network_a_busy_hub_and_a_log_in_page(models, hub, home):
    hub.refused.add("config.json")
    refused(models("pull", "qwen3-vl-2b"), 4, "HTTP 503", "Try again later")
    hub.page = b"<html>Please log in to the clinic's network</html>"
    refused(models("pull", "qwen3-vl-2b"), 4, "is not a hub", "log-in page", hub.address())
    hub.stop()
    refused(models("pull", "qwen3-vl-2b"), 4, "cannot be reached", DESCRIPTOR, "HTTPS_PROXY", "srlite models import")
    refused(models("pull", "qwen3-vl-2b", env={"HF_ENDPOINT": "the-hub"}), 2, "HF_ENDPOINT is no address")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no model is named"),
        (["qwen9"], "no model 'qwen9'"),
        (["tiny"], "comes with srlite"),
        (["--preset", "tiny"], "nothing to fetch"),
        (["--preset", "huge"], "no preset 'huge'"),
    ],
)
def test_what_cannot_be_meant(models, hub, words, said):
    refused(models("pull", *words), 2, said)
    assert hub.asked == []


def test_a_process_that_was_kept_offline_says_so(asking, home):
    code = "from srlite.descriptor.offline import stay_offline; stay_offline(); import huggingface_hub.constants; " + PULL_HERE
    words = [sys.executable, "-c", code.format(words=["models", "pull", "qwen3-1.7b"]), str(home)]
    done = subprocess.run(words, env={**os.environ, **asking}, capture_output=True, text=True)
    refused(done, 2, "kept away from the network", "srlite models pull")


# ---- the disk says no -----------------------------------------------------------------------------------------------


def test_what_was_placed_by_hand_is_left_alone(models, hub, home):
    folder = home / "models" / "qwen3-1.7b"
    folder.mkdir(parents=True)
    (folder / "readme.txt").write_text("soon")
    refused(models("pull", "qwen3-1.7b"), 2, "srlite did not put there", str(folder))
    (folder / JUDGE_FILE).write_bytes(b"GGUF")
    done = models("pull", "qwen3-1.7b")
    assert done.returncode == 0 and "placed by hand and is left as it is" in done.stderr
    assert (folder / JUDGE_FILE).read_bytes() == b"GGUF" and hub.asked == []


def test_a_models_folder_that_is_a_file(models, home):
    (home / "models").write_text("")
    refused(models("pull", "qwen3-1.7b"), 5, str(home / "models"), "Check the folder and its permissions")


def test_a_models_folder_that_cannot_be_written(asking, home):
    (home / "models").mkdir()
    (home / "models").chmod(0o555)
    words = [sys.executable, "-m", "srlite.cli", "models", "pull", "qwen3-1.7b"]
    env = {**os.environ, **asking, "SRLITE_HOME": str(home)}
    done = subprocess.run(words, env=env, capture_output=True, text=True, preexec_fn=without_the_rights_of_root)
    refused(done, 5, "Permission denied", str(home / "models"), "SRLITE_HOME")


def test_the_room_on_the_disk_is_looked_at_first(hub, asking, tmp_path):
    """3 MB hold neither model: the bytes that are missing are named, and no file is asked for."""
    if not can_mount(tmp_path):
        pytest.skip("this system lets no test mount a file system")
    code = PULL_HERE.format(words=["models", "pull", "--preset", "cpu"])
    _, done = on_a_small_disk(code, tmp_path, size="3m", env=asking)
    said = refused(done, 5, "the disk is full", "are missing", "Free some space")
    wanted = int(said.split("the disk is full: ")[1].split()[0].replace(",", ""))
    assert wanted == sum(p.stat().st_size for p in BUNDLED.rglob("*") if p.is_file())
    assert all(a.path.startswith("/api/") for a in hub.asked)


def test_a_disk_that_fills_up_on_the_way(models, hub, home, asking):
    def at_most_a_megabyte():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

    words = [sys.executable, "-m", "srlite.cli", "models", "pull", "qwen3-1.7b"]
    env = {**os.environ, **asking, "SRLITE_HOME": str(home)}
    done = subprocess.run(words, env=env, capture_output=True, text=True, preexec_fn=at_most_a_megabyte)
    refused(done, 5, "cannot write", "Free some space and start again: what is complete is kept")
    hub.asked.clear()
    assert models("pull", "qwen3-1.7b").returncode == 0
    assert hub.fetches(JUDGE_FILE)[-1] == ("cdn", "bytes=1000000-")
