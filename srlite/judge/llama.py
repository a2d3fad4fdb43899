"""llama.cpp's low-level interface: score yes/no questions in a tree that shares its beginnings; write short texts.

    level 1   the prefix (an item's scaffold), on sequence 0; kept for the next call when it is the same again
    level 2   the descriptions, each a branch of the prefix; a thought, where one is asked for, is written at its end
    level 3   the questions, each a branch of its description; logits at their last tokens only

Of a level, tokens with which several texts begin are evaluated once for all of them.

Contract: every branch sees exactly prefix + description (+ thought) + question, as if it had been evaluated alone. A
level is one decode call unless n_batch splits it; the branches go in several waves when n_seq_max or n_ctx
asks for it. A branch that does not fit into the window with all of its questions is not evaluated: its
masses are None. So are those of non-finite logits, and those behind a thought that never came to its end (`</think>`).

Imported by the worker process only: a crash in native code must not take the caller with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import llama_cpp
import numpy as np

from srlite.device.memory import JUDGE_UBATCH
from srlite.judge.answers import Masses, open_thought
from srlite.judge.vocabulary import EngineError, Vocabulary


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """n_ctx: tokens in the window, prefix, descriptions and questions of a wave together. n_batch: tokens in
    a decode call.

    n_seq_max: sequences at once (2 to 256, at most n_batch). extra_buffers: let llama.cpp repack weights for
    special instructions (AMX).
    """

    n_ctx: int
    n_batch: int
    n_seq_max: int
    threads: int
    gpu_layers: int
    extra_buffers: bool

    @property
    def n_ubatch(self) -> int:
        """Tokens that llama.cpp evaluates in one go."""
        return min(JUDGE_UBATCH, self.n_batch)

    def __post_init__(self) -> None:
        # llama.cpp aborts the process, without an error to catch, when a batch cannot hold a token of every
        # sequence.
        if not 2 <= self.n_seq_max <= min(256, self.n_batch):
            raise ValueError(f"n_seq_max is {self.n_seq_max}; 2 to 256, and at most n_batch, are possible")


@dataclass(frozen=True)
class Branch:
    """A description's tokens and those of each question put to it."""

    description: tuple[int, ...]
    questions: tuple[tuple[int, ...], ...]

    @property
    def cells(self) -> int:
        """Places in the window, the prefix aside; what it shares with other descriptions is counted, too."""
        return len(self.description) + self.asked

    @cached_property
    def asked(self) -> int:
        """Tokens of its questions, each beginning that several share counted once."""
        return len(beginnings(self.questions)) + len(self.questions)

    @property
    def sequences(self) -> int:
        return 1 + len(self.questions)


def beginnings(texts: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], list[int]]:
    """Every beginning of a text, but for the whole -> numbers of the texts that begin so; shorter ones first."""
    found: dict[tuple[int, ...], list[int]] = {}
    for number, text in enumerate(texts):
        for end in range(1, len(text)):
            found.setdefault(text[:end], []).append(number)
    return found


@dataclass(frozen=True, slots=True)
class _Row:
    """A token to evaluate, and the sequences that it belongs to."""

    token: int
    position: int
    sequences: tuple[int, ...]
    wants_logits: bool


def rows_of(texts: Sequence[tuple[int, ...]], start: int, first: int, *, wants_logits: bool) -> list[_Row]:
    """Texts that all begin at position `start`, text n on sequence `first` + n: what several share is one row.

    The last row of each comes last, in their order, and is its own; it wants logits or nothing does.
    """
    shared = [
        _Row(tokens[-1], start + len(tokens) - 1, tuple(first + number for number in numbers), False)
        for tokens, numbers in beginnings(texts).items()
    ]
    return shared + [_Row(text[-1], start + len(text) - 1, (first + n,), wants_logits) for n, text in enumerate(texts)]


Choose = Callable[[int, np.ndarray], int]
"""(number of the text, logits (V,)) -> the next token."""


def likeliest(_: int, logits_V: np.ndarray) -> int:
    return int(logits_V.argmax())


def drawn(rngs: Sequence[np.random.Generator], temperature: float) -> Choose:
    """Each text by its own generator, so that none depends on its company."""

    def choose(number: int, logits_V: np.ndarray) -> int:
        # The Gumbel trick: the argmax of logits / temperature + Gumbel noise is a draw from their softmax.
        return int((logits_V.astype(np.float64) / temperature + rngs[number].gumbel(size=len(logits_V))).argmax())

    return choose


