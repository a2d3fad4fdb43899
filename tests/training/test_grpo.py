"""The mathematics of GRPO: advantages, ratios, clipping, the k3 estimator."""

import math

import pytest
import torch

from srlite.training.grpo import advantages, group_loss

DELTA = 1e-4


def loss_of(new, old, reference, given, scored=None, clip=0.2, beta=0.04, ratio="token"):
    known = scored or [True] * len(new)
    return group_loss(new, old, reference, given, known, group=len(new), clip=clip, beta=beta, ratio=ratio)


def test_advantages_are_standardised_with_ddof_0():
    found = advantages([1.0, 2.0, 3.0, 3.0], DELTA)
    mean, std = 2.25, math.sqrt(((1.25**2) + 0.25**2 + 2 * 0.75**2) / 4)
    assert found == pytest.approx([(r - mean) / (std + DELTA) for r in (1, 2, 3, 3)])
    assert sum(found) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("rewards", [[1.0] * 4, [0.1, 0.1 + 1e-10, 0.1, 0.1], [2.0], [None, 3.0], [None, None]])
def test_a_group_without_signal_has_advantage_0(rewards):
    assert advantages(rewards, DELTA) == [0.0] * len(rewards)


def test_tiny_differences_are_not_blown_up():
    assert max(map(abs, advantages([0.1, 0.1 + 2e-9, 0.1, 0.1], DELTA))) < 1e-4


def test_unscored_descriptions_are_out_of_the_baseline():
    found = advantages([1.0, None, 3.0], DELTA)
    assert found[1] == 0.0
    assert [found[0], found[2]] == pytest.approx(advantages([1.0, 3.0], DELTA))


def test_each_group_is_normalised_by_itself():
    assert advantages([0.0] * 4, DELTA) == [0.0] * 4 == advantages([1.0] * 4, DELTA)


def test_at_the_first_step_the_loss_is_minus_the_mean_advantage_and_kl_is_0():
    new = [torch.tensor([-1.0, -2.0], requires_grad=True), torch.tensor([-0.5], requires_grad=True)]
    same = [t.detach().clone() for t in new]
    found = loss_of(new, same, same, [0.7, -0.4])
    assert found.loss.item() == pytest.approx(-(0.7 - 0.4) / 2)
    assert found.kl == pytest.approx(0.0) and found.clipped == 0.0


def test_the_gradient_is_that_of_the_policy_gradient():
    new = [torch.tensor([-1.0, -2.0], requires_grad=True)]
    loss_of(new, [new[0].detach()], [new[0].detach()], [0.7]).loss.backward()
    assert new[0].grad.tolist() == pytest.approx([-0.35, -0.35])  # mean over tokens, ratio 1


def test_a_ratio_outside_the_clip_range_gives_no_gradient():
    new = [torch.tensor([0.0], requires_grad=True)]
    found = loss_of(new, [torch.tensor([-1.0])], [torch.tensor([0.0])], [1.0])
    found.loss.backward()
    assert found.loss.item() == pytest.approx(-1.2)
    assert new[0].grad.item() == pytest.approx(0.0)
    assert found.clipped == 1.0


def test_a_harmful_ratio_is_not_clipped():
    new = [torch.tensor([0.0], requires_grad=True)]
    found = loss_of(new, [torch.tensor([-1.0])], [torch.tensor([0.0])], [-1.0])
    assert found.loss.item() == pytest.approx(math.e)
    assert found.clipped == 0.0


def test_k3_matches_its_formula():
    new, reference = torch.tensor([-1.0, -2.0]), torch.tensor([-1.5, -1.0])
    found = loss_of([new], [new], [reference], [0.0], beta=1.0)
    k3 = [math.exp(d) - d - 1 for d in (-0.5, 1.0)]
    assert found.kl == pytest.approx(sum(k3)) and found.tokens == 2
    assert found.loss.item() == pytest.approx(sum(k3) / 2)


def test_a_log_ratio_of_100_stays_finite():
    found = loss_of([torch.tensor([0.0])], [torch.tensor([-100.0])], [torch.tensor([100.0])], [1.0])
    assert math.isfinite(found.loss.item()) and math.isfinite(found.kl)


def test_sequence_ratio_is_the_geometric_mean_over_tokens():
    new, old = torch.tensor([0.1, -0.3]), torch.tensor([0.0, 0.0])
    found = loss_of([new], [old], [new], [1.0], ratio="sequence")
    assert found.loss.item() == pytest.approx(-math.exp(-0.1))


def test_unscored_descriptions_leave_the_loss_but_not_the_divisor():
    one, two = torch.tensor([-1.0]), torch.tensor([-3.0])
    found = loss_of([one, two], [one, two], [one, two], [1.0, 0.0], scored=[True, False])
    assert found.loss.item() == pytest.approx(-0.5)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_losses_of_portions_add_up_to_that_of_the_group(size):
    torch.manual_seed(0)
    make = lambda: [torch.randn(n) - 2 for n in (3, 1, 4, 2, 5)]  # noqa: E731
    new, old, reference, given = make(), make(), make(), [0.5, -1.2, 0.0, 1.1, -0.4]
    scored, fixed = [True, True, False, True, True], dict(group=5, clip=0.2, beta=0.04, ratio="token")
    whole = group_loss(new, old, reference, given, scored, **fixed)
    cuts = [slice(i, i + size) for i in range(0, 5, size)]
    parts = [group_loss(new[c], old[c], reference[c], given[c], scored[c], **fixed) for c in cuts]
    assert sum(p.loss.item() for p in parts if p.loss is not None) == pytest.approx(whole.loss.item(), rel=1e-5)
    assert sum(p.kl for p in parts) == pytest.approx(whole.kl, rel=1e-5)
    assert sum(p.tokens for p in parts) == whole.tokens == 11 and sum(p.clipped for p in parts) == whole.clipped
