"""Verdicts kept on disk, so that no description is judged twice.

Storage contract: SQLite in WAL mode, one table

    verdict(key TEXT PRIMARY KEY, probability REAL, mass REAL)

key: "sha256:" + SHA-256 of what the judge read and which judge it was (`verdict_key`):
it can be re-derived and never goes stale. Stored are the raw probability and mass, never the answer:
thresholds may change afterwards. No text of a description is in the file. What `put` gets is committed whole
or not at all. Several processes may use one file; readers and the writer wait for one another up to
`busy_timeout_s`. The file is made with mode 0600.

A file that is no database (or a damaged one) is renamed and a new one begun; a read-only one is read and not
written. Both are told in `notes`. Left out: eviction. A row is about 100 bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from srlite.errors import DeviceError
from srlite.judge.answers import Masses

_KEYS_PER_SELECT = 500  # SQLite's oldest limit on variables is 999
_NOT_A_DATABASE = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
_READ_ONLY = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)


def verdict_key(judge_sha256: str, family: str, read: Iterable[str]) -> str:
    """Key of one verdict. `read`: the texts in the order the judge reads them, segment by segment."""
    text = json.dumps([judge_sha256, family, *read], ensure_ascii=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


class VerdictCache:
    """Open with a path; use from one thread. `notes` says what a user should know about the file."""

    def __init__(self, path: Path, busy_timeout_s: float):
        self.path = path
        self.notes: list[str] = []
        self._timeout_s = busy_timeout_s
        self._writable = True
        self._connection = self._open()

    def __enter__(self) -> VerdictCache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def get(self, keys: Iterable[str]) -> Mapping[str, Masses]:
        """The masses of those keys that are there. A file found damaged is set aside and begun anew."""
        wanted = list(keys)
        try:
            return self._select(wanted)
        except sqlite3.DatabaseError as error:
            self._reopen_after(error)
            return {}

    def put(self, masses: Mapping[str, Masses]) -> None:
        """Commit all of them in one transaction. DeviceError: the disk is full, or the file locked."""
        rows = [(key, m.yes / m.total if m.total else None, m.total) for key, m in masses.items()]
        if not self._writable or not rows:
            return
        try:
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                self._connection.executemany("INSERT OR REPLACE INTO verdict VALUES (?, ?, ?)", rows)
        except sqlite3.DatabaseError as error:
            if _code(error) in _READ_ONLY:
                self._stop_writing(error)
                return
            self._reopen_after(error)
            self.put(masses)

    def _select(self, keys: list[str]) -> dict[str, Masses]:
        found: dict[str, Masses] = {}
        for begin in range(0, len(keys), _KEYS_PER_SELECT):
            some = keys[begin : begin + _KEYS_PER_SELECT]
            marks = ",".join("?" * len(some))
            rows = self._connection.execute(f"SELECT key, probability, mass FROM verdict WHERE key IN ({marks})", some)
            for key, probability, mass in rows:
                yes = (probability or 0.0) * mass
                found[key] = Masses(yes, mass - yes)
        return found

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.DatabaseError as error:
            if _code(error) in _NOT_A_DATABASE:
                self._set_aside(error)
                return self._connect()
            if _code(error) in _READ_ONLY:
                return self._connect_read_only(error)
            raise self._failure(error) from error

    def _connect(self) -> sqlite3.Connection:
        self._make_file()
        # isolation_level None: transactions begin where the code says so.
        connection = sqlite3.connect(self.path, timeout=self._timeout_s, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("CREATE TABLE IF NOT EXISTS verdict (key TEXT PRIMARY KEY, probability REAL, mass REAL)")
            # A write that changes nothing: says now whether the file may be written.
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except sqlite3.DatabaseError:
            connection.close()
            raise
        return connection

    def _make_file(self) -> None:
        if self.path.exists():
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise DeviceError(
                f"the verdict cache cannot be made: {error.strerror}",
                where=str(self.path),
                remedy="Choose a folder that can be written, or free some disk space.",
            ) from error

    def _connect_read_only(self, error: sqlite3.DatabaseError) -> sqlite3.Connection:
        """Read what is there. `immutable`: the WAL's side files cannot be made in a read-only folder."""
        self._stop_writing(error)
        uri = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
        return sqlite3.connect(uri, uri=True, timeout=self._timeout_s, isolation_level=None)

    def _stop_writing(self, error: sqlite3.DatabaseError) -> None:
        self._writable = False
        self.notes.append(f"{self.path}: the verdict cache cannot be written ({error}); verdicts are read from it only")

    def _reopen_after(self, error: sqlite3.DatabaseError) -> None:
        if _code(error) not in _NOT_A_DATABASE:
            raise self._failure(error) from error
        self._connection.close()
        self._set_aside(error)
        self._connection = self._connect()

    def _set_aside(self, error: sqlite3.DatabaseError) -> None:
        aside = self.path.with_name(f"{self.path.name}.broken-{time.time_ns()}")
        for suffix in ("", "-wal", "-shm"):
            source = self.path.with_name(self.path.name + suffix)
            if source.exists():
                source.rename(aside.with_name(aside.name + suffix))
        self.notes.append(f"{self.path}: the verdict cache could not be read ({error}); it was set aside as {aside.name}")

    def _failure(self, error: sqlite3.DatabaseError) -> DeviceError:
        return DeviceError(
            f"the verdict cache failed: {error}",
            where=str(self.path),
            remedy="If another run holds the file, wait for it; if the disk is full, free some space.",
        )


def _code(error: sqlite3.DatabaseError) -> int:
    """SQLite's primary result code; sqlite3 reports extended ones. 0 where the error is Python's own."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
