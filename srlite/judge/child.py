"""The client's end of the worker process: start it, exchange frames within a time limit, end it.

Contract: `exchange` either returns the answer, or the process is gone: on a time limit, on Ctrl-C, on a
crash. A crash is `ChildDied` with the signal and the last lines of the native log.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from srlite.judge.wire import LENGTH, Message, decode, encode

_LOG_TAIL_BYTES = 2000
_CHUNK_BYTES = 1 << 16
_GRACE_S = 2.0  # to end by itself after its stdin is closed


class ChildDied(Exception):
    """The worker ended before it answered. `returncode` as in subprocess: negative for a signal."""

    def __init__(self, returncode: int, log: str):
        super().__init__(f"the judge process ended with code {returncode}")
        self.returncode = returncode
        self.log = log

    @property
    def signal_name(self) -> str | None:
        """ "SIGILL" and the like; None when it ended by itself."""
        return signal.Signals(-self.returncode).name if self.returncode < 0 else None


class ChildTooSlow(Exception):
    """No whole answer within the time limit; the process was killed."""


class Child:
    """A running worker."""

    def __init__(self, threads: int):
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed with the child
        self._process = subprocess.Popen(
            # -P: nothing in the working directory may pose as a module.
            [sys.executable, "-P", "-m", "srlite.judge.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=_environment(threads),
            bufsize=0,
        )
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        # A stopped worker must not block us in a write that is larger than the pipe.
        os.set_blocking(self._to, False)

    @property
    def pid(self) -> int:
        return self._process.pid

    def exchange(self, message: Message, time_limit_s: float) -> Message:
        """The answer to a message. Raises ChildDied or ChildTooSlow; then the child is gone, as on Ctrl-C."""
        deadline = time.monotonic() + time_limit_s
        try:
            self._send(encode(message), deadline)
            (length,) = LENGTH.unpack(self._receive(LENGTH.size, deadline))
            return decode(self._receive(length, deadline))
        except (BrokenPipeError, EOFError):
            raise ChildDied(self._process.wait(), self.log_tail()) from None
        except BaseException:
            self.kill()
            raise

    def close(self) -> None:
        """End the process and wait until it is gone: its memory is free afterwards."""
        self._process.stdin.close()
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process.stdout.close()
        self._log.close()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def log_tail(self) -> str:
        """The last lines that native code and Python wrote to stderr."""
        # pread: a seek would move the position at which the child writes, too
        size = os.fstat(self._log.fileno()).st_size
        tail = os.pread(self._log.fileno(), _LOG_TAIL_BYTES, max(0, size - _LOG_TAIL_BYTES))
        return tail.decode("utf-8", "replace").strip()

    def _send(self, data: bytes, deadline: float) -> None:
        view = memoryview(data)
        while view:
            _wait([], [self._to], deadline)
            view = view[os.write(self._to, view[:_CHUNK_BYTES]) :]

    def _receive(self, count: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < count:
            _wait([self._from], [], deadline)
            some = os.read(self._from, min(_CHUNK_BYTES, count - len(data)))
            if not some:
                raise EOFError
            data += some
        return bytes(data)


def _wait(readable: list[int], writable: list[int], deadline: float) -> None:
    ready = select.select(readable, writable, [], max(0.0, deadline - time.monotonic()))
    if not any(ready):
        raise ChildTooSlow


def _environment(threads: int) -> dict[str, str]:
    """The child finds this same srlite; its threads sleep while they wait (spinning starves busy cores)."""
    root = str(Path(__file__).parents[2])
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    # A relative part, like the empty one, would be the working directory again.
    path = [root, *(part for part in inherited if os.path.isabs(part))]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path),
        "OMP_WAIT_POLICY": "passive",
        "OMP_NUM_THREADS": str(threads),
    }
