"""The row of samples: who is in it, what ends a sample, and what the tower is asked."""

from __future__ import annotations

import logging
import warnings

import pytest
import torch
from descriptor.ways import packed_logprobs, sampled

from srlite.descriptor.features import encode
from srlite.descriptor.inputs import build_prompt
from srlite.descriptor.load import checkpointing
from srlite.training.grpo import group_loss

TEXT = "Say what the child does."


def favour(descriptor, token, factor):
    with torch.no_grad():
        descriptor.head.weight[token] *= factor


def test_every_end_ends_a_sample(adapted, clip):
    tokenizer = adapted.processor.tokenizer
    ends = {tokenizer.convert_tokens_to_ids(t) for t in ("<|im_end|>", "<|endoftext|>")}
    assert set(adapted.family.ends) == ends
    prompt = build_prompt(adapted, clip, TEXT, system=None)
    features = encode(adapted, prompt)
    for end in ends:
        favour(adapted, end, 6)
    rollouts = sampled(adapted, prompt, features, count=60, most=14)
    assert {r.tokens[-1] for r in rollouts if r.finished} == ends
    for rollout in rollouts:
        assert not set(rollout.tokens[:-1]) & ends
        assert rollout.finished == (rollout.tokens[-1] in ends)
        assert len(rollout.tokens) == len(rollout.logprobs)
        assert rollout.finished or len(rollout.tokens) == 14
        assert "<|" not in rollout.text


def written_by_hand(descriptor, clip, script):
    """One sample whose tokens are those of `script`, for as long as it is asked for more."""
    asked = iter(script)

    def steer(module, args, logits):
        logits = logits.clone()
        logits[..., next(asked)] = 1e4
        return logits

    prompt = build_prompt(descriptor, clip, TEXT, system=None)
    features = encode(descriptor, prompt)
    hook = descriptor.head.register_forward_hook(steer)
    (rollout,) = sampled(descriptor, prompt, features, count=1, most=len(script))
    hook.remove()
    return prompt, features, rollout


@pytest.mark.parametrize(
    ("script", "counted", "finished"),
    [("ab1111", 3, True), ("a2bbbb", 2, True), ("abbbbb", 6, False), ("1aaaaa", 1, True), ("ab2", 3, True), ("aab", 3, False)],
)
def test_what_counts_is_up_to_the_first_end_of_any_kind(adapted, clip, script, counted, finished):
    """1 and 2: the two ends, of which one is the tokenizer's padding token too. Beyond them nothing is sampled or learnt."""
    tokenizer = adapted.processor.tokenizer
    ids = {"a": 7, "b": 8} | dict(zip("12", adapted.family.ends, strict=True))
    assert tokenizer.pad_token_id in adapted.family.ends
    prompt, features, rollout = written_by_hand(adapted, clip, [ids[letter] for letter in script])
    assert rollout.tokens == tuple(ids[letter] for letter in script[:counted])
    assert (rollout.finished, len(rollout.logprobs)) == (finished, counted)
    assert rollout.text == tokenizer.decode([ids[letter] for letter in script[:counted] if letter in "ab"]).strip()
    new = packed_logprobs(adapted, prompt, features, (rollout.tokens,))
    old = [row.detach() for row in new]
    loss = group_loss(new, old, old, [1.0], [True], group=1, clip=0.2, beta=0.0, ratio="token")
    assert loss.tokens == counted
    (pull,) = torch.autograd.grad(loss.loss, new)
    assert pull.tolist() == pytest.approx([-1 / counted] * counted)  # the end is learnt like every other token


def test_finished_samples_leave_the_row(adapted, clip):
    prompt = build_prompt(adapted, clip, TEXT, system=None)
    features = encode(adapted, prompt)
    for end in adapted.family.ends:
        favour(adapted, end, 2.5)
    widths = []
    hook = adapted.core.language_model.register_forward_hook(
        lambda module, args, output: widths.append(output.last_hidden_state.shape[1])
    )
    rollouts = sampled(adapted, prompt, features, count=30, most=14)
    hook.remove()
    lengths = [len(r.tokens) for r in rollouts]
    assert len(set(lengths)) > 2
    # step k reads the k-th token of those that have one more to say
    expected = [sum(length > k for length in lengths) for k in range(1, max(lengths))]
    assert widths == [len(prompt.input_ids), *expected]
    assert sum(widths) < len(prompt.input_ids) + sum(lengths)


def test_a_sample_does_not_depend_on_the_others(adapted, clip):
    prompt = build_prompt(adapted, clip, TEXT, system=None)
    features = encode(adapted, prompt)
    unhindered = sampled(adapted, prompt, features, count=12, most=14)
    shorter = sampled(adapted, prompt, features, count=12, most=5)
    assert [r.tokens[:5] for r in unhindered] == [r.tokens for r in shorter]


def test_the_tower_is_called_once(adapted, clip):
    calls = []
    adapted.core.visual.register_forward_hook(lambda module, args, output: calls.append(1))
    prompt = build_prompt(adapted, clip, TEXT, system=None)
    features = encode(adapted, prompt)
    sampled(adapted, prompt, features, count=12, most=14)
    assert len(calls) == 1
    assert not features.tokens.requires_grad


def test_checkpointing_does_not_change_the_text(adapted, clip):
    prompt = build_prompt(adapted, clip, TEXT, system=None)
    features = encode(adapted, prompt)
    before = sampled(adapted, prompt, features, count=12, most=14)
    with checkpointing(adapted):
        inside = sampled(adapted, prompt, features, count=12, most=14)
        assert adapted.core.language_model.training
    assert inside == before == sampled(adapted, prompt, features, count=12, most=14)


def test_checkpointing_keeps_the_short_way_and_is_quiet(adapted, clip, caplog):
    """Inside it a step still reads one token of each sample, 64 times, and no library complains while it does."""
    prompt = build_prompt(adapted, clip, TEXT, system=None)
    features = encode(adapted, prompt)
    with torch.no_grad():  # nobody ends early
        adapted.head.weight[list(adapted.family.ends)] *= -1
    widths = []
    hook = adapted.core.language_model.register_forward_hook(
        lambda module, args, output: widths.append(output.last_hidden_state.shape[1])
    )
    with checkpointing(adapted), warnings.catch_warnings(record=True) as warned, caplog.at_level(logging.WARNING):
        warnings.simplefilter("always")
        rollouts = sampled(adapted, prompt, features, count=2, most=64)
        hook.remove()
        sum(row.sum() for row in packed_logprobs(adapted, prompt, features, [r.tokens for r in rollouts])).backward()
    assert [w for w in widths if w > 2] == [len(prompt.input_ids)]
    assert len(widths) == max(len(r.tokens) for r in rollouts) > 32
    assert len(warned) + len(caplog.records) <= 1
