"""Every error that srlite raises on purpose, and the exit code of each.

    SrliteError            1  unexpected
    ├── UsageError         2  the command line asks for something that cannot be meant
    ├── InputError         3  a file, row or clip of the user is wrong
    ├── ModelError         4  a model is missing, unreadable or does not match
    ├── DeviceError        5  the machine lacks memory, a card or disk space
    └── Findings           6  the work is finished, some clips or rows were left out
    Interrupted          130  the user pressed Ctrl-C

A message says what is wrong, where, and what to do about it.
"""

from __future__ import annotations


class SrliteError(Exception):
    """Base of all of them. `remedy` is the sentence that says what mends it; `command`, to be typed as it is, stands below."""

    exit_code = 1

    def __init__(self, message: str, *, where: str | None = None, remedy: str | None = None, command: str | None = None):
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy
        self.command = command

    def __str__(self) -> str:
        head = f"{self.where}: {self.message}" if self.where else self.message
        return f"{head}\n{self.remedy}" if self.remedy else head


class UsageError(SrliteError):
    exit_code = 2


class InputError(SrliteError):
    exit_code = 3


class ModelError(SrliteError):
    exit_code = 4


class DeviceError(SrliteError):
    exit_code = 5


class Findings(SrliteError):
    exit_code = 6


class Interrupted(SrliteError):
    exit_code = 130
