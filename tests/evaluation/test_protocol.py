"""A finished run evaluated in every way there is, on the bundled models."""

import json
import shutil

import pytest

import srlite
from srlite.errors import InputError, ModelError, UsageError
from srlite.evaluation.document import Evaluation
from srlite.evaluation.flow import sums_that_fail
from srlite.evaluation.protocol import given_up
from srlite.models.store import BUNDLED
from srlite.training.run import Run

ARMS = ("generic", "base", "ablated", "adapted")


@pytest.fixture(scope="module")
def whole(data, trained, tmp_path_factory):
    """All arms; the run is its own ablation; the second judge is the bundled one under another hash."""
    folder = tmp_path_factory.mktemp("whole")
    other = folder / "other.gguf"
    other.write_bytes((BUNDLED / "judge.gguf").read_bytes() + b"\0")  # other bytes: none of its verdicts is in the cache
    heard = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SRLITE_HOME", str(trained.parent / "home"))
        found = srlite.evaluate(
            data / "items.csv",
            data / "videos",
            run=trained,
            compare=["generic", "base", "adapted"],
            ablate=trained,
            second_judge=str(other),
            tick=lambda *at: heard.append(at),
        )
    return found, (trained / "evaluation.json").read_text(), heard


def test_every_pair_is_a_case_with_what_each_arm_said(whole, data, trained):
    found, _, heard = whole
    test = Run(trained).split(_records(data)).test
    assert {(c.clip, c.item): c.outcome for c in found.cases if c.matched} == {(r.clip, r.item): r.outcome for r in test}
    assert len(found.cases) == len(test) + len(test) // 2
    for case in found.cases:
        assert tuple(case.arms) == ARMS and len(case.clip_sha256) == 64 and len(case.frames_s) == 8 and case.duration_s > 0
        for said in case.arms.values():
            assert said.description and said.true in (True, False) and len(said.verdicts) == len(said.second.verdicts) == 6
    assert [arm for arm, done, total in heard if done == total] == list(ARMS)


def _records(data):
    from srlite.records.dataset import read_dataset

    return read_dataset(data / "items.csv", data / "videos", None).records


def test_the_prompts_and_adapters_of_the_arms_differ(whole):
    said = {arm: [c.arms[arm].description for c in whole[0].cases] for arm in ARMS}
    assert said["generic"] != said["base"] != said["adapted"]


def test_a_run_that_is_its_own_ablation_has_identical_figures(whole):
    found = whole[0]
    assert found.arms["ablated"] == found.arms["adapted"]
    (compared,) = (c for c in found.comparisons if c.before == "ablated")
    assert (compared.p, compared.only_before, compared.only_after, compared.difference.value) == (1.0, 0, 0, 0.0)
    assert [(c.before, c.after) for c in found.comparisons] == [
        ("base", "adapted"),
        ("generic", "base"),
        ("ablated", "adapted"),
    ]
    assert found.ablation.terms == found.ablation.adapted_terms == ("outcome", "unrelated", "relevance", "quality")


def test_the_same_judge_by_another_name_decides_alike(whole):
    found = whole[0]
    second = found.second_judge
    assert second.judge.id == "other.gguf" and second.judge.sha256 != found.card.judge.sha256
    for name, arm in second.arms.items():
        assert (arm.agreement.value, arm.agreement.n) == (1.0, len(found.cases))
        assert arm.kappa == pytest.approx(1.0) if arm.kappa is not None else arm.kappa_reason
        assert arm.accuracy == found.arms[name].accuracy
    assert second.warnings == ()


def test_what_another_evaluation_would_take_away_is_known(whole, trained, tmp_path):
    _, text, _ = whole
    (tmp_path / "evaluation.json").write_text(text)
    asked = {"compare": ["base"], "ablate": None, "second_judge": None, "audit": True}
    assert given_up(tmp_path, **asked) == ("the arm generic", "the arm ablated", "the second judge")
    assert given_up(tmp_path, **asked | {"compare": ["generic", "base"], "ablate": trained, "second_judge": "tiny"}) == ()
    assert given_up(tmp_path / "none", **asked) == ()


def test_the_file_is_the_document_and_keeps_the_keys_of_the_contract(whole, trained):
    found, text, _ = whole
    assert Evaluation.model_validate_json(text) == found
    document = json.loads(text)
    assert document["schema"] == "srlite.evaluation/1" and document["demonstration"] is True and document["run"] == trained.name
    assert sums_that_fail(found.flow) == ()
    for arm in document["arms"].values():
        for share in ("accuracy", "abstention", "relevance", "truth"):
            assert {"value", "low", "high", "n"} <= set(arm[share])
        counts = ("tp", "fn", "fp", "tn", "unable_pass", "unable_fail", "unscored")
        assert all({"recall", "precision", *counts} <= set(item) for item in arm["items"].values())
        counted = sum(item[name] for item in arm["items"].values() for name in counts)
        assert counted == arm["accuracy"]["n"] == document["flow"]["test_pairs"]
        assert arm["abstention"]["n"] == document["flow"]["unrelated_pairs"]
    assert set(document["flow"]["unscored"]) == set(ARMS) and document["flow"]["unreadable_pairs"] == 0


