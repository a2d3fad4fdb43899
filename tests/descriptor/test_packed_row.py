"""Scoring and sampling against the ordinary way of transformers."""

from __future__ import annotations

import pytest
import torch

from srlite.descriptor.features import encode
from srlite.descriptor.generate import sample_group
from srlite.descriptor.inputs import build_prompt
from srlite.descriptor.load import adapter_off, checkpointing, trainable
from srlite.descriptor.logprobs import HEAD_NUMBERS, packed_logprobs
from srlite.errors import ModelError, UsageError

TEXT = "The child stands on one leg. Say briefly what is visible, and how long the foot stays up."
COMPLETIONS = ((5, 70, 71, 12, 258), (90, 91), (33,), (80, 81, 82, 83, 84, 85, 86, 256))
SAMPLING = dict(max_new_tokens=12, temperature=1.0, top_p=1.0)


def prepared(descriptor, clip):
    prompt = build_prompt(descriptor, clip, TEXT, system="You watch.")
    return prompt, encode(descriptor, prompt)


def ordinary_inputs(descriptor, prompt, completion=()):
    """The keyword arguments of a plain forward or generate, vision included."""
    ids = torch.cat([prompt.input_ids, torch.tensor(completion, dtype=torch.long)])[None]
    inputs = dict(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        pixel_values_videos=prompt.pixels,
        video_grid_thw=prompt.grid,
        mm_token_type_ids=(ids == descriptor.family.video_token).int() * 2,
    )
    if prompt.seconds_per_grid is not None:
        inputs["second_per_grid_ts"] = torch.tensor([prompt.seconds_per_grid])
    return inputs


def ordinary_logprobs(descriptor, prompt, completion):
    """Log-probabilities (T,) from a forward of one row, the vision tower run anew."""
    descriptor.core.rope_deltas = None
    logits = descriptor.model(**ordinary_inputs(descriptor, prompt, completion)).logits[0]
    logits = logits[len(prompt.input_ids) - 1 : -1].clone()
    logits[:, list(descriptor.family.forbidden)] = float("-inf")
    return logits.log_softmax(-1)[torch.arange(len(completion)), list(completion)]


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


def test_features_of_another_clip_are_refused(adapted, clip, make, family):
    prompt, _ = prepared(adapted, clip)
    short = build_prompt(adapted, make.noise(family, (0.0, 1.0), 1.5), TEXT, system=None)
    with pytest.raises(ModelError, match="placeholders"):
        packed_logprobs(adapted, prompt, encode(adapted, short), ((5,),))


def test_greedy_equals_generate(adapted, clip):
    prompt, features = prepared(adapted, clip)
    tokens = adapted.model.generate(
        **ordinary_inputs(adapted, prompt),
        do_sample=False,
        max_new_tokens=20,
        suppress_tokens=list(adapted.family.forbidden),
    )[0, len(prompt.input_ids) :]
    adapted.core.rope_deltas = torch.tensor([[1234]])  # what an earlier call leaves behind must not matter
    greedy = sample_group(adapted, prompt, features, count=1, max_new_tokens=20, temperature=0.0, top_p=1.0, generator=None)
    assert greedy[0].tokens == tuple(tokens.tolist())
    assert len(set(greedy[0].tokens)) > 3


def test_recorded_logprobs_are_the_scored_ones(adapted, clip):
    prompt, features = prepared(adapted, clip)
    rollouts = sample_group(
        adapted,
        prompt,
        features,
        count=8,
        generator=torch.Generator().manual_seed(1),
        **(SAMPLING | dict(temperature=1.3, top_p=0.9)),
    )
    with torch.no_grad():
        scored = packed_logprobs(adapted, prompt, features, tuple(r.tokens for r in rollouts))
    for rollout, row in zip(rollouts, scored, strict=True):
        torch.testing.assert_close(torch.tensor(rollout.logprobs), row, atol=1e-5, rtol=0)


def test_samples_follow_their_generator(adapted, clip):
    prompt, features = prepared(adapted, clip)

    def sample(seed, count):
        generator = torch.Generator().manual_seed(seed)
        rollouts = sample_group(adapted, prompt, features, count=count, generator=generator, **SAMPLING)
        return [r.tokens for r in rollouts]

    torch.manual_seed(5)
    first = sample(1, 6)
    torch.manual_seed(6)
    assert sample(1, 6) == first
    assert sample(2, 6) != first
    assert len(set(first)) == 6


def test_samples_follow_the_distribution(adapted, clip):
    prompt, features = prepared(adapted, clip)
    with torch.no_grad():
        logprobs = torch.cat(packed_logprobs(adapted, prompt, features, tuple((t,) for t in range(256))))
    likely = int(logprobs.argmax())
    rollouts = sample_group(
        adapted,
        prompt,
        features,
        count=2000,
        generator=torch.Generator().manual_seed(4),
        **(SAMPLING | dict(max_new_tokens=1)),
    )
    share = sum(r.tokens == (likely,) for r in rollouts) / 2000
    expected = float(logprobs[likely].exp())
    assert abs(share - expected) < 4 * (expected * (1 - expected) / 2000) ** 0.5
    narrow = sample_group(
        adapted,
        prompt,
        features,
        count=50,
        generator=torch.Generator().manual_seed(4),
        **(SAMPLING | dict(max_new_tokens=1, top_p=expected * 0.99)),
    )
    assert {r.tokens for r in narrow} == {(likely,)}


def test_no_special_token_is_sampled(adapted, clip):
    prompt, features = prepared(adapted, clip)
    with torch.no_grad():  # make everything that must not be written likely
        adapted.head.weight[list(adapted.family.forbidden)] *= 20
    rollouts = sample_group(
        adapted,
        prompt,
        features,
        count=200,
        generator=torch.Generator().manual_seed(2),
        **(SAMPLING | dict(max_new_tokens=6)),
    )
    written = {t for r in rollouts for t in r.tokens}
    assert not written & set(adapted.family.forbidden)
    assert adapted.family.video_token in adapted.family.forbidden


def test_settings_that_cannot_be_meant(adapted, clip):
    prompt, features = prepared(adapted, clip)
    for wrong in (
        dict(count=0),
        dict(top_p=0.0),
        dict(max_new_tokens=0),
        dict(temperature=-1.0),
        dict(temperature=0.0),
        dict(generator=None),
    ):
        settings = SAMPLING | dict(count=2, generator=torch.Generator()) | wrong
        with pytest.raises(UsageError):
            sample_group(adapted, prompt, features, **settings)


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
        sample_group(adapted, prompt, features, count=2, generator=torch.Generator(), **SAMPLING)