def waves(
    prefix_length: int, branches: Sequence[Branch], *, n_ctx: int, n_seq_max: int, n_questions: int, thought: int = 0
) -> list[list[int]]:
    """Indices of the branches, in order, in consecutive waves that fit; those that never fit are left out.

    n_questions: tokens of questions in a wave, where it holds more than one branch. thought: tokens that a branch wants besides
    its own.
    """
    planned: list[list[int]] = [[]]
    cells, sequences, questions = prefix_length, 1, 0
    for index, branch in enumerate(branches):
        needed = branch.cells + thought
        if prefix_length + needed > n_ctx or 1 + branch.sequences > n_seq_max:
            continue
        full = cells + needed > n_ctx or sequences + branch.sequences > n_seq_max
        if full or questions + branch.asked > n_questions:
            planned.append([])
            cells, sequences, questions = prefix_length, 1, 0
        planned[-1].append(index)
        cells += needed
        sequences += branch.sequences
        questions += branch.asked
    return [wave for wave in planned if wave]


class Engine:
    """A loaded model with its context; holds the memory until `close`."""

    def __init__(self, path: str, options: EngineOptions):
        llama_cpp.llama_backend_init()
        self._options = options
        self._model = self._load_model(path)
        self.vocabulary = Vocabulary(self._model)
        self._context = self._new_context()
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._batch = llama_cpp.llama_batch_init(options.n_batch, 0, options.n_seq_max)
        self._prefix: tuple[int, ...] | None = None
        self.evaluated = 0
        """Tokens decoded since loading."""

    def close(self) -> None:
        llama_cpp.llama_batch_free(self._batch)
        llama_cpp.llama_free(self._context)
        llama_cpp.llama_model_free(self._model)

    def score(self, prefix: tuple[int, ...], branches: Sequence[Branch], thought: int = 0) -> list[tuple[Masses | None, ...]]:
        """For each branch, the masses of its questions in order; None where a branch does not fit.

        thought: most tokens that the model writes behind each description before it is asked; it takes the likeliest.
        Raises EngineError when the prefix alone fills the window, or llama.cpp fails.
        """
        options = self._options
        if len(prefix) >= options.n_ctx:
            raise EngineError(f"the item's text takes {len(prefix)} tokens of a window of {options.n_ctx}")
        self._hold_prefix(prefix)
        results: list[tuple[Masses | None, ...]] = [(None,) * len(branch.questions) for branch in branches]
        # Every token of a call is held against every cell of the window, also those that it must not see: a wave's questions
        # fill one of llama.cpp's micro-batches, and no more.
        limits = dict(n_ctx=options.n_ctx, n_seq_max=options.n_seq_max, n_questions=options.n_ubatch)
        for wave in waves(len(prefix), branches, **limits, thought=thought):
            scored = self._score_wave(len(prefix), [branches[index] for index in wave], thought)
            for index, masses in zip(wave, scored, strict=True):
                results[index] = masses
        return results

    def _load_model(self, path: str) -> llama_cpp.llama_model_p:
        params = llama_cpp.llama_model_default_params()
        params.n_gpu_layers = self._options.gpu_layers
        params.use_extra_bufts = self._options.extra_buffers
        model = llama_cpp.llama_model_load_from_file(path.encode(), params)
        if not model:
            raise EngineError("llama.cpp could not load the file")
        return model

    def _new_context(self) -> llama_cpp.llama_context_p:
        options = self._options
        params = llama_cpp.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_seq_max = options.n_ctx, options.n_batch, options.n_seq_max
        params.n_ubatch = options.n_ubatch
        params.n_threads = params.n_threads_batch = options.threads
        params.kv_unified = True  # one pool of cells: branches share the prefix's instead of copying them
        if options.gpu_layers == 0:
            # On the CPU its flash attention adds up in 16 bits: answers would depend on how a level is split.
            params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        context = llama_cpp.llama_init_from_model(self._model, params)
        if not context:
            raise EngineError(f"llama.cpp could not make a context of {options.n_ctx} tokens")
        return context

    def _hold_prefix(self, prefix: tuple[int, ...]) -> None:
        if prefix == self._prefix:
            return
        self._prefix = None
        llama_cpp.llama_memory_clear(self._memory, True)
        list(self._decode([_Row(token, position, (0,), False) for position, token in enumerate(prefix)]))
        self._prefix = prefix

    def write(self, prefix: tuple[int, ...], count: int, most: int, choose: Choose) -> list[str]:
        """`count` continuations of the prefix, each of at most `most` tokens. Raises EngineError, also for want of room."""
        options = self._options
        if len(prefix) + count * most > options.n_ctx or 1 + count > options.n_seq_max:
            raise EngineError(f"{count} texts of {most} tokens do not fit into a window of {options.n_ctx} tokens")
        self._hold_prefix(prefix[:-1])
        with self._sequences(count):
            for sequence in range(1, count + 1):
                llama_cpp.llama_memory_seq_cp(self._memory, 0, sequence, -1, -1)
            rows = [_Row(prefix[-1], len(prefix) - 1, (sequence,), True) for sequence in range(1, count + 1)]
            return [self.vocabulary.text(tokens) for tokens in self._grow(rows, count, most, choose)]

    def _score_wave(self, start: int, branches: Sequence[Branch], thought: int) -> list[tuple[Masses | None, ...]]:
        # Sequences: 0 the prefix, 1 .. B the descriptions, B+1 ... the questions.
        leaves = [(parent, question) for parent, branch in enumerate(branches, 1) for question in branch.questions]
        with self._sequences(len(branches) + len(leaves)):
            for sequence, _ in enumerate(branches, 1):
                llama_cpp.llama_memory_seq_cp(self._memory, 0, sequence, -1, -1)
            rows = rows_of([b.description for b in branches], start, 1, wants_logits=thought > 0)
            thoughts = self._grow(rows, len(branches), thought, likeliest)
            for sequence, (parent, _) in enumerate(leaves, len(branches) + 1):
                llama_cpp.llama_memory_seq_cp(self._memory, parent, sequence, -1, -1)
            starts = [start + len(b.description) + len(t) for b, t in zip(branches, thoughts, strict=True)]
            masses = map(self._masses, self._decode(self._question_rows(starts, branches)))
            answers = [tuple(next(masses) for _ in branch.questions) for branch in branches]
        lost = [open_thought(self.vocabulary.text(tokens)) for tokens in thoughts]
        return [(None,) * len(row) if gone else row for row, gone in zip(answers, lost, strict=True)]

    @contextmanager
    def _sequences(self, count: int) -> Iterator[None]:
        """Sequences 1 to `count` are free again afterwards."""
        try:
            yield
        except EngineError:
            self._prefix = None  # what the memory holds is no longer known
            raise
        finally:
            for sequence in range(1, count + 1):
                llama_cpp.llama_memory_seq_rm(self._memory, sequence, -1, -1)

    def _grow(self, rows: Sequence[_Row], count: int, most: int, choose: Choose) -> list[tuple[int, ...]]:
        """Evaluate `rows`, and write on behind the `count` of them that want logits: at most `most` tokens each.

        Whatever was written is in the memory afterwards, behind the text that it continues; end tokens are neither.
        """
        ends = [row for row in rows if row.wants_logits]
        written: list[list[int]] = [[] for _ in range(count)]
        growing = list(range(count)) if most else []
        logits = self._decode(rows)
        while growing:
            chosen = [(i, choose(i, logits_V)) for i, logits_V in zip(growing, logits, strict=True)]
            going = [(i, token) for i, token in chosen if not self.vocabulary.ends(token)]
            for i, token in going:
                written[i].append(token)
            growing = [i for i, _ in going if len(written[i]) < most]
            logits = self._decode(
                [_Row(t, ends[i].position + len(written[i]), ends[i].sequences, i in growing) for i, t in going]
            )
        list(logits)
        return [tuple(tokens) for tokens in written]

    @staticmethod
    def _question_rows(starts: Sequence[int], branches: Sequence[Branch]) -> list[_Row]:
        """starts: for each branch, the position of its questions' first tokens. One row wants logits for each question."""
        firsts = accumulate((len(b.questions) for b in branches), initial=len(branches) + 1)
        asked = zip(branches, starts, firsts, strict=False)
        return [row for b, start, first in asked for row in rows_of(b.questions, start, first, wants_logits=True)]

    def _decode(self, rows: Sequence[_Row]) -> Iterator[np.ndarray]:
        """Evaluate rows in calls of n_batch; yields the logits (V,) of those that want them, in order.

        They are llama.cpp's own memory: good until the next is asked for. Nothing is evaluated before the first is.
        """
        step = self._options.n_batch
        for begin in range(0, len(rows), step):
            chunk = rows[begin : begin + step]
            self._fill(chunk)
            code = llama_cpp.llama_decode(self._context, self._batch)
            if code != 0:
                raise EngineError(f"llama.cpp could not evaluate {len(chunk)} tokens (code {code})")
            self.evaluated += len(chunk)
            yield from (self._logits(i) for i, row in enumerate(chunk) if row.wants_logits)

    def _fill(self, rows: Sequence[_Row]) -> None:
        batch = self._batch
        batch.n_tokens = len(rows)
        for i, row in enumerate(rows):
            batch.token[i], batch.pos[i] = row.token, row.position
            batch.n_seq_id[i], batch.logits[i] = len(row.sequences), row.wants_logits
            for place, sequence in enumerate(row.sequences):
                batch.seq_id[i][place] = sequence

    def _logits(self, index: int) -> np.ndarray:
        pointer = llama_cpp.llama_get_logits_ith(self._context, index)
        return np.ctypeslib.as_array(pointer, shape=(self.vocabulary.size,))

    def _masses(self, logits_V: np.ndarray) -> Masses | None:
        if not np.isfinite(logits_V).all():
            return None
        weights_V = np.exp(logits_V.astype(np.float64) - logits_V.max())
        weights_V /= weights_V.sum()
        vocabulary = self.vocabulary
        return Masses(float(weights_V[vocabulary.yes_ids].sum()), float(weights_V[vocabulary.no_ids].sum()))
