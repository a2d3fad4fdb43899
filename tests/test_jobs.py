"""The main job on the bundled models: train, resume, evaluate, assess, and what goes wrong around them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest
from small_clinic import SMALL

import srlite
from srlite.errors import InputError, ModelError
from srlite.models.store import BUNDLED
from srlite.training.progress import Note
from srlite.training.rollouts import read_groups, read_rewards
from srlite.training.run import Run
from srlite.types import Reward


def test_a_run_leaves_what_the_contract_names(trained):
    names = {p.name for p in trained.iterdir()}
    assert {
        "config.toml",
        "lock.json",
        "catalogue.toml",
        "split.csv",
        "log.txt",
        "metrics.jsonl",
        "rounds",
        "checkpoints",
        "adapter",
    } <= names
    learnt = [m for m in Run(trained).metrics() if "pairs" in m]
    assert [m["slice"] for m in learnt] == list(range(1, len(learnt) + 1)) and len(learnt) >= 3
    assert all(0 <= m["reward"] <= 3 and m["descriptions"] == 4 * m["pairs"] for m in learnt)
    assert sum(m["steps"] for m in learnt) == learnt[-1]["step"] > 0
    assert 0 <= Run(trained).metrics()[-1]["validation"] <= 1


def test_a_run_holds_no_absolute_path_and_only_private_files(data, trained):
    srlite.evaluate(data / "items.csv", data / "videos", run=trained)
    for path in trained.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
        if path.suffix in (".toml", ".json", ".jsonl", ".csv", ".txt"):
            assert "/tmp" not in path.read_text() and str(trained.parent) not in path.read_text(), path


def test_old_checkpoints_are_pruned(trained):
    (_, newest), *others = reversed(Run(trained).checkpoints())
    assert (newest / "optimiser.safetensors").exists()
    assert all(state.score is not None for state, _ in others)


def test_the_adapter_has_moved(trained):
    from safetensors.torch import load_file

    tensors = load_file(trained / "adapter" / "adapter_model.safetensors")
    assert all("language_model" in name for name in tensors)
    assert any(t.abs().max() > 0 for name, t in tensors.items() if "lora_B" in name)


@pytest.mark.parametrize(
    ("ending", "at"),
    [(signal.SIGKILL, "0002/rollouts.jsonl"), (signal.SIGINT, "0002/rollouts.unfinished.jsonl")],
    ids=["killed while judging", "Ctrl-C while sampling"],
)
def test_ended_and_resumed_is_the_same_to_the_bit(data, trained, tmp_path, home, ending, at):
    """In the middle of the second slice; what is resumed equals the undisturbed run, and no group is sampled twice."""
    settings = json.dumps(SMALL)
    code = (
        "import json, sys; from pathlib import Path; import srlite; "
        f"srlite.train(Path({str(data / 'items.csv')!r}), Path({str(data / 'videos')!r}), run=Path({str(tmp_path / 'run')!r}), "
        f"preset='tiny', over=json.loads({settings!r}))"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "OMP_NUM_THREADS": "1"}, start_new_session=True, stderr=subprocess.PIPE
    )
    second = tmp_path / "run" / "rounds" / "001" / at
    deadline = time.monotonic() + 200
    while not second.exists() and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert second.exists()
    os.killpg(child.pid, ending)  # Ctrl-C on a terminal reaches the children, too
    child.stderr.read()
    assert child.wait() == -ending
    assert not Run(tmp_path / "run").finished
    assert second.exists()
    srlite.train(data / "items.csv", data / "videos", run=tmp_path / "run", resume=True)
    for name in (
        "adapter/adapter_model.safetensors",
        "rounds/001/0001/rollouts.jsonl",
        "rounds/001/0002/rewards.jsonl",
    ):
        assert (tmp_path / "run" / name).read_bytes() == (trained / name).read_bytes(), name
    last = [
        max((folder / "checkpoints").iterdir()).joinpath("optimiser.safetensors").read_bytes()
        for folder in (tmp_path / "run", trained)
    ]
    assert last[0] == last[1]
    assert [m.get("step") for m in Run(tmp_path / "run").metrics()] == [m.get("step") for m in Run(trained).metrics()]


def test_evaluate_puts_base_beside_adapted(data, trained):
    found = srlite.evaluate(data / "items.csv", data / "videos", run=trained, compare=["base"])
    document = json.loads((trained / "evaluation.json").read_text())
    assert document["schema"] == "srlite.evaluation/1" and document["demonstration"] is True
    assert set(document["arms"]) == {"base", "adapted"} == set(found.arms)
    for arm in document["arms"].values():
        counted = sum(
            sum(f[k] for k in ("tp", "fn", "fp", "tn", "unable_pass", "unable_fail", "unscored")) for f in arm["items"].values()
        )
        assert counted == arm["accuracy"]["n"] == document["flow"]["test_pairs"]
        assert arm["abstention"]["n"] == document["flow"]["unrelated_pairs"]
        assert 0 <= arm["truth"]["value"] <= 1


def test_a_run_of_other_models_is_refused(data, trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    lock = json.loads((tmp_path / "run" / "lock.json").read_text())
    (tmp_path / "run" / "lock.json").write_text(json.dumps(lock | {"judge_sha256": "0" * 64}))
    with pytest.raises(ModelError, match="judge_sha256"):
        list(srlite.assess([next((data / "videos").glob("*.mp4"))], "18_3", run=tmp_path / "run"))


def test_a_second_run_needs_neither_tower_nor_judge(data, trained, tmp_path, monkeypatch):
    """Frames, features and verdicts are content-addressed: the same data and seed cost no second call."""
    from srlite.records.dataset import read_dataset
    from srlite.training.job import settings_for, split_for
    from srlite.training.loop import train_run
    from srlite.training.progress import silent
    from srlite.training.run import begin
    from srlite.workbench import open_workbench

    monkeypatch.setenv("SRLITE_HOME", str(trained.parent / "home"))
    _, settings = settings_for("tiny", SMALL)
    dataset = read_dataset(data / "items.csv", data / "videos", None)
    split = split_for(dataset, settings)
    run = begin(tmp_path / "again", settings, dataset.catalogue, split)
    with open_workbench(settings, dataset.catalogue, videos=data / "videos", adapter=None) as bench:
        train_run(bench, run, split, tell=silent, deadline=None)
        assert bench.clips.decoded == 0
        assert bench.features.tower_calls == 0 and bench.features.hits > 0
        assert bench.judge.tokens_evaluated == 0 and bench.judge.cache_hits > 0
        assert bench.judge.worker_pid is None


def test_a_changed_clip_is_noticed_at_resume(data, trained, tmp_path, home):
    shutil.copytree(data, tmp_path / "data")
    shutil.copytree(trained, tmp_path / "run")
    clips = sorted((tmp_path / "data" / "videos").iterdir())
    clips[0].write_bytes(clips[1].read_bytes() + b"other")
    with pytest.raises(InputError, match=f"1 clips are other files.*{clips[0].name}"):
        srlite.train(tmp_path / "data" / "items.csv", tmp_path / "data" / "videos", run=tmp_path / "run", resume=True)


@contextmanager
def bench_of(data, run):
    """The workbench that a run's first slice was learnt from: a fresh adapter, the small clinic's clips."""
    from srlite.workbench import open_workbench

    folder = Run(run)
    with open_workbench(folder.settings(), folder.catalogue(), videos=data / "videos", adapter=None) as bench:
        yield bench


def learnt(data, run, portion, *, told):
    """The adapter's tensors after the run's first slice, learnt from in portions; and the update's figures."""
    from srlite.descriptor.load import trainable
    from srlite.training.update import optimiser_for, update_slice

    first = run / "rounds" / "001" / "0001"
    groups, rewards = read_groups(first / "rollouts.jsonl"), read_rewards(first / "rewards.jsonl")
    with bench_of(data, run) as bench:
        optimiser, quiet = optimiser_for(bench.descriptor, 1e-3), lambda done, total: None
        done = update_slice(bench, optimiser, groups, rewards, seed=1, portion=portion, tick=quiet, note=told.append)
        return {name: p.detach().clone() for name, p in trainable(bench.descriptor)}, done


