"""The judge as the rest of srlite sees it: put yes/no questions about descriptions, get verdicts.

Contract, in the order in which it is applied to each question:

    a description without one letter or digit   no to every question, by rule: `""` and `":"` say nothing
    in the verdict cache                        as it was judged then; thresholds are those of now
    otherwise                                   judged by a worker process, started when first needed and kept
    does not fit into the window                unscored, and not cached: a larger window may hold it

Within one `ask`, all descriptions of an item are evaluated together (identical ones once) and committed to
the cache together. So call it once per group, groups of one item behind one another: the item's scaffold
stays evaluated between calls.

Before a worker is trusted, and again on `check`, it has to decide the canaries rightly (canaries.py); they are never cached.

A worker that dies by a signal is started again once, with llama.cpp's repacking of weights off (on some
processors it picks instructions that kill the process); `notes` says so. Ctrl-C ends the worker with the
call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from srlite.errors import DeviceError, ModelError
from srlite.files import file_sha256
from srlite.judge import canaries
from srlite.judge.answers import Bands, Masses, verdict
from srlite.judge.cache import VerdictCache, verdict_key
from srlite.judge.child import Child, ChildDied, ChildTooSlow
from srlite.judge.header import check_header
from srlite.judge.questions import CANONICAL, QUESTIONS, Texts
from srlite.judge.scaffold import Family, Segment
from srlite.judge.sheets import Form
from srlite.judge.wire import Failed, Load, Loaded, Message, Scored
from srlite.types import Item, Verdict, Verdicts

_LEAST_SEQUENCES = 2 + len(QUESTIONS)  # the prefix, a description, its questions
_MOST_SEQUENCES = 256
_CURES = {
    "SIGILL": "llama.cpp was built for another processor: reinstall it with "
    'CMAKE_ARGS="-DGGML_NATIVE=OFF" pip install --force-reinstall --no-binary :all: llama-cpp-python',
    "SIGKILL": "The system probably ran out of memory: close other programs, or choose a smaller judge.",
    "SIGABRT": "Memory was probably not enough: put fewer layers on the card, or choose a smaller judge.",
}
_OTHER_CURE = "Run `srlite doctor`; choose another judge, or no layers on the card, if it happens again."


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Which judge, and what it may use.

    sha256: of the file, 64 hex digits, or None to have it computed. family: a name known to scaffold.family_named, or None:
    that of the file's architecture. threads: CPU threads of the worker. n_ctx: tokens of the window; n_batch: tokens of a
    decode call; n_seq_max: branches at once (8 to 256, at most n_batch). bands: by question id, one for each of the six;
    judges lean differently from question to question. gpu_layers: layers on the card (0 none, -1 all). extra_buffers:
    llama.cpp may repack weights. time_limit_s: for one answer of the worker (all descriptions of an item in one `ask`), and
    for loading. canaries: refuse a judge that decides them wrongly. thought: most tokens that the judge writes before it is
    asked (sheets.py); 0 asks directly. texts: other wordings, for trying out.
    """

    path: Path
    sha256: str | None
    family: str | None
    threads: int
    n_ctx: int
    n_batch: int
    n_seq_max: int
    gpu_layers: int
    extra_buffers: bool
    bands: Mapping[str, Bands]
    time_limit_s: float
    canaries: bool
    thought: int = 0
    texts: Texts = CANONICAL

    def __post_init__(self) -> None:
        most = min(_MOST_SEQUENCES, self.n_batch)  # llama.cpp's own limits
        if not _LEAST_SEQUENCES <= self.n_seq_max <= most:
            raise ValueError(f"n_seq_max is {self.n_seq_max}; {_LEAST_SEQUENCES} to {most} are possible")
        if set(self.bands) != {q.id for q in QUESTIONS}:
            raise ValueError(f"judge bands are needed for each question, not for {sorted(self.bands)}")
        if min(self.threads, self.n_ctx, self.n_batch) < 1 or self.time_limit_s <= 0 or self.thought < 0:
            raise ValueError(f"judge settings out of range: {self}")

    @property
    def thresholds(self) -> dict[str, float]:
        """Question id -> least probability of yes that is a yes."""
        return {question: bands.threshold for question, bands in self.bands.items()}


