"""What goes between the client and the worker process: frames of JSON, each after its length (four bytes,
little-endian).

Contract: a `Load` is answered by `Loaded`, a `Score` by `Scored`, a `Write` by `Written`, and each of them by `Failed` where it
cannot be done. Texts travel, never tokens: the vocabulary lives in the worker.
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass

from srlite.judge.answers import Masses
from srlite.judge.scaffold import Segment

LENGTH = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Load:
    """Open this file. markers: the family's chat markers; the fields behind them are those of llama.EngineOptions."""

    path: str
    markers: tuple[str, ...]
    n_ctx: int
    n_batch: int
    n_seq_max: int
    threads: int
    gpu_layers: int
    extra_buffers: bool


@dataclass(frozen=True, slots=True)
class Loaded:
    """gpu: llama.cpp was built with support for a card."""

    gpu: bool


@dataclass(frozen=True, slots=True)
class Sheet:
    """A description and the questions put to it."""

    description: Segment
    questions: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """Descriptions that share a prefix.

    behind: what stands behind each description, before the first question. thought: most tokens that the judge writes there.
    """

    prefix: tuple[Segment, ...]
    sheets: tuple[Sheet, ...]
    behind: Segment
    thought: int = 0


@dataclass(frozen=True, slots=True)
class Scored:
    """Masses by sheet and question; None where the description did not fit into the window or the logits
    were not finite.

    evaluated: tokens decoded for this call.
    """

    masses: tuple[tuple[Masses | None, ...], ...]
    evaluated: int


@dataclass(frozen=True, slots=True)
class Write:
    """`count` texts, written on from a prompt: of at most `most` tokens each, drawn at this temperature; text i by seed + i."""

    prompt: tuple[Segment, ...]
    count: int
    most: int
    temperature: float
    seed: int


@dataclass(frozen=True, slots=True)
class Written:
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """The worker lives, but could not do it."""

    message: str


Message = Load | Loaded | Score | Scored | Write | Written | Failed


def encode(message: Message) -> bytes:
    """The message as a frame."""
    body = json.dumps({"kind": type(message).__name__, **asdict(message)}).encode()
    return LENGTH.pack(len(body)) + body


def decode(body: bytes) -> Message:
    """The inverse of `encode`, without the length."""
    fields = json.loads(body)
    kind = fields.pop("kind")
    if kind == "Score":
        sheets = tuple(map(_sheet, fields["sheets"]))
        return Score(_segments(fields["prefix"]), sheets, Segment(**fields["behind"]), fields["thought"])
    if kind == "Scored":
        return Scored(tuple(tuple(_masses(m) for m in row) for row in fields["masses"]), fields["evaluated"])
    if kind == "Load":
        return Load(**(fields | {"markers": tuple(fields["markers"])}))
    if kind == "Write":
        return Write(_segments(fields.pop("prompt")), **fields)
    if kind == "Written":
        return Written(tuple(fields["texts"]))
    return {"Loaded": Loaded, "Failed": Failed}[kind](**fields)


def _segments(values: list[dict[str, object]]) -> tuple[Segment, ...]:
    return tuple(Segment(**value) for value in values)


def _sheet(value: dict[str, object]) -> Sheet:
    return Sheet(Segment(**value["description"]), _segments(value["questions"]))


def _masses(value: dict[str, float] | None) -> Masses | None:
    return None if value is None else Masses(**value)