def test_the_card_names_models_texts_and_settings_and_no_path(whole, trained):
    from srlite.descriptor.prompts import canonical_prompt, generic_prompt
    from srlite.files import file_sha256

    card = whole[0].card
    assert card.adapter.sha256 == file_sha256(trained / "adapter" / "adapter_model.safetensors")
    assert card.judge.sha256 == file_sha256(BUNDLED / "judge.gguf")
    assert card.descriptor.sha256 == file_sha256(BUNDLED / "descriptor" / "model.safetensors")
    assert set(card.questions) == {"evidence", "met", "relevant", "well_formed", "abstains", "echo"}
    assert card.split == "per-item" and card.steps == Run(trained).checkpoints()[-1][0].step
    assert {i.code for i in card.items} >= {c.item for c in whole[0].cases}
    catalogue = Run(trained).catalogue()
    for item in card.items:
        assert item.prompt == canonical_prompt(catalogue[item.code], item.age_months)
        assert item.generic_prompt == generic_prompt(catalogue[item.code], item.age_months)
    assert card.settings["models"]["descriptor"] == card.descriptor.id and "/" not in json.dumps(card.settings["models"])
    assert str(trained.parent) not in whole[1] and "/tmp" not in whole[1]
    assert set(card.versions) >= {"srlite", "torch", "transformers", "scipy"}


def test_another_test_part_other_pictures_or_another_base_cannot_be_compared(data, trained, tmp_path):
    rows, ask = data / "items.csv", dict(run=trained, ablate=tmp_path / "other")
    shutil.copytree(trained, tmp_path / "other")
    split = tmp_path / "other" / "split.csv"
    split.write_text(split.read_text().replace(",test,", ",train,", 1))
    with pytest.raises(InputError, match="1 records are in the test part of one of them only"):
        srlite.evaluate(rows, data / "videos", **ask)
    shutil.copy(trained / "split.csv", split)
    lock = json.loads((trained / "lock.json").read_text())
    (tmp_path / "other" / "lock.json").write_text(json.dumps(lock | {"descriptor_sha256": "0" * 64}))
    with pytest.raises(InputError, match="its base model is another one"):
        srlite.evaluate(rows, data / "videos", **ask)
    (tmp_path / "other" / "lock.json").write_text(json.dumps(lock))
    config = tmp_path / "other" / "config.toml"
    config.write_text(config.read_text().replace("frames = 8", "frames = 4"))
    with pytest.raises(InputError, match="it saw other pictures"):
        srlite.evaluate(rows, data / "videos", **ask)


def test_what_cannot_be_meant_is_refused_before_models_are_loaded(data, trained, tmp_path):
    with pytest.raises(UsageError, match="no arm best"):
        srlite.evaluate(data / "items.csv", data / "videos", run=trained, compare=["base", "best"])
    (tmp_path / "no.gguf").write_text("no judge")
    for judge in (str(tmp_path / "no.gguf"), "no-such-judge"):
        with pytest.raises(ModelError):
            srlite.evaluate(data / "items.csv", data / "videos", run=trained, second_judge=judge)


def test_a_clip_that_cannot_be_read_is_a_case_and_the_rest_is_measured(run_cli, data, trained, tmp_path):
    """Exit code 6, and the document all the same."""
    shutil.copytree(data / "videos", tmp_path / "videos")
    shutil.copytree(trained, tmp_path / "run")
    clip = Run(trained).split(_records(data)).test[0].clip
    (tmp_path / "videos" / clip).write_text("no video")
    done = run_cli("evaluate", data / "items.csv", tmp_path / "videos", "--run", tmp_path / "run", "--json")
    assert done.returncode == 6, done.stderr
    document = json.loads(done.stdout)
    unread = [c for c in document["cases"] if c["unreadable"] is not None]
    assert {c["clip"] for c in unread} == {clip} and all(c["arms"] == {} for c in unread)
    flow, read = document["flow"], len(document["cases"]) - len(unread)
    assert flow["unreadable_pairs"] == len(unread) and flow["test_pairs"] + flow["unrelated_pairs"] == read
    assert flow["test"] == flow["test_pairs"] + flow["unreadable_matched"]
    assert document == json.loads((tmp_path / "run" / "evaluation.json").read_text())
    assert clip in done.stderr and str(tmp_path) not in done.stdout


@pytest.mark.slow
def test_the_command_compares_and_prints(run_cli, data, trained):
    done = run_cli("evaluate", data / "items.csv", data / "videos", "--run", trained, "--compare", "generic, base", "--full")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "demonstration model" in text and "base to adapted: accuracy" in text and "By sex, adapted" in text
    wrong = run_cli("evaluate", data / "items.csv", data / "videos", "--run", trained, "--compare", "better")
    assert wrong.returncode == 2 and "no arm better" in wrong.stderr
