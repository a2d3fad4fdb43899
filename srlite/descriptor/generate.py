"""Sample a group of descriptions from one prefill.

Contract: the prompt is read once; then the G samples decode as one row over the prompt's keys and values,
one token each a step, and a mask lets every sample see the prompt and itself only. A sample that ends
leaves the row. The log-probabilities that are recorded are those of `logprobs.packed_logprobs`: temperature
1, before top-p.
Left out: several pairs in one row, beam search.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from srlite.descriptor.features import Features
from srlite.descriptor.forward import next_logprobs, run_prompt, run_tokens
from srlite.descriptor.inputs import Prompt
from srlite.descriptor.load import Descriptor
from srlite.errors import UsageError
from srlite.types import Rollout

if TYPE_CHECKING:
    from transformers import Cache


@dataclass(frozen=True)
class Choice:
    """How a token is chosen. temperature 0 takes the likeliest; the generator lives on the CPU."""

    temperature: float
    top_p: float
    generator: torch.Generator | None


@dataclass
class _Sample:
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finished: bool = False


def sample_group(
    descriptor: Descriptor,
    prompt: Prompt,
    features: Features,
    *,
    count: int,
    max_new_tokens: int,
    temperature: float,
    top_p: float,
    generator: torch.Generator | None,
) -> tuple[Rollout, ...]:
    """Sample `count` descriptions of at most `max_new_tokens` tokens, the end of turn included.

    One draw of `generator` (on the CPU) is spent on each sample and step, whether the sample is alive or not:
    what a sample says does not depend on when the others end. It may be None at temperature 0.
    Raises UsageError for settings that cannot be meant, ModelError when the model's numbers are not finite.
    """
    choice = Choice(temperature, top_p, generator)
    _check(choice, count, max_new_tokens)
    with torch.no_grad(), _evaluating(descriptor):
        cache = _empty_cache()
        first = _prefill(descriptor, prompt, features, cache)
        samples = _decode(descriptor, prompt, cache, first.expand(count, -1), choice, max_new_tokens)
    return tuple(_rollout(descriptor, sample) for sample in samples)


def _empty_cache() -> Cache:
    from transformers import DynamicCache  # here, because the libraries must be put offline before

    return DynamicCache()


def _check(choice: Choice, count: int, max_new_tokens: int) -> None:
    if count < 1 or max_new_tokens < 1 or choice.temperature < 0 or not 0 < choice.top_p <= 1:
        raise UsageError(
            f"cannot sample {count} descriptions of {max_new_tokens} tokens "
            f"at temperature {choice.temperature} and top_p {choice.top_p}",
            remedy="Numbers must be 1 or more, temperature 0 or more, top_p above 0 and at most 1.",
        )
    if choice.temperature == 0 and count > 1:
        raise UsageError("at temperature 0 all samples are the same", remedy="Ask for one sample only.")
    if choice.temperature > 0 and choice.generator is None:
        raise UsageError("sampling needs a random generator", remedy="Pass a torch.Generator with a seed.")


@contextmanager
def _evaluating(descriptor: Descriptor) -> Iterator[None]:
    # in training mode gradient checkpointing would turn the cache off
    language = descriptor.core.language_model
    training = language.training
    language.eval()
    try:
        yield
    finally:
        language.train(training)


def _prefill(descriptor: Descriptor, prompt: Prompt, features: Features, cache: Cache) -> torch.Tensor:
    """Read the prompt into `cache`; log-probabilities (1, V) of an answer's first token."""
    length = len(prompt.input_ids)
    hidden = run_prompt(
        descriptor,
        prompt,
        features,
        ids=prompt.input_ids[:0],
        positions=prompt.positions,
        text_positions=torch.arange(length, device=descriptor.device),
        mask=None,
        cache=cache,
    )
    return next_logprobs(descriptor, hidden[-1:])


