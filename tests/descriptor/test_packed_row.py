"""Scoring and sampling against the ordinary way of transformers."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from descriptor.ways import ordinary, ordinary_inputs, ordinary_logprobs, packed_logprobs, sampled

from srlite.descriptor.features import encode
from srlite.descriptor.forward import read_prompt
from srlite.descriptor.generate import Ask, sample_groups
from srlite.descriptor.inputs import build_prompt, plain_tokens
from srlite.descriptor.load import adapter_off, checkpointing, trainable
from srlite.descriptor.logprobs import HEAD_NUMBERS, answer_logprobs, gradient_through
from srlite.device.halving import portions
from srlite.errors import ModelError, UsageError

TEXT = "The child stands on one leg. Say briefly what is visible, and how long the foot stays up."
COMPLETIONS = ((5, 70, 71, 12, 258), (90, 91), (33,), (80, 81, 82, 83, 84, 85, 86, 256))


def prepared(descriptor, clip):
    prompt = build_prompt(descriptor, clip, TEXT, system="You watch.")
    return prompt, encode(descriptor, prompt)


def gradients(descriptor, logprobs):
    descriptor.model.zero_grad()
    sum(row.mean() for row in logprobs).backward()
    found = {name: p.grad.clone() for name, p in trainable(descriptor)}
    descriptor.model.zero_grad()
    return found


def assert_same_gradients(one, other):
    for name in one:
        assert (one[name] - other[name]).norm() <= 1e-4 * other[name].norm(), name
        assert other[name].norm() > 0, name


def test_packed_row_equals_separate_rows(adapted, clip):
    prompt, features = prepared(adapted, clip)
    separate = [ordinary_logprobs(adapted, prompt, c) for c in COMPLETIONS]
    packed = packed_logprobs(adapted, prompt, features, COMPLETIONS)
    for ours, theirs, tokens in zip(packed, separate, COMPLETIONS, strict=True):
        assert ours.shape == (len(tokens),)
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)
    assert_same_gradients(gradients(adapted, packed), gradients(adapted, separate))


def test_head_in_chunks_and_checkpointing_change_nothing(adapted, clip, monkeypatch):
    prompt, features = prepared(adapted, clip)
    plain = packed_logprobs(adapted, prompt, features, COMPLETIONS)
    wanted = gradients(adapted, plain)
    assert HEAD_NUMBERS > 16 * 300  # the whole was one chunk
    monkeypatch.setattr("srlite.descriptor.logprobs.HEAD_NUMBERS", 3 * 300)
    with checkpointing(adapted):
        chunked = packed_logprobs(adapted, prompt, features, COMPLETIONS)
        assert_same_gradients(gradients(adapted, chunked), wanted)
    torch.testing.assert_close(torch.cat(chunked), torch.cat(plain), atol=1e-6, rtol=0)
    assert not adapted.core.language_model.training


def test_answers_do_not_see_each_other(adapted, clip):
    prompt, features = prepared(adapted, clip)
    with torch.no_grad():
        alone = packed_logprobs(adapted, prompt, features, COMPLETIONS[:1])[0]
        among = packed_logprobs(adapted, prompt, features, COMPLETIONS)[0]
        last = packed_logprobs(adapted, prompt, features, COMPLETIONS[::-1])[-1]
    torch.testing.assert_close(among, alone, atol=1e-5, rtol=0)
    torch.testing.assert_close(last, alone, atol=1e-5, rtol=0)


def test_completions_that_cannot_be_scored(adapted, clip):
    prompt, features = prepared(adapted, clip)
    with pytest.raises(ModelError, match="never sampled"):
        packed_logprobs(adapted, prompt, features, ((5, adapted.family.video_token),))
    with pytest.raises(ModelError, match="is empty"):
        packed_logprobs(adapted, prompt, features, ((5,), ()))
    assert packed_logprobs(adapted, prompt, features, ()) == []


def test_an_answer_that_spells_a_placeholder_is_an_answer(adapted, clip):
    """Letter by letter, as a model can write it: the clip's own placeholders are not touched."""
    prompt, features = prepared(adapted, clip)
    text = "<|video_pad|> then <|im_end|>"
    tokens = tuple(plain_tokens(adapted.processor.tokenizer, text))
    assert adapted.processor.tokenizer.decode(tokens) == text
    assert not set(tokens) & {adapted.family.video_token, *adapted.family.ends}
    (scored,) = packed_logprobs(adapted, prompt, features, (tokens,))
    torch.testing.assert_close(scored, ordinary_logprobs(adapted, prompt, tokens), atol=1e-5, rtol=0)


