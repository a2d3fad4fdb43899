"""The judge's own process: `python -m srlite.judge.worker`, frames (wire.py) on stdin and stdout.

Contract: one thing at a time, an answer to every frame, the end at the end of stdin. All memory of the
model, on the card too, goes back when the process ends. Native code may print what it likes: the stdout that
the client reads is kept aside, and everything else goes to stderr. torch is never imported here.
"""

from __future__ import annotations

import os
import signal
from typing import BinaryIO

import llama_cpp
import numpy as np

from srlite.judge.llama import Branch, Engine, EngineOptions, drawn
from srlite.judge.vocabulary import EngineError
from srlite.judge.wire import LENGTH, Failed, Load, Loaded, Message, Score, Scored, Write, Written, decode, encode

_WARNING = 3  # ggml's log levels: 1 debug, 2 info, 3 warning, 4 error


@llama_cpp.llama_log_callback
def _log(level: int, text: bytes, _data: object) -> None:
    if level >= _WARNING:
        os.write(2, text)


def private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Stdin and stdout for frames alone: file descriptor 1 becomes stderr, 0 becomes empty."""
    frames_in, frames_out = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return os.fdopen(frames_in, "rb"), os.fdopen(frames_out, "wb", buffering=0)


def serve(frames_in: BinaryIO, frames_out: BinaryIO) -> None:
    """Answer frames until stdin ends. The first one has to be a Load."""
    engine: Engine | None = None
    while (message := _receive(frames_in)) is not None:
        try:
            if isinstance(message, Load):
                engine = _load(message)
                answer: Message = Loaded(bool(llama_cpp.llama_supports_gpu_offload()))
            elif isinstance(message, Write):
                answer = _write(engine, message)
            else:
                answer = _score(engine, message)
        except EngineError as error:
            answer = Failed(str(error))
        frames_out.write(encode(answer))


def _receive(frames_in: BinaryIO) -> Message | None:
    length = frames_in.read(LENGTH.size)
    return decode(frames_in.read(*LENGTH.unpack(length))) if len(length) == LENGTH.size else None


def _load(message: Load) -> Engine:
    options = EngineOptions(
        n_ctx=message.n_ctx,
        n_batch=message.n_batch,
        n_seq_max=message.n_seq_max,
        threads=message.threads,
        gpu_layers=message.gpu_layers,
        extra_buffers=message.extra_buffers,
    )
    engine = Engine(message.path, options)
    engine.vocabulary.check(message.markers)
    return engine


def _score(engine: Engine, message: Score) -> Scored:
    vocabulary = engine.vocabulary
    before = engine.evaluated
    prefix = vocabulary.start + vocabulary.tokens(message.prefix)
    branches = [
        Branch(vocabulary.tokens([sheet.description, message.behind]), tuple(vocabulary.tokens([q]) for q in sheet.questions))
        for sheet in message.sheets
    ]
    masses = engine.score(prefix, branches, message.thought)
    return Scored(tuple(masses), engine.evaluated - before)


def _write(engine: Engine, message: Write) -> Written:
    prompt = engine.vocabulary.start + engine.vocabulary.tokens(message.prompt)
    rngs = [np.random.default_rng(message.seed + number) for number in range(message.count)]
    return Written(tuple(engine.write(prompt, message.count, message.most, drawn(rngs, message.temperature))))


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the client decides what it means
    llama_cpp.llama_log_set(_log, None)
    serve(*private_pipes())


if __name__ == "__main__":
    main()
