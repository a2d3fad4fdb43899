"""Around every command: errors become messages and exit codes of the contract (see errors.py)."""

from __future__ import annotations

import errno
import functools
import inspect
import os
import sys
import traceback
from collections.abc import Callable

import typer

from srlite.errors import DeviceError, Interrupted, SrliteError


def guarded(command: Callable) -> Callable:
    """Errors become messages and exit codes; --debug lets them through."""

    @functools.wraps(command)
    def run(*args, **kwargs):
        from srlite.console import Screen

        screen = Screen(quiet=kwargs.get("quiet", False))
        try:
            command(*args, screen=screen, **kwargs)
            sys.stdout.flush()  # here, where what goes wrong with it is still told in words
        except typer.Exit:
            raise
        except BrokenPipeError:
            _silence_stdout()  # the reader has gone: say nothing more
        except (Exception, KeyboardInterrupt) as caught:
            error = _as_ours(caught)
            if _disk_full(caught):
                _silence_stdout()  # or Python tries it again at its end
            if kwargs.get("debug"):
                traceback.print_exception(caught)
            screen.error(error)
            raise typer.Exit(error.exit_code) from None

    del run.__wrapped__  # typer reads the signature: without `screen`, which is not an option
    run.__signature__ = _without_screen(command)
    run.__annotations__ = inspect.get_annotations(command, eval_str=True)  # its names belong to the command's own file
    return run


def _silence_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _disk_full(caught: BaseException) -> bool:
    return isinstance(caught, OSError) and caught.errno == errno.ENOSPC


def _as_ours(caught: BaseException) -> SrliteError:
    """Whatever came up, as an error with an exit code."""
    if isinstance(caught, SrliteError):
        return caught
    if isinstance(caught, KeyboardInterrupt):
        return Interrupted("interrupted", remedy="Files that were complete are kept: start it again.")
    if _disk_full(caught):
        return DeviceError(f"cannot write: {caught.strerror}", where=caught.filename, remedy="Free some space and start again.")
    if isinstance(caught, MemoryError) or type(caught).__name__ == "OutOfMemoryError":
        return DeviceError(
            f"out of memory: {caught}",
            remedy="Close other programs, or use a smaller model, fewer or smaller frames, or a smaller group.",
        )
    return SrliteError(
        f"unexpected: {type(caught).__name__}: {caught}",
        remedy="This is a fault of srlite. Run again with --debug and report what it prints.",
    )


def _without_screen(command: Callable):
    signature = inspect.signature(command, eval_str=True)
    return signature.replace(parameters=[p for p in signature.parameters.values() if p.name != "screen"])


def quiet_libraries() -> None:
    """Before a heavy library is imported: nothing phones home, nothing chats on the terminal."""
    from srlite.descriptor.offline import stay_offline

    stay_offline()
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # waiting threads must not burn the cores of the other model
    import warnings

    warnings.filterwarnings("ignore", category=FutureWarning)