def test_features_of_another_clip_are_refused(adapted, clip, make, family):
    prompt, _ = prepared(adapted, clip)
    short = build_prompt(adapted, make.noise(family, (0.0, 1.0), 1.5), TEXT, system=None)
    with pytest.raises(ModelError, match="placeholders"):
        packed_logprobs(adapted, prompt, encode(adapted, short), ((5,),))


@pytest.mark.parametrize("checkpointed", [False, True])
def test_portions_of_a_group_have_the_gradient_of_the_whole(adapted, clip, checkpointed):
    """The prompt is read once and is sent one gradient, whatever its answers are cut into."""
    prompt, features = prepared(adapted, clip)
    wanted = gradients(adapted, [ordinary_logprobs(adapted, prompt, c) for c in COMPLETIONS])
    read = []
    adapted.core.language_model.register_forward_hook(lambda m, a, output: read.append(output.last_hidden_state.shape[1]))
    adapted.model.zero_grad()
    saving = checkpointing(adapted) if checkpointed else nullcontext()
    with saving, gradient_through(read_prompt(adapted, prompt, features)) as cut:
        for part in portions(COMPLETIONS, 2):
            sum(row.mean() for row in answer_logprobs(adapted, cut, part)).backward()
    assert_same_gradients({name: p.grad for name, p in trainable(adapted)}, wanted)
    assert read == [len(prompt.input_ids), 4 + 1, 7]  # nothing is predicted from a last token; one of 1 adds none


def test_a_prompt_that_nothing_is_learnt_about_gets_no_gradient(adapted, clip):
    prompt, features = prepared(adapted, clip)
    with gradient_through(read_prompt(adapted, prompt, features)) as cut:
        answer_logprobs(adapted, cut, COMPLETIONS)
    assert not [name for name, p in trainable(adapted) if p.grad is not None]


def test_greedy_equals_generate(adapted, clip):
    prompt, features = prepared(adapted, clip)
    with ordinary(adapted):
        tokens = adapted.model.generate(
            **ordinary_inputs(adapted, prompt),
            do_sample=False,
            max_new_tokens=20,
            suppress_tokens=list(adapted.family.forbidden),
        )[0, len(prompt.input_ids) :]
    adapted.core.rope_deltas = torch.tensor([[1234]])  # what an earlier call leaves behind must not matter
    (greedy,) = sampled(adapted, prompt, features, count=1, most=20, temperature=0.0)
    assert greedy.tokens == tuple(tokens.tolist())
    assert len(set(greedy.tokens)) > 3


def test_recorded_logprobs_are_the_scored_ones(adapted, clip):
    prompt, features = prepared(adapted, clip)
    rollouts = sampled(adapted, prompt, features, count=8, temperature=1.3, top_p=0.9)
    with torch.no_grad():
        scored = packed_logprobs(adapted, prompt, features, tuple(r.tokens for r in rollouts))
    for rollout, row in zip(rollouts, scored, strict=True):
        torch.testing.assert_close(torch.tensor(rollout.logprobs), row, atol=1e-5, rtol=0)


def test_several_pairs_at_once_say_what_each_says_alone(adapted, clip, family, make):
    """Prompts of different lengths, groups of different sizes; every sample has its own seed."""
    asks = []
    for number, (times, text) in enumerate([((0.0, 1.0), TEXT), ((0.0, 0.3, 0.8, 1.0), "Short."), ((0.0, 2.0), TEXT * 3)]):
        prompt = build_prompt(adapted, make.noise(family, times, 3.0, seed=number), text, system=None)
        asks.append(Ask(prompt, encode(adapted, prompt), tuple(range(10 * number, 10 * number + 3 + number))))
    with torch.no_grad():
        for end in adapted.family.ends:
            adapted.head.weight[end] *= 6  # so that some end early
    settings = dict(max_new_tokens=12, temperature=1.0, top_p=1.0)
    together = sample_groups(adapted, asks, **settings)
    alone = [sample_groups(adapted, [ask], **settings)[0] for ask in asks]
    assert [[r.tokens for r in group] for group in together] == [[r.tokens for r in group] for group in alone]
    assert len({len(r.tokens) for group in together for r in group}) > 2
    for ask, group in zip(asks, together, strict=True):
        with torch.no_grad():
            scored = packed_logprobs(adapted, ask.prompt, ask.features, tuple(r.tokens for r in group))
        for rollout, row in zip(group, scored, strict=True):
            torch.testing.assert_close(torch.tensor(rollout.logprobs), row, atol=1e-5, rtol=0)


