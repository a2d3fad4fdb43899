"""From a pair to a description, from a description to a decision: the steps that every job shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from srlite.descriptor.features import Features, encode, tower_at_work
from srlite.descriptor.generate import Ask, sample_groups
from srlite.descriptor.inputs import Prompt, build_prompt
from srlite.descriptor.prompts import canonical_prompt
from srlite.device.halving import portions
from srlite.errors import InputError
from srlite.judge.client import Request
from srlite.judge.decision import decide
from srlite.judge.questions import QUESTIONS
from srlite.sizing import longest_request
from srlite.types import Decision, Frames, Item, Pair, Rollout, Verdicts
from srlite.workbench import Workbench

ALL_QUESTIONS = tuple(q.id for q in QUESTIONS)
PORTION = 16
Prepared = tuple[Prompt, Features, Frames, str]
"""What `prepare` gives."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is worth telling of the clip that was seen, without its pictures. `sha256`: None where these were changed."""

    sha256: str | None
    duration_s: float
    times_s: tuple[float, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Described:
    """A pair and the greedy description of it."""

    pair: Pair
    description: str
    tokens: int
    clip: Seen


@dataclass(frozen=True, slots=True)
class Decided:
    """A description judged. `decision` is None when a needed verdict is unscored."""

    pair: Pair
    description: str
    tokens: int
    verdicts: Verdicts
    decision: Decision | None


def prepare(bench: Workbench, clip: str, text: str) -> Prepared:
    """The model's input for one clip and request, its vision features, its frames, and the clip's SHA-256."""
    frames, sha256 = bench.clips.frames(bench.path(clip))
    return *put(bench, frames, sha256, text), frames, sha256


def put(bench: Workbench, frames: Frames, sha256: str, text: str) -> tuple[Prompt, Features]:
    """The model's input for frames that were read, of the clip with that SHA-256, and their vision features."""
    prompt = build_prompt(bench.descriptor, frames, text, system=None)
    return prompt, bench.features.features(bench.descriptor, prompt, clip_sha256=sha256)


def put_changed(bench: Workbench, frames: Frames, text: str) -> tuple[Prompt, Features]:
    """The same for frames that are no clip's own: what the tower sees of them is neither looked up nor kept."""
    prompt = build_prompt(bench.descriptor, frames, text, system=None)
    return prompt, encode(bench.descriptor, prompt)


def look_at_all(bench: Workbench, clips: Sequence[str], *, tick: Callable[[int, int], None]) -> int:
    """Run the vision tower over all clips, so that none runs later; how many are looked at, with their features kept.

    It ends at the first whose features find no room: the others are looked at anew whenever they are needed. Raises InputError
    when a clip and the longest of the items' texts are more than the model takes.
    """
    longest = longest_request(bench.catalogue)
    with tower_at_work(bench.descriptor):
        for done, clip in enumerate(clips):
            frames, sha256 = bench.clips.frames(bench.path(clip))
            if not bench.features.holds(bench.descriptor, frames, clip_sha256=sha256):
                before = bench.features.unkept
                put(bench, frames, sha256, longest)
                if bench.features.unkept > before:
                    return done
            tick(done + 1, len(clips))
    return len(clips)


def sample(bench: Workbench, asks: Iterable[Ask]) -> list[tuple[Rollout, ...]]:
    """Descriptions under the current adapter, one for each seed of each ask; the same seed gives the same description."""
    s = bench.settings.sampling
    return sample_groups(bench.descriptor, asks, max_new_tokens=s.max_new_tokens, temperature=s.temperature, top_p=s.top_p)


def describe(bench: Workbench, pair: Pair, text: str) -> Described:
    """The likeliest description of the pair's clip, asked with `text`. Raises InputError when the clip cannot be read."""
    return describe_prepared(bench, pair, prepare(bench, pair.clip, text))


def describe_prepared(bench: Workbench, pair: Pair, prepared: Prepared) -> Described:
    """The same, of what was prepared."""
    prompt, features, frames, sha256 = prepared
    return likeliest(bench, pair, prompt, features, seen_of(frames, sha256))


def seen_of(frames: Frames, sha256: str | None) -> Seen:
    return Seen(sha256, frames.duration_s, frames.times_s, frames.warnings)


def likeliest(bench: Workbench, pair: Pair, prompt: Prompt, features: Features, seen: Seen) -> Described:
    """The likeliest description under the present adapter.

    One at a time: in a longer row the last bits of the sums differ, and the same clip must read the same in every command.
    """
    most = bench.settings.sampling.max_new_tokens
    greedy = sample_groups(bench.descriptor, [Ask(prompt, features, (0,))], max_new_tokens=most, temperature=0.0, top_p=1.0)
    ((rollout,),) = greedy
    return Described(pair, rollout.text, len(rollout.tokens), seen)


def describe_all(
    bench: Workbench,
    pairs: Sequence[Pair],
    *,
    tick: Callable[[int, int], None],
    prompt: Callable[[Item, float | None], str] = canonical_prompt,
) -> tuple[list[Described], list[tuple[Pair, InputError]]]:
    """Each pair described under `prompt` (item, age in months), and the pairs whose clip could not be read, with the reason."""
    described, unreadable = [], []
    for done, pair in enumerate(pairs, start=1):
        try:
            described.append(describe(bench, pair, prompt(bench.catalogue[pair.item], pair.age_months)))
        except InputError as error:
            unreadable.append((pair, error))
        tick(done, len(pairs))
    return described, unreadable


def judged(bench: Workbench, described: Sequence[Described], *, at_once: int = PORTION) -> list[Decided]:
    """All six verdicts and the decision for each description, in the order given; the judge's turn (see verdicts_of)."""
    found = verdicts_of(bench, [(d.pair.item, d.description) for d in described], at_once=at_once)
    return [Decided(d.pair, d.description, d.tokens, v, decide(v)) for d, v in zip(described, found, strict=True)]


def verdicts_of(bench: Workbench, texts: Sequence[tuple[str, str]], *, at_once: int = PORTION) -> list[Verdicts]:
    """All six verdicts about each (item code, description), in the order given; the judge's turn.

    The judge is asked in portions of `at_once`, those of one item behind one another: its time limit is for one portion. In
    portions of 1 a verdict does not hang on what else is judged, to the last bit; an item's text is still read only once.
    """
    found: dict[int, Verdicts] = {}
    order = sorted(range(len(texts)), key=lambda i: texts[i][0])
    with bench.judges_turn():
        for portion in portions(order, at_once):
            asked = [Request(bench.catalogue[texts[i][0]], texts[i][1], ALL_QUESTIONS) for i in portion]
            found |= zip(portion, bench.judge.ask(asked), strict=True)
    return [found[i] for i in range(len(texts))]
