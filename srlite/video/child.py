"""The process that touches video libraries: reads requests from its standard input, answers on its standard
output.

It never imports torch, ignores Ctrl-C (the parent decides), keeps native log lines off the terminal, and
ends itself by an alarm if the parent is gone while a library hangs: the kernel ends the process even when
the interpreter is stuck.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import BinaryIO

from srlite.errors import InputError
from srlite.video.wire import Answer, Problem, Request, receive_request, send_answer

_ORPHAN_GRACE_S = 10.0
"""How long after the parent's own limit the child waits before it takes the parent for dead."""


def main() -> None:
    """Serve until the parent closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = _private_pipes()
    try:
        import av  # before "ready", so that a broken installation is told once and plainly
    except (ImportError, OSError) as error:
        send_answer(answers, Problem(f"PyAV cannot be loaded: {error}", "pip install av", expected=False))
        return
    av.logging.set_level(av.logging.PANIC)
    send_answer(answers, "ready")
    while (request := receive_request(requests)) is not None:
        _set_alarm(request.limit_s + _ORPHAN_GRACE_S)
        answer = _answer(request)
        _set_alarm(0.0)
        send_answer(answers, answer)


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The two pipes under new numbers; 0, 1 and 2 lead nowhere, so no library can write into the answers."""
    requests = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    return requests, answers


def _set_alarm(seconds: float) -> None:
    if hasattr(signal, "setitimer"):  # not on Windows
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _answer(request: Request) -> Answer:
    from av.error import FFmpegError

    from srlite.video import decode, probe

    path = Path(request.path)
    try:
        return decode.read(path, request.wanted) if request.wanted else probe.probe(path)
    except InputError as error:
        return Problem(error.message, error.remedy)
    except FFmpegError as error:
        return Problem(f"the video library refuses the file: {error.strerror}", "Convert it to H.264 in an .mp4 file.")
    except OSError as error:
        return Problem(f"the file cannot be read: {error.strerror}", "Check the disk and the file's permissions.")
    except MemoryError:
        return Problem("there is not enough memory to decode this clip", "Convert it to a smaller picture size.")
    except Exception as error:  # the parent must hear of a fault of ours, not see a dead child
        return Problem(f"{type(error).__name__}: {error}", None, expected=False)