def _decode(
    descriptor: Descriptor,
    prompt: Prompt,
    cache: Cache,
    logprobs: torch.Tensor,
    choice: Choice,
    max_new_tokens: int,
) -> list[_Sample]:
    """Continue from the first token's log-probabilities (G, V) until every sample has ended or is cut off."""
    length, device = len(prompt.input_ids), descriptor.device
    samples = [_Sample() for _ in logprobs]
    alive = torch.arange(len(samples))  # (A,) numbers of the samples in the row
    owners = torch.empty(0, dtype=torch.long)  # (K - P,) whose token each entry of the cache is
    for step in range(max_new_tokens):
        tokens = _choose(logprobs, _draws(choice, len(samples))[alive].to(device), choice)  # (A,)
        chosen = logprobs.gather(1, tokens[:, None])[:, 0]
        tokens_A = tokens.tolist()
        _record(samples, alive.tolist(), tokens_A, chosen.tolist(), descriptor.family.ends)
        staying = [i for i, sample in enumerate(alive.tolist()) if not samples[sample].finished]
        if not staying or step + 1 == max_new_tokens:
            break
        alive = alive[staying]
        owners = torch.cat([owners, alive])
        hidden = run_tokens(
            descriptor,
            torch.tensor([tokens_A[i] for i in staying], device=device),
            position=prompt.next_position + step,
            text_position=length + step,
            mask=_row_mask(length, owners, alive).to(device),
            cache=cache,
        )
        logprobs = next_logprobs(descriptor, hidden)
    return samples


def _row_mask(length: int, owners: torch.Tensor, alive: torch.Tensor) -> torch.Tensor:
    """Bool (A, P + K): a sample sees the prompt and its own tokens, the newest included."""
    return torch.cat([torch.ones(len(alive), length, dtype=torch.bool), alive[:, None] == owners[None]], 1)


def _record(samples: list[_Sample], alive: list[int], tokens: list[int], logprobs: list[float], ends: tuple[int, ...]) -> None:
    for number, token, logprob in zip(alive, tokens, logprobs, strict=True):
        sample = samples[number]
        sample.tokens.append(token)
        sample.logprobs.append(logprob)
        sample.finished = token in ends


def _draws(choice: Choice, count: int) -> torch.Tensor:
    """One number from [0, 1) for each sample: float64 (G,)."""
    if choice.temperature == 0:
        return torch.zeros(count, dtype=torch.float64)
    return torch.rand(count, generator=choice.generator, dtype=torch.float64)


def _choose(logprobs: torch.Tensor, draws: torch.Tensor, choice: Choice) -> torch.Tensor:
    """Tokens (A,) from log-probabilities (A, V), by inverting the distribution function at draws (A,)."""
    if choice.temperature == 0:
        return logprobs.argmax(-1)
    probabilities = (logprobs.double() / choice.temperature).softmax(-1)
    if choice.top_p < 1:
        probabilities = _nucleus(probabilities, choice.top_p)
    sums = probabilities.cumsum(-1)
    # the first token whose sum exceeds the draw has a probability above zero
    return torch.searchsorted(sums, (draws * sums[:, -1])[:, None], right=True)[:, 0]


def _nucleus(probabilities: torch.Tensor, top_p: float) -> torch.Tensor:
    """Keep the likeliest tokens (A, V) until their sum reaches `top_p`, the one that reaches it included."""
    ordered, places = probabilities.sort(-1, descending=True)
    before = ordered.cumsum(-1) - ordered
    return torch.zeros_like(probabilities).scatter(-1, places, ordered.masked_fill(before >= top_p, 0.0))


def _rollout(descriptor: Descriptor, sample: _Sample) -> Rollout:
    written = sample.tokens[:-1] if sample.finished else sample.tokens
    text = descriptor.processor.tokenizer.decode(written, clean_up_tokenization_spaces=False)
    return Rollout(tuple(sample.tokens), tuple(sample.logprobs), text.strip(), sample.finished)