@dataclass(frozen=True, slots=True)
class Request:
    """Ids of questions (questions.QUESTIONS) about one description of an item."""

    item: Item
    description: str
    questions: tuple[str, ...]


class Judge:
    """Use as a context manager, from one thread; leaving it ends the worker and frees its memory.

    Raises ModelError at once when the file cannot be a judge of the family (header.check_header) or the
    family is unknown.
    """

    def __init__(self, settings: JudgeSettings, cache: VerdictCache | None):
        self.settings = settings
        self._form = Form(check_header(settings.path, settings.family), settings.thought, settings.texts)
        self.sha256: str = settings.sha256 or file_sha256(settings.path)
        self._cache = cache
        self._child: Child | None = None
        self._extra_buffers = settings.extra_buffers
        self._restarted = False
        self._notes: list[str] = []
        self.cache_hits = 0
        """Verdicts found in the cache, since this judge was made."""
        self.tokens_evaluated = 0
        """By the worker, since this judge was made."""

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know: a restart, a card that is not used, a cache set aside."""
        return (*self._notes, *(self._cache.notes if self._cache else ()))

    @property
    def worker_pid(self) -> int | None:
        """Process id of the worker; None while there is none."""
        return self._child.pid if self._child else None

    def close(self) -> None:
        """End the worker. A later `ask` starts a new one."""
        child, self._child = self._child, None
        if child:
            child.close()

    def check(self) -> None:
        """Put the canaries to the worker, where there is one. Raises ModelError when it decides one wrongly, DeviceError."""
        if self._child:
            with self._gone_when_it_fails():
                self._check(self._child)

    @property
    def family(self) -> Family:
        return self._form.family

    def put(self, message: Message, *, where: Item) -> Message:
        """The worker's answer to a message about an item, of any kind; nothing is cached. Raises as `ask` does."""
        answer = self._with_one_restart(message)
        if isinstance(answer, Failed):
            self.close()  # what its memory holds is no longer known
            raise DeviceError(
                f"the judge could not answer: {answer.message}",
                where=f"item {where.code}",
                remedy="Give the judge a larger window (n_ctx), or shorten the item's text.",
            )
        return answer

    def ask(self, requests: Sequence[Request]) -> list[Verdicts]:
        """The verdicts of each request, by question id.

        Raises DeviceError when the worker dies twice, is too slow or runs out of room; ModelError when
        llama.cpp refuses the file; KeyError for an unknown question id. Nothing is skipped: a verdict is
        there for every question asked.
        """
        keys = {self._key(r, q): (r, q) for r in requests if _has_words(r.description) for q in r.questions}
        known: dict[str, Masses | None] = dict(self._cache.get(keys)) if self._cache else {}
        self.cache_hits += len(known)
        missing: dict[tuple[Segment, ...], dict[str, tuple[Request, str]]] = {}
        for key, (request, question_id) in keys.items():
            if key not in known:
                missing.setdefault(self._form.prefix(request.item), {})[key] = (request, question_id)
        for prefix, asked in missing.items():
            known |= self._evaluate(prefix, asked)
        return [{q: self._verdict(r, q, known) for q in r.questions} for r in requests]

    def _verdict(self, request: Request, question_id: str, known: dict[str, Masses | None]) -> Verdict:
        if not _has_words(request.description):
            return Verdict("no", 0.0, 1.0)
        return verdict(known[self._key(request, question_id)], self.settings.bands[question_id])

    def _key(self, request: Request, question_id: str) -> str:
        return verdict_key(self.sha256, self._form.family.name, self._form.read(request.item, request.description, question_id))

    def _evaluate(self, prefix: tuple[Segment, ...], asked: dict[str, tuple[Request, str]]) -> dict[str, Masses | None]:
        """Judge what shares a prefix, and commit it. Key -> masses."""
        by_description: dict[str, list[tuple[str, str]]] = {}
        # Always in the same order: quantised weights answer a little differently in other company (by 0.01 of probability).
        for key, (request, question_id) in sorted(asked.items(), key=lambda entry: (entry[1][0].description, entry[1][1])):
            by_description.setdefault(request.description, []).append((key, question_id))
        message = self._form.score(prefix, ((text, [q for _, q in pairs]) for text, pairs in by_description.items()))
        scored = self.put(message, where=next(iter(asked.values()))[0].item)
        assert isinstance(scored, Scored)
        self.tokens_evaluated += scored.evaluated
        keys = [[key for key, _ in pairs] for pairs in by_description.values()]
        found = {
            key: masses
            for row, answers in zip(keys, scored.masses, strict=True)
            for key, masses in zip(row, answers, strict=True)
        }
        if self._cache:
            self._cache.put({key: masses for key, masses in found.items() if masses is not None})
        return found

    def _with_one_restart(self, message: Message) -> Message:
        try:
            return self._exchange(message)
        except ChildDied as death:
            if death.signal_name is None or self._restarted:
                raise self._dead(death) from death
            self._restarted = True
            self._extra_buffers = False
            self._notes.append(f"the judge process died by {death.signal_name} and was started again without repacking")
        try:
            return self._exchange(message)
        except ChildDied as death:
            raise self._dead(death) from death

    def _exchange(self, message: Message) -> Message:
        """The worker's answer; it is started if there is none."""
        with self._gone_when_it_fails():
            if self._child is None:
                self._child = Child(self.settings.threads)
                self._load(self._child)
                if self.settings.canaries:
                    self._check(self._child)
            return self._child.exchange(message, self.settings.time_limit_s)

    @contextmanager
    def _gone_when_it_fails(self) -> Iterator[None]:
        """When anything goes wrong, no worker is left."""
        try:
            yield
        except ChildTooSlow as slow:
            self.close()
            raise DeviceError(
                f"the judge did not answer within {self.settings.time_limit_s:g} seconds and was stopped",
                where=str(self.settings.path),
                remedy="Raise the judge's time limit, give it more threads, or choose a smaller judge.",
            ) from slow
        except BaseException:
            self.close()
            raise

    def _check(self, child: Child) -> None:
        """Raises ModelError when the judge decides a canary wrongly."""
        answer = child.exchange(canaries.message(self._form), self.settings.time_limit_s)
        if isinstance(answer, Failed):
            raise DeviceError(f"the judge could not answer: {answer.message}", where=str(self.settings.path))
        if found := canaries.wrong(answer.masses, self.settings.bands):
            known = len(canaries.CANARIES)
            raise ModelError(
                f"the judge decides {len(found)} of {known} descriptions wrongly whose decision is known: {'; '.join(found)}",
                where=str(self.settings.path),
                remedy="Use another judge, or thresholds that suit it (judge.thresholds); judge.canaries = false does without.",
            )

    def _load(self, child: Child) -> None:
        s = self.settings
        markers = self.family.needed_tokens
        load = Load(str(s.path), markers, s.n_ctx, s.n_batch, s.n_seq_max, s.threads, s.gpu_layers, self._extra_buffers)
        answer = child.exchange(load, s.time_limit_s)
        if isinstance(answer, Failed):
            raise ModelError(
                f"{answer.message}{_log_note(child.log_tail())}",
                where=str(s.path),
                remedy="Choose another judge, a smaller window (n_ctx), or fewer layers on the card.",
            )
        if isinstance(answer, Loaded) and s.gpu_layers and not answer.gpu:
            note = "llama.cpp was built without support for a card: the judge runs on the CPU"
            self._notes += [] if note in self._notes else [note]

    def _dead(self, death: ChildDied) -> DeviceError:
        how = f"died by {death.signal_name}" if death.signal_name else f"ended with code {death.returncode}"
        return DeviceError(
            f"the judge process {how}{_log_note(death.log)}",
            where=str(self.settings.path),
            remedy=_CURES.get(death.signal_name or "", _OTHER_CURE),
        )


def _has_words(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _log_note(log: str) -> str:
    last = log.splitlines()[-1:] or [""]
    return f" (its last words: {last[0].strip()})" if last[0].strip() else ""
