"""The update on a real descriptor: groups without signal, the reference of the KL, gradients that are not finite."""

from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch

from srlite.descriptor.load import adapter_off, trainable
from srlite.training.rollouts import read_groups
from srlite.training.run import Run
from srlite.training.update import optimiser_for, update_slice
from srlite.types import Reward
from srlite.workbench import open_workbench


@pytest.fixture
def kept(trained, monkeypatch):
    """The caches of the trained run: its clips need neither decoding nor the tower."""
    monkeypatch.setenv("SRLITE_HOME", str(trained.parent / "home"))


@contextmanager
def bench_of(trained, data, *, adapter=None, **schedule):
    run = Run(trained)
    settings = run.settings()
    settings = settings.model_copy(update={"schedule": settings.schedule.model_copy(update=schedule)})
    with open_workbench(settings, run.catalogue(), videos=data / "videos", adapter=adapter) as bench:
        yield bench


@pytest.fixture
def groups(trained):
    """The first groups of the run, of four descriptions each."""
    return read_groups(trained / "rounds" / "001" / "0001" / "rollouts.jsonl")[:2]


def rewards(*groups):
    return [tuple(Reward(total=r) for r in group) for group in groups]


def updated(bench, groups, given):
    """The figures of an update and how far it moved the adapter."""
    optimiser, quiet = optimiser_for(bench.descriptor, 1e-3), lambda *anything: None
    before = [p.detach().clone() for _, p in trainable(bench.descriptor)]
    done = update_slice(bench, optimiser, groups, given, seed=1, portion=4, tick=quiet, note=quiet)
    after = [p.detach() for _, p in trainable(bench.descriptor)]
    assert all(bool(p.isfinite().all()) for p in after)
    return done, sum(float((a - b).abs().sum()) for a, b in zip(after, before, strict=True))


def test_groups_of_one_reward_are_counted_and_pull_nothing(trained, data, groups, kept):
    """[0 0 0 0 | 1 1 1 1]: each group is measured by itself, not with its neighbour. No pass through the model at all."""
    with bench_of(trained, data, adapter=trained / "adapter") as bench:
        bench.descriptor.core.language_model.register_forward_hook(lambda *a: pytest.fail("a forward pass"))
        done, moved = updated(bench, groups, rewards([0.0] * 4, [1.0] * 4))
        assert (done.zero_signal, done.steps, done.kl, moved) == (2, 0, None, 0.0)
        done, moved = updated(bench, groups, rewards([1.0, None, 1.0, 1.0], [None, None, None, 2.0]))
        assert (done.zero_signal, done.steps, moved) == (2, 0, 0.0)


def test_the_kl_is_0_at_the_first_step_and_not_under_a_trained_adapter(trained, data, groups, kept):
    """The proof that the pass with the adapter off is another model: only the base gives 0."""
    signal, one_step = rewards([0.0, 1.0, 2.0, 3.0], [1.0, 0.0, 0.0, 0.0]), dict(epochs=1, batch_pairs=2)
    with bench_of(trained, data, **one_step) as bench:
        fresh, moved = updated(bench, groups, signal)
    assert (fresh.steps, fresh.kl) == (1, pytest.approx(0.0, abs=1e-6)) and moved > 0
    with bench_of(trained, data, adapter=trained / "adapter", **one_step) as bench:
        learnt, _ = updated(bench, groups, signal)
        with adapter_off(bench.descriptor):
            assert all(p.requires_grad for _, p in trainable(bench.descriptor))
    assert learnt.steps == 1 and learnt.kl > 1e-4


def test_a_step_whose_gradient_is_not_finite_is_left_out_and_counted(trained, data, groups, kept):
    """The gradient of the second of four steps is spoilt on its way; the other steps are taken."""
    seen = []

    def spoil(gradient):
        seen.append(1)
        return gradient * float("nan") if len(seen) == 3 else gradient  # one for the answers, one for the prompt

    with bench_of(trained, data, epochs=2, batch_pairs=1) as bench:
        trainable(bench.descriptor)[-1][1].register_hook(spoil)
        done, moved = updated(bench, groups, rewards([0.0, 1.0, 2.0, 3.0], [1.0, 0.0, 0.0, 0.0]))
    assert (done.steps, done.skipped_steps) == (3, 1)
    assert moved > 0 and done.gradient_norm > 0


def test_log_probabilities_far_off_give_a_finite_step(trained, data, groups, kept):
    """As from a policy that has run away: log-ratios of a hundred, in both directions."""
    high = [replace(r, logprobs=tuple(p + 100 for p in r.logprobs)) for r in groups[0].rollouts]
    low = [replace(r, logprobs=tuple(p - 100 for p in r.logprobs)) for r in groups[1].rollouts]
    run_away = [replace(groups[0], rollouts=tuple(high)), replace(groups[1], rollouts=tuple(low))]
    with bench_of(trained, data, epochs=1, batch_pairs=2) as bench:
        done, _ = updated(bench, run_away, rewards([0.0, 1.0, 2.0, 3.0], [1.0, 0.0, 0.0, 0.0]))
    assert done.steps == 1 and torch.tensor([done.kl, done.gradient_norm]).isfinite().all()
