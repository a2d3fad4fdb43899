"""As a user types it, with the names of real models: pull, train, assess; then the network is gone, and everything again."""

import json

import pytest
import tomli_w
from small_clinic import ITEMS, SMALL

SETTINGS = SMALL | {"video": {"max_pixels": 16384}}
"""The bundled descriptor, which stands behind a real one's name here, is too small for the pictures of the preset."""


@pytest.fixture
def clinic(examples, tmp_path):
    """items.csv of four items with an srlite.toml beside it; the clips are those of the examples."""
    head, *rows = (examples / "items.csv").read_text().splitlines()
    kept = [row for row in rows if row.split(",")[1] in ITEMS]
    (tmp_path / "items.csv").write_text("\n".join([head, *kept]) + "\n")
    (tmp_path / "srlite.toml").write_text(tomli_w.dumps(SETTINGS))
    return tmp_path


@pytest.mark.slow
def test_pull_train_assess_and_again_without_the_network(models, run_cli, hub, watched, examples, clinic):
    env, log = watched
    assert models("pull", "--preset", "cpu").returncode == 0
    for run in ("first", "second"):
        words = ("train", "items.csv", examples / "videos", "--preset", "cpu", "--run", run, "--json")
        trained = run_cli(*words, cwd=clinic, env=env)
        assert trained.returncode == 0, trained.stderr
        assert json.loads(trained.stdout) | {"preset": "cpu", "complete": True, "demonstration": False} == json.loads(
            trained.stdout
        )
        clip = examples / "videos" / "B060_18_4_004.mp4"
        assessed = run_cli("assess", clip, "--item", "18_4", "--run", run, "--json", cwd=clinic, env=env)
        assert assessed.returncode == 0, assessed.stderr
        document = json.loads(assessed.stdout)
        assert document["models"]["descriptor"]["id"] == "qwen3-vl-2b" and document["models"]["judge"]["id"] == "qwen3-1.7b"
        assert document["description"] and not log.exists()
        hub.stop()
    kept = [run_cli("models", "verify", env=env), run_cli("models", "list", "--json", env=env)]
    assert [done.returncode for done in kept] == [0, 0] and not log.exists()
