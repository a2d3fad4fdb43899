"""The slow ones: the whole demonstration, and training on a 4-bit base."""

import json

import pytest

import srlite
from srlite.demo.clips import write_dataset
from srlite.demo.world import clinic
from srlite.training.run import Run

pytestmark = pytest.mark.slow


@pytest.mark.timeout(1500)
def test_the_demonstration_tells_its_story(run_cli, tmp_path):
    found = run_cli("demo", tmp_path / "demo", "--json", timeout=1400)
    assert found.returncode == 0, found.stderr
    document = json.loads(found.stdout)
    assert document["schema"] == "srlite.demo/1" and document["demonstration"] is True
    base, adapted = (document["evaluation"]["arms"][name] for name in ("base", "adapted"))
    assert adapted["accuracy"]["value"] > base["accuracy"]["value"]
    assert adapted["abstention"]["value"] > base["abstention"]["value"]
    mended = document["assessments"][0]
    assert mended["why"].startswith("wrong before") and mended["before_decision"] != mended["outcome"]
    assert mended["assessment"]["decision"] == mended["outcome"]
    assert "demonstration model" in found.stderr


@pytest.mark.timeout(900)
def test_training_on_a_base_in_four_bit(tmp_path):
    """The QLoRA path of a card, on the CPU: NF4 base, adapter trained, resumed and assessed."""
    scenes = [s for s in clinic(14, 5, children=5, unseen_share=0.0) if s.item in ("18_3", "6_3", "12_4")]
    items_csv = write_dataset(scenes, tmp_path / "data")
    over = {
        "schedule": {"rounds": 1, "slice_pairs": 8, "batch_pairs": 4},
        "sampling": {"group": 6, "max_new_tokens": 30},
        "split": {"how": "per-item", "test_fraction": 0.2, "validation_fraction": 0.2},
        "models": {"device": "cpu", "quantise": True},
    }
    videos = items_csv.parent / "videos"
    done = srlite.train(items_csv, videos, run=tmp_path / "run", preset="tiny", over=over)
    learnt = [m for m in Run(done.run).metrics() if "pairs" in m]
    assert done.steps > 0 and all(m["kl"] is None or m["kl"] >= 0 for m in learnt)
    assert any(m["gradient_norm"] for m in learnt)
    clip = sorted(videos.glob("*_18_3_*"))[0]
    (found,) = srlite.assess([clip], "18_3", run=done.run)
    assert found.description