def test_learning_in_portions_is_learning(data, trained, home):
    whole, figures = learnt(data, trained, 4, told=[])
    parts, of_parts = learnt(data, trained, 1, told=[])
    assert figures.steps == of_parts.steps > 0 and (figures.portion, of_parts.portion) == (4, 1)
    assert of_parts.kl == pytest.approx(figures.kl, abs=1e-3)
    assert of_parts.gradient_norm == pytest.approx(figures.gradient_norm, rel=1e-2)
    moved = sum(float(t.abs().sum()) for name, t in whole.items() if "lora_B" in name)
    apart = sum(float((t - parts[name]).abs().sum()) for name, t in whole.items() if "lora_B" in name)
    assert moved > 0 and apart < 0.05 * moved


def test_a_row_that_does_not_fit_into_memory_is_halved_and_remembered(data, trained, home, monkeypatch):
    """The card's refusal is made up; everything that follows from it is real."""
    import torch

    from srlite.training import update

    real, told = update.answer_logprobs, []

    def small_card(descriptor, read, completions):
        if len(completions) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
        return real(descriptor, read, completions)

    monkeypatch.setattr(update, "answer_logprobs", small_card)
    halved, figures = learnt(data, trained, 4, told=told)
    monkeypatch.undo()
    assert figures.portion == 2 and len(told) == 1 and "2 descriptions" in told[0]
    again, _ = learnt(data, trained, 2, told=[])
    assert all(torch.equal(halved[name], again[name]) for name in halved)


