"""Reading clips without trusting them: every file is opened in one child process that can be killed.

decord can spin for ever inside native code and FFmpeg can crash; neither may take the caller along. The
child is started at the first clip, kept between clips, killed at the time limit and replaced. The caller
loads no video library.
Left out: caching, threads (one reader belongs to one thread), finding files.
"""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from srlite.errors import InputError, SrliteError
from srlite.files import file_sha256
from srlite.types import Frames
from srlite.video.info import ClipInfo
from srlite.video.wire import Answer, Problem, Request, Wanted, receive_answer, send_request

_START_LIMIT_S = 120.0  # a cold disk and a busy machine; a healthy start takes half a second
_CHILD = "import sys; sys.path[:] = sys.argv[1:]; from srlite.video.child import main; main()"
_WAIT_S = 10.0


class ClipReader:
    """Probes and reads clips in a child process. `limit_s`: wall-clock seconds that one clip may take.

    Use it as a context manager, or call `close`. Both methods raise InputError naming the clip: no such
    file, empty, not a video, sound only, too damaged, over the time limit, or the child died of it. The
    reader is usable afterwards.
    """

    def __init__(self, *, limit_s: float):
        if limit_s <= 0:
            raise ValueError(f"limit_s must be positive, not {limit_s}")
        self._limit_s = limit_s
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ClipReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def child_pid(self) -> int | None:
        """Process id of the child, None while there is none."""
        return self._child.pid if self._child else None

    def probe(self, path: str | Path) -> ClipInfo:
        """What the clip is, without decoding it."""
        return self._ask(Path(path), None)

    def read(self, path: str | Path, *, count: int, multiple: int, max_pixels: int) -> Frames:
        """`count` frames spread evenly over the clip's time, upright RGB, both sides multiples of `multiple`
        and at most `max_pixels` in area. A shorter clip gives what it has: see `Frames.real`.
        """
        if count < 1 or max_pixels < multiple * multiple:
            raise ValueError(f"cannot read {count} frames of {max_pixels} pixels in steps of {multiple}")
        return self._ask(Path(path), Wanted(count, multiple, max_pixels))

    def close(self) -> None:
        """End the child at once; it holds nothing worth keeping."""
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            with suppress(BrokenPipeError):  # an unsent request dies with the child
                pipe.close()

    def _ask(self, path: Path, wanted: Wanted | None) -> ClipInfo | Frames:
        _check_file(path)
        child = self._ready_child()
        answer = self._exchange(child, Request(str(path.absolute()), self._limit_s, wanted), path)
        if isinstance(answer, Problem):
            kind = InputError if answer.expected else SrliteError
            raise kind(answer.message, where=str(path), remedy=answer.remedy)
        return answer

    def _exchange(self, child: subprocess.Popen[bytes], request: Request, path: Path) -> Answer:
        deadline = _Deadline(child, self._limit_s)
        answer = None
        try:
            with deadline:
                send_request(child.stdin, request)
                answer = receive_answer(child.stdout)
            return answer
        except (EOFError, BrokenPipeError):
            raise self._death(child, deadline, path) from None
        finally:
            if answer is None or deadline.passed:  # Ctrl-C included: half an answer may be in the pipe
                self.close()

    def _death(self, child: subprocess.Popen[bytes], deadline: _Deadline, path: Path) -> InputError:
        if deadline.passed:
            return InputError(
                f"reading took more than {self._limit_s:g} s and was stopped",
                where=str(path),
                remedy="Convert it to H.264 in an .mp4 file, raise the time limit, or leave it out.",
            )
        return InputError(
            f"the video library crashed on this file ({_ending(child)})",
            where=str(path),
            remedy="Convert the clip to H.264 in an .mp4 file, or leave it out.",
        )

    def _ready_child(self) -> subprocess.Popen[bytes]:
        """A child that waits for requests: the one at hand, or a new one when it died between clips."""
        if self._child is not None and self._child.poll() is not None:
            self.close()
        if self._child is None:
            self._child = _spawn()
            self._greet(self._child)
        return self._child

    def _greet(self, child: subprocess.Popen[bytes]) -> None:
        answer: Answer | None = None
        try:
            with _Deadline(child, _START_LIMIT_S):
                answer = receive_answer(child.stdout)
        except EOFError:
            raise SrliteError(
                f"the video reading process did not start ({_ending(child)})",
                remedy="Check the installation of PyAV: python -c 'import av'",
            ) from None
        finally:
            if answer != "ready":
                self.close()
        if isinstance(answer, Problem):
            raise SrliteError(answer.message, remedy=answer.remedy)


class _Deadline:
    """Kills the child when the time is over; the blocked read then ends by itself, on every system."""

    def __init__(self, child: subprocess.Popen[bytes], limit_s: float):
        self._child = child
        self._timer = threading.Timer(limit_s, self._end)
        self._timer.daemon = True
        self.passed = False

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._timer.join()  # `passed` is final from here on: a late kill must not hit the next clip

    def _end(self) -> None:
        self.passed = True
        self._child.kill()


def _spawn() -> subprocess.Popen[bytes]:
    """A fresh interpreter with this one's import path: no `__main__` needed, nothing forked from torch."""
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _CHILD, *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _ending(child: subprocess.Popen[bytes]) -> str:
    try:
        code = child.wait(_WAIT_S)
    except subprocess.TimeoutExpired:
        return "its pipe is closed"
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def _check_file(path: Path) -> None:
    try:
        status = path.stat()
    except FileNotFoundError:
        raise InputError("there is no such file", where=str(path), remedy="Check the name and the folder.") from None
    except OSError as error:
        raise InputError(
            f"the file cannot be reached: {error.strerror}",
            where=str(path),
            remedy="Check the folder's permissions.",
        ) from None
    if not stat.S_ISREG(status.st_mode):
        raise InputError("this is not a file", where=str(path), remedy="Name a video file.")
    if status.st_size == 0:
        raise InputError("the file is empty", where=str(path), remedy="Copy it again from the camera.")


def sha256_of(path: str | Path) -> str:
    """SHA-256 of the file's bytes, in hexadecimal, streamed. Raises InputError when it cannot be read."""
    path = Path(path)
    _check_file(path)
    try:
        return file_sha256(path)
    except OSError as error:
        raise InputError(
            f"the file cannot be read: {error.strerror}", where=str(path), remedy="Check its permissions."
        ) from None
