"""What passes between the reader and its child: one line of JSON each way, then the pixels as plain bytes.

No pickling: nothing that arrives is ever run. Paths that are not UTF-8 survive (surrogates are escaped).
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import BinaryIO, Literal

from srlite.types import Frames
from srlite.video.info import ClipInfo


@dataclass(frozen=True, slots=True)
class Wanted:
    """Frames to read: how many, and the grid and area (pixels) of a picture."""

    count: int
    multiple: int
    max_pixels: int


@dataclass(frozen=True, slots=True)
class Request:
    """Probe `path`, or read it when `wanted` is given. The child ends itself some time after `limit_s`."""

    path: str
    limit_s: float
    wanted: Wanted | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Why there is no answer. `expected`: the file is at fault and the message is meant for its owner."""

    message: str
    remedy: str | None = None
    expected: bool = True


Ready = Literal["ready"]
Answer = Ready | ClipInfo | Frames | Problem


def send_request(pipe: BinaryIO, request: Request) -> None:
    pipe.write(json.dumps(asdict(request)).encode("ascii") + b"\n")
    pipe.flush()


def receive_request(pipe: BinaryIO) -> Request | None:
    """The next request, None when the other side has closed."""
    line = pipe.readline()
    if not line:
        return None
    fields = json.loads(line)
    wanted = fields.pop("wanted")
    return Request(**fields, wanted=Wanted(**wanted) if wanted else None)


def send_answer(pipe: BinaryIO, answer: Answer) -> None:
    if isinstance(answer, Frames):
        _send_frames(pipe, answer)
    elif isinstance(answer, (ClipInfo, Problem)):
        _send_line(pipe, type(answer).__name__, asdict(answer))
    else:
        _send_line(pipe, "ready", {})
    pipe.flush()


def receive_answer(pipe: BinaryIO) -> Answer:
    """The child's answer. Raises EOFError when the child is gone before it is complete."""
    line = pipe.readline()
    if not line.endswith(b"\n"):
        raise EOFError("the child closed its pipe")
    kind, fields = json.loads(line)
    if kind == "Frames":
        return _receive_frames(pipe, fields)
    if kind == "ClipInfo":
        return ClipInfo(**{**fields, "warnings": tuple(fields["warnings"])})
    return Problem(**fields) if kind == "Problem" else "ready"


def _send_line(pipe: BinaryIO, kind: str, fields: dict[str, object]) -> None:
    pipe.write(json.dumps([kind, fields]).encode("ascii") + b"\n")


def _send_frames(pipe: BinaryIO, frames: Frames) -> None:
    _send_line(
        pipe,
        "Frames",
        {
            "shape": frames.images.shape,
            "times_s": frames.times_s,
            "duration_s": frames.duration_s,
            "real": frames.real,
            "warnings": frames.warnings,
        },
    )
    pipe.write(frames.images.data)


def _receive_frames(pipe: BinaryIO, fields: dict[str, object]) -> Frames:
    import numpy as np

    shape = tuple(fields["shape"])
    pixels = bytearray(math.prod(shape))
    if pipe.readinto(pixels) != len(pixels):
        raise EOFError("the child closed its pipe")
    return Frames(
        images=np.frombuffer(pixels, np.uint8).reshape(shape),  # (F, height, width, 3)
        times_s=tuple(fields["times_s"]),
        duration_s=fields["duration_s"],
        real=fields["real"],
        warnings=tuple(fields["warnings"]),
    )