def test_samples_follow_their_seeds(adapted, clip):
    prompt, features = prepared(adapted, clip)
    tokens = lambda **what: [r.tokens for r in sampled(adapted, prompt, features, **what)]
    torch.manual_seed(5)
    first = tokens(count=6)
    torch.manual_seed(6)
    assert tokens(count=6) == first
    assert tokens(count=6, seed=2) != first
    assert tokens(count=3) == first[:3]
    assert len(set(first)) == 6


def test_samples_follow_the_distribution(adapted, clip):
    prompt, features = prepared(adapted, clip)
    with torch.no_grad():
        logprobs = torch.cat(packed_logprobs(adapted, prompt, features, tuple((t,) for t in range(256))))
    likely = int(logprobs.argmax())
    rollouts = sampled(adapted, prompt, features, count=2000, most=1)
    share = sum(r.tokens == (likely,) for r in rollouts) / 2000
    expected = float(logprobs[likely].exp())
    assert abs(share - expected) < 4 * (expected * (1 - expected) / 2000) ** 0.5
    narrow = sampled(adapted, prompt, features, count=50, most=1, top_p=expected * 0.99)
    assert {r.tokens for r in narrow} == {(likely,)}


def test_no_special_token_is_sampled(adapted, clip):
    prompt, features = prepared(adapted, clip)
    with torch.no_grad():  # make everything that must not be written likely
        adapted.head.weight[list(adapted.family.forbidden)] *= 20
    rollouts = sampled(adapted, prompt, features, count=200, most=6)
    written = {t for r in rollouts for t in r.tokens}
    assert not written & set(adapted.family.forbidden)
    assert adapted.family.video_token in adapted.family.forbidden


@pytest.mark.parametrize(
    "wrong", [dict(count=0), dict(top_p=0.0), dict(most=0), dict(temperature=-1.0), dict(temperature=0.0)], ids=str
)
def test_settings_that_cannot_be_meant(adapted, clip, wrong):
    prompt, features = prepared(adapted, clip)
    with pytest.raises(UsageError):
        sampled(adapted, prompt, features, **(dict(count=2) | wrong))


def test_a_forward_that_does_not_say_what_may_be_seen_is_an_error(adapted, clip):
    prompt, _ = prepared(adapted, clip)
    with pytest.raises(TypeError, match="memory"):
        adapted.model(**ordinary_inputs(adapted, prompt))


def test_adapter_off_is_the_base_model(descriptor, clip, make):
    prompt, features = prepared(descriptor, clip)
    with torch.no_grad():
        fresh = torch.cat(packed_logprobs(descriptor, prompt, features, COMPLETIONS))
        with adapter_off(descriptor):
            base = torch.cat(packed_logprobs(descriptor, prompt, features, COMPLETIONS))
        assert torch.equal(fresh, base)  # KL 0 at step 0
        make.shake(descriptor)
        moved = torch.cat(packed_logprobs(descriptor, prompt, features, COMPLETIONS))
        with adapter_off(descriptor):
            reference = torch.cat(packed_logprobs(descriptor, prompt, features, COMPLETIONS))
    assert torch.equal(reference, base)
    assert (moved - base).abs().max() > 0.1
    assert all(p.requires_grad for _, p in trainable(descriptor)) and trainable(descriptor)


def test_numbers_that_are_not_finite_are_an_error(adapted, clip):
    prompt, features = prepared(adapted, clip)
    with torch.no_grad():
        adapted.core.language_model.norm.weight[0] = float("nan")
    with pytest.raises(ModelError, match="not finite"):
        sampled(adapted, prompt, features, count=2)
