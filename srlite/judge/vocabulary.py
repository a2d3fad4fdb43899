"""A loaded model's tokenizer, and which of its tokens spell yes and no.

Contract: segments are tokenised apart (scaffold.py). In plain text no special token is ever formed:
neither a chat marker nor one of those that llama.cpp looks for in any text. Imported by the worker only.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator

import llama_cpp
import numpy as np

from srlite.judge.answers import spelling
from srlite.judge.scaffold import Segment


class EngineError(Exception):
    """llama.cpp refused something; the message says what."""


class Vocabulary:
    """A loaded model's tokenizer."""

    def __init__(self, model: llama_cpp.llama_model_p):
        self._vocab = llama_cpp.llama_model_get_vocab(model)
        self.size: int = llama_cpp.llama_vocab_n_tokens(self._vocab)
        self.yes_ids, self.no_ids = self._answer_ids()
        self._always_parsed = self._user_defined()

    @property
    def start(self) -> tuple[int, ...]:
        """The start token (BOS), or nothing where the model does not want one."""
        if not llama_cpp.llama_vocab_get_add_bos(self._vocab):
            return ()
        return (llama_cpp.llama_vocab_bos(self._vocab),)

    def tokens(self, segments: Iterable[Segment]) -> tuple[int, ...]:
        """Each segment tokenised apart; no start token."""
        return tuple(token for segment in segments for token in self._segment(segment))

    def check(self, markers: Iterable[str]) -> None:
        """Raises EngineError when a conversation could not be put to this model as it was trained to read one."""
        for marker in markers:
            as_marker, as_text = self._tokenize(marker, markers=True), self.tokens([Segment(marker, markers=False)])
            if len(as_marker) != 1 or as_marker[0] in as_text:
                raise EngineError(f"the tokenizer does not take {marker} as one marker, and as text where it is text")
            if as_marker[0] in self.start:
                raise EngineError(f"the tokenizer puts {marker} in front of every text, where the template has it already")

    def text(self, tokens: Iterable[int]) -> str:
        """What the tokens spell; a character that was cut is replaced."""
        return b"".join(self._bytes(token) for token in tokens).decode("utf-8", "replace")

    def ends(self, token: int) -> bool:
        """Whether a text ends here: an end token, or any other marker of the chat template."""
        return bool(llama_cpp.llama_vocab_is_eog(self._vocab, token) or llama_cpp.llama_vocab_is_control(self._vocab, token))

    def _segment(self, segment: Segment) -> Iterator[int]:
        if segment.markers:
            yield from self._tokenize(segment.text, markers=True)
            return
        for stretch in self._plain_stretches(segment.text):
            yield from self._tokenize(stretch, markers=False)

    def _plain_stretches(self, text: str) -> Iterator[str]:
        """The text cut inside user-defined tokens (`<think>`): llama.cpp takes those even from plain text."""
        begin = 0
        for found in self._always_parsed.finditer(text) if self._always_parsed else ():
            yield text[begin : found.start() + 1]
            begin = found.start() + 1
        yield text[begin:]

    def _tokenize(self, text: str, markers: bool) -> list[int]:
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        tokens = (llama_cpp.llama_token * room)()
        count = llama_cpp.llama_tokenize(self._vocab, data, len(data), tokens, room, False, markers)
        if count < 0:
            raise EngineError(f"a text of {len(data)} bytes could not be tokenised")
        return list(tokens[:count])

    def _bytes(self, token: int) -> bytes:
        room = 64
        while True:
            buffer = ctypes.create_string_buffer(room)
            count = llama_cpp.llama_token_to_piece(self._vocab, token, buffer, room, 0, False)
            if count >= 0:
                return buffer.raw[:count]
            room = -count

    def _piece(self, token: int) -> str | None:
        try:
            return self._bytes(token).decode()
        except UnicodeDecodeError:
            return None  # part of a character

    def _answer_ids(self) -> tuple[np.ndarray, np.ndarray]:
        spelled = [(token, spelling(piece)) for token in range(self.size) if (piece := self._piece(token))]
        yes, no = ([token for token, answer in spelled if answer == side] for side in ("yes", "no"))
        if not yes or not no:
            raise EngineError("the vocabulary has no single token that spells yes, or none that spells no")
        return np.array(yes), np.array(no)

    def _user_defined(self) -> re.Pattern[str] | None:
        attribute = llama_cpp.LLAMA_TOKEN_ATTR_USER_DEFINED
        ids = [t for t in range(self.size) if llama_cpp.llama_vocab_get_attr(self._vocab, t) & attribute]
        texts = [llama_cpp.llama_vocab_get_text(self._vocab, t).decode("utf-8", "replace") for t in ids]
        # A token of one character cannot be cut, and is no marker.
        marks = sorted((re.escape(text) for text in texts if len(text) > 1), key=len, reverse=True)
        return re.compile("|".join(marks)) if marks else None
