"""The row of samples: who is in it, what ends a sample, and what the tower is asked."""

from __future__ import annotations

import torch
from descriptor.ways import sampled

from srlite.descriptor.features import encode
from srlite.descriptor.inputs import build_prompt
from srlite.descriptor.load import checkpointing

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