def test_a_row_of_samples_that_does_not_fit_into_memory_is_halved_and_remembered(data, trained, tmp_path, home, monkeypatch):
    """Each sample has its own seed, so that fewer at once say the same."""
    import torch

    from srlite.training import phases
    from srlite.training.schedule import Slice

    real, told, run = phases.sample, [], Run(tmp_path / "run")
    groups = read_groups(trained / "rounds" / "001" / "0001" / "rollouts.jsonl")

    def small_card(bench, asks):
        asks = list(asks)
        if sum(len(ask.seeds) for ask in asks) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
        return real(bench, asks)

    monkeypatch.setattr(phases, "sample", small_card)
    part = Slice(1, 1, 1, tuple(g.pair for g in groups), tuple(g.prompt for g in groups))
    with bench_of(data, trained) as bench:
        found = phases.sampled(bench, run, part, at_once=16, tick=lambda done, total: None, note=told.append)
    assert found.at_once == 2 and [text.split("from here on ")[1].split()[0] for text in told] == ["8", "4", "2"]
    words = lambda groups: [r.text for g in groups for r in g.rollouts]
    assert words(found.groups) == words(groups) == words(read_groups(run.slice_folder(1, 1) / "rollouts.jsonl"))
    assert found.tokens == sum(len(r.tokens) for g in groups for r in g.rollouts)


def test_no_token_goes_through_the_language_model_twice(data, trained, home):
    """Of a group: the prompt once and its descriptions once, in each of sampling, reference and update."""
    from srlite.describing import prepare, sample
    from srlite.descriptor.generate import Ask
    from srlite.descriptor.prompts import training_prompt
    from srlite.training import update

    group = read_groups(trained / "rounds" / "001" / "0001" / "rollouts.jsonl")[0]
    with bench_of(data, trained) as bench:
        pushed, tower = [], []
        core = bench.descriptor.core
        core.language_model.register_forward_hook(lambda m, a, output: pushed.append(output.last_hidden_state.shape[1]))
        core.visual.register_forward_hook(lambda m, a, output: tower.append(1))
        text = training_prompt(bench.catalogue[group.pair.item], group.pair.age_months, group.prompt)
        prompt, features, _, _ = prepare(bench, group.pair.clip, text)
        rollouts = sample(bench, [Ask(prompt, features, tuple(range(16)))])[0]
        group = replace(group, rollouts=rollouts)
        most = len(prompt.input_ids) + sum(len(r.tokens) for r in rollouts)
        by_phase = {"sample": sum(pushed)}
        rewards = [Reward(total=float(i % 2)) for i in range(16)]
        for portion in (16, 5):
            pushed.clear()
            signal = update._signal(bench, group, [1.0, -1.0] * 8, rewards, portion)
            by_phase[f"reference {portion}"] = sum(pushed)
            pushed.clear()
            update._backward(bench, signal, portion)
            by_phase[f"update {portion}"] = sum(pushed)
        assert all(0.9 * most < count <= most for count in by_phase.values()), (by_phase, most)
        assert len(tower) == 1


