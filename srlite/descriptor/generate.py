"""Sample descriptions, a group from one reading of its prompt, several groups at once.

Contract: each prompt is read once; then all samples decode as one row, one token each a step, over their prompts' keys and
values. A sample that ends leaves the row, and nothing is padded. The log-probabilities recorded are those of
`logprobs.answer_logprobs`: temperature 1, before top-p. A sample's chances are drawn beforehand from its own seed: what it
says does not depend on which samples are beside it (but for the last bits of the sums, which follow the row's length).
Left out: beam search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

from srlite.descriptor.attention import Decoding, Strand
from srlite.descriptor.features import Features
from srlite.descriptor.forward import next_logprobs, read_prompt, run_answers
from srlite.descriptor.inputs import Prompt
from srlite.descriptor.load import Descriptor
from srlite.errors import UsageError
from srlite.types import Rollout


@dataclass(frozen=True)
class Ask:
    """What is to be described, and a seed for each description wanted of it."""

    prompt: Prompt
    features: Features
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Choice:
    """How a token is chosen. temperature 0 takes the likeliest."""

    temperature: float
    top_p: float


@dataclass
class _Sample:
    start: int
    """Position of its first token."""
    draws: torch.Tensor
    """float64 (most tokens,) from [0, 1), one for each token."""
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finished: bool = False


@dataclass(frozen=True)
class _Group:
    """A prompt that was read, and its samples, which have said nothing yet. last: (1, hidden), of the prompt's last token."""

    strand: Strand
    last: torch.Tensor
    samples: list[_Sample]


def sample_groups(
    descriptor: Descriptor, asks: Iterable[Ask], *, max_new_tokens: int, temperature: float, top_p: float
) -> list[tuple[Rollout, ...]]:
    """Sample the descriptions of each ask, of at most `max_new_tokens` tokens, the end of turn included.

    Raises UsageError for settings that cannot be meant, ModelError when the model's numbers are not finite.
    """
    choice = Choice(temperature, top_p)
    _check(choice, max_new_tokens)
    with torch.no_grad(), _evaluating(descriptor):
        groups = [_begun(descriptor, ask, choice, max_new_tokens) for ask in asks]
        _decode(descriptor, groups, choice, max_new_tokens)
    return [tuple(_rollout(descriptor, sample) for sample in group.samples) for group in groups]


def _check(choice: Choice, max_new_tokens: int) -> None:
    if max_new_tokens < 1 or choice.temperature < 0 or not 0 < choice.top_p <= 1:
        raise UsageError(
            f"cannot sample {max_new_tokens} tokens at temperature {choice.temperature} and top_p {choice.top_p}",
            remedy="Numbers must be 1 or more, temperature 0 or more, top_p above 0 and at most 1.",
        )


@contextmanager
def _evaluating(descriptor: Descriptor) -> Iterator[None]:
    # in training mode, with gradient checkpointing on, layers would be prepared for a backward pass
    language = descriptor.core.language_model
    training = language.training
    language.eval()
    try:
        yield
    finally:
        language.train(training)


def _begun(descriptor: Descriptor, ask: Ask, choice: Choice, max_new_tokens: int) -> _Group:
    if not ask.seeds or (choice.temperature == 0 and len(ask.seeds) > 1):
        remedy = "Ask for one description at temperature 0, where all are the same, and for one or more above it."
        raise UsageError(f"cannot sample {len(ask.seeds)} descriptions at temperature {choice.temperature}", remedy=remedy)
    read = read_prompt(descriptor, ask.prompt, ask.features)
    strand = Strand(read.kept, len(ask.seeds) * (max_new_tokens - 1))  # has a copy of its own of what was kept
    samples = [_Sample(read.next_position, _draws(seed, max_new_tokens)) for seed in ask.seeds]
    return _Group(strand, read.last.clone(), samples)  # a view would hold all of the prompt's hidden states


def _draws(seed: int, count: int) -> torch.Tensor:
    """On the CPU, so that a card of another make draws the same."""
    return torch.rand(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _decode(descriptor: Descriptor, groups: list[_Group], choice: Choice, max_new_tokens: int) -> None:
    """Let every sample say its tokens, until all have ended or are cut off."""
    samples = [sample for group in groups for sample in group.samples]
    memory = Decoding([g.strand for g in groups], [len(g.samples) for g in groups])
    hidden = torch.cat([g.last.expand(len(g.samples), -1) for g in groups])  # (A, hidden)
    alive = list(range(len(samples)))
    for step in range(max_new_tokens):
        logprobs = next_logprobs(descriptor, hidden)  # (A, V)
        draws = torch.stack([samples[i].draws[step] for i in alive]).to(descriptor.device)
        tokens = _choose(logprobs, draws, choice)  # (A,)
        _record([samples[i] for i in alive], tokens, logprobs, descriptor.family.ends)
        alive = [i for i in alive if not samples[i].finished]
        if not alive or step + 1 == max_new_tokens:
            break
        hidden = _step(descriptor, memory, samples, alive, step)


def _step(descriptor: Descriptor, memory: Decoding, samples: list[_Sample], alive: list[int], step: int) -> torch.Tensor:
    """Run the newest token of each sample alive: hidden states (A, hidden)."""
    memory.admit(torch.tensor(alive))
    newest = torch.tensor([samples[i].tokens[-1] for i in alive], device=descriptor.device)
    positions = torch.tensor([samples[i].start + step for i in alive], device=descriptor.device)
    return run_answers(descriptor, newest, positions, memory)


def _record(samples: list[_Sample], tokens: torch.Tensor, logprobs: torch.Tensor, ends: tuple[int, ...]) -> None:
    chosen = logprobs.gather(1, tokens[:, None])[:, 0].tolist()
    for sample, token, logprob in zip(samples, tokens.tolist(), chosen, strict=True):
        sample.tokens.append(token)
        sample.logprobs.append(logprob)
        sample.finished = token in ends


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