def test_every_clip_is_looked_at_once_and_beforehand(data, trained, home):
    from srlite.describing import look_at_all, prepare

    clips = sorted(p.name for p in (data / "videos").iterdir())
    with bench_of(data, trained) as bench:
        calls, ticks = [], []
        bench.descriptor.core.visual.register_forward_hook(lambda m, a, output: calls.append(1))
        assert look_at_all(bench, clips, tick=lambda done, total: ticks.append((done, total))) == len(clips) == len(calls)
        assert ticks[-1] == (len(clips), len(clips))
        assert look_at_all(bench, clips, tick=lambda done, total: None) == len(clips) == len(calls)
        prepare(bench, clips[0], "Whatever is asked.")
        assert len(calls) == len(clips) and bench.features.hits == 1


def test_looking_ends_where_nothing_more_is_kept(data, trained, home):
    from srlite.describing import look_at_all

    clips = sorted(p.name for p in (data / "videos").iterdir())
    with bench_of(data, trained) as bench:
        bench.features.max_bytes = 0
        assert look_at_all(bench, clips, tick=lambda done, total: None) == 0
        assert bench.features.tower_calls == 1


def test_a_clip_without_room_goes_through_the_tower_once_in_a_slice(data, trained, tmp_path, home):
    """For sampling, reference and two epochs of the update; and the weights are those of a run with room."""
    over = SMALL | {"cache": {"features_gb": 0.0}}
    calls = []
    done = srlite.train(data / "items.csv", data / "videos", run=tmp_path / "run", preset="tiny", over=over, tell=calls.append)
    assert done.complete
    name = "adapter/adapter_model.safetensors"
    assert (tmp_path / "run" / name).read_bytes() == (trained / name).read_bytes()
    assert any("the features of 0 of" in event.text for event in calls if isinstance(event, Note))
    learnt = [m for m in Run(tmp_path / "run").metrics() if "pairs" in m]
    assert all(0 < m["tower_calls"] <= m["pairs"] for m in learnt)
    assert not any(m["tower_calls"] for m in Run(trained).metrics() if "pairs" in m)
    assert not list((tmp_path / "run").rglob("features"))


def test_where_a_clip_does_not_fit_beside_its_text_training_is_refused(data, tmp_path, home):
    """Nothing is cut, and no run ends as if it had learnt."""
    shutil.copytree(BUNDLED / "descriptor", tmp_path / "short")
    config = json.loads((tmp_path / "short" / "config.json").read_text())
    config["text_config"]["max_position_embeddings"] = 150  # the clips take some 100, the texts 60 to 90
    (tmp_path / "short" / "config.json").write_text(json.dumps(config))
    models = {"descriptor": str(tmp_path / "short"), "judge": str(BUNDLED / "judge.gguf"), "device": "cpu"}
    with pytest.raises(InputError, match="the model takes 150"):
        srlite.train(data / "items.csv", data / "videos", run=tmp_path / "run", preset="tiny", over=SMALL | {"models": models})
    assert not list((tmp_path / "run").rglob("rollouts*"))


def test_a_folder_of_clips_that_goes_away_stops_the_run_and_bars_nothing(data, trained, tmp_path, home):
    from srlite.training.phases import sampled
    from srlite.training.schedule import Slice

    groups, run = read_groups(trained / "rounds" / "001" / "0001" / "rollouts.jsonl"), Run(tmp_path / "run")
    part = Slice(1, 1, 1, tuple(g.pair for g in groups), tuple(g.prompt for g in groups))
    quiet, told = lambda done, total: None, []
    with bench_of(tmp_path / "gone", trained) as bench, pytest.raises(InputError, match="none of the 6 pairs"):
        sampled(bench, run, part, at_once=16, tick=quiet, note=told.append)
    assert len(told) == 6 and not list(run.folder.rglob("rollouts.jsonl"))
    with bench_of(data, trained) as bench:
        assert len(sampled(bench, run, part, at_once=16, tick=quiet, note=told.append).groups) == 6
