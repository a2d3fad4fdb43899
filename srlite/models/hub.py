"""The one way out: what a hub says of a repository, and the bytes of a file. Nothing else in srlite opens a connection.

HF_ENDPOINT, HF_TOKEN (or the token of `hf auth login`) and the proxy variables are honoured; telemetry is off. Files come over
plain HTTPS from the endpoint, which also serves what is stored in Xet, so that a mirror is enough.
Left out: huggingface_hub's own download functions and cache. They no longer go on with a file that an earlier process began.

The library reads its variables when it is imported. The rest of srlite imports it offline, so this belongs in a process of its
own, which is what `srlite models pull` is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import srlite
from srlite.errors import ModelError, UsageError

TIMEOUT_S = 30.0
TRIES = 3
"""Attempts in a row that may bring nothing."""
WAIT_S = 1.0
"""Before the second attempt; before the third twice that."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """What the hub says of a file: sha256 of those in LFS, the git blob's sha1 of the others."""

    name: str
    bytes: int
    sha256: str | None
    git_sha1: str | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A repository at a commit."""

    repository: str
    commit: str
    files: tuple[RemoteFile, ...]


class Hub:
    """Raises UsageError when this process was made to stay offline before, or the endpoint is no address."""

    def __init__(self) -> None:
        _go_online()
        from huggingface_hub import constants, utils

        if constants.HF_HUB_OFFLINE:
            raise UsageError(
                "this process is kept away from the network, and cannot be let out any more",
                remedy="Fetch models by the command, in a process of its own: srlite models pull ID",
            )
        self.endpoint: str = constants.ENDPOINT
        if not self.endpoint.startswith(("http://", "https://")):
            raise UsageError(f"HF_ENDPOINT is no address: {self.endpoint!r}", remedy="It begins with https:// or is not set.")
        utils.logging.set_verbosity_error()  # the terminal belongs to the console

    def look_up(self, repository: str, revision: str) -> Snapshot:
        """What is in a repository. Raises ModelError."""
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HTTPError  # of the HTTP library that this version of it uses

        try:
            api = HfApi(endpoint=self.endpoint, library_name="srlite", library_version=srlite.__version__)
            found = api.model_info(repository, revision=revision, files_metadata=True, timeout=TIMEOUT_S)
            if not found.sha:
                raise ValueError("it names no commit")
            return Snapshot(repository, found.sha, tuple(_remote_file(sibling) for sibling in found.siblings or ()))
        except HTTPError as error:
            raise self._refused(error, repository, revision) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelError(
                f"what answers there is not a hub: {error}",
                where=self.endpoint,
                remedy="Check HF_ENDPOINT, and that no log-in page of the network stands before it.",
            ) from error

    def fetch(self, snapshot: Snapshot, file: RemoteFile, part: Path, heard: Callable[[int], None]) -> None:
        """Bring `part` to the file's length, from where it ends. `heard` gets the bytes that are there.

        What came stays in `part`, whatever happens. Raises ModelError for what the hub or the network does, OSError for
        what the disk does. Whether the bytes are the right ones is not looked at.
        """
        from huggingface_hub import hf_hub_url
        from huggingface_hub.errors import HTTPError

        url = hf_hub_url(snapshot.repository, file.name, revision=snapshot.commit, endpoint=self.endpoint)
        _opened(part).close()
        idle = 0
        while (have := part.stat().st_size) < file.bytes:
            failure: Exception | None = None
            try:
                self._go_on(url, part, have, file.bytes, heard)
            except HTTPError as error:
                failure = error
                if not _passes(error):
                    raise self._refused(error, snapshot.repository, snapshot.commit) from error
            idle = 0 if part.stat().st_size > have else idle + 1
            if idle == TRIES:
                raise self._refused(failure, snapshot.repository, snapshot.commit) from failure
            if idle:
                time.sleep(WAIT_S * idle)

    def _go_on(self, url: str, part: Path, have: int, size: int, heard: Callable[[int], None]) -> None:
        """One request, for what lies behind `have`. A hub that sends the whole file all the same is taken at its word."""
        from huggingface_hub import get_session
        from huggingface_hub.utils import build_hf_headers, hf_raise_for_status

        headers = build_hf_headers(library_name="srlite", library_version=srlite.__version__)
        headers["Accept-Encoding"] = "identity"  # a packed answer cannot be gone on with
        if have:
            headers["Range"] = f"bytes={have}-"
        with get_session().stream("GET", url, headers=headers, timeout=TIMEOUT_S) as response:
            hf_raise_for_status(response)
            with _opened(part) as out:
                out.truncate(have if response.status_code == 206 else 0)
                out.seek(0, os.SEEK_END)
                for block in response.iter_bytes():  # as they come: what is gathered first is lost when the line breaks
                    out.write(block)
                    heard(out.tell())
                    if out.tell() > size:
                        return  # too long to be right: no need to fill the disk with it

    def _refused(self, error: Exception | None, repository: str, revision: str) -> ModelError:
        """What a person can do about it."""
        from huggingface_hub import errors

        where, status = f"{self.endpoint}/{repository}", _status(error)
        if isinstance(error, errors.GatedRepoError):
            return ModelError("the repository is gated: its publisher wants to be asked first", where=where, remedy=_ASK)
        if isinstance(error, errors.RevisionNotFoundError):
            return ModelError(f"the repository has no revision {revision!r}", where=where, remedy="Leave @REVISION out.")
        if isinstance(error, errors.RepositoryNotFoundError):
            return ModelError("there is no such repository, or it is private", where=where, remedy=_LOOK)
        if status in (401, 403):
            return ModelError(f"the hub refuses access (HTTP {status})", where=where, remedy=_ASK)
        if status == 404:
            return ModelError("the hub no longer has a file that it lists", where=where, remedy=_LATER)
        if status:
            return ModelError(f"the hub answers HTTP {status}", where=where, remedy=_LATER)
        said = " ".join(str(error).split()) if error else "it sends less than it promised"
        return ModelError(f"the hub cannot be reached: {said}", where=where, remedy=_NO_NETWORK)


_ASK = "Accept the conditions on the model's page, make a token there (Settings, Access Tokens), and set HF_TOKEN to it."
_LOOK = "Check HF_ENDPOINT; for a private repository set HF_TOKEN. The names of models.toml: srlite models list"
_LATER = "Try again later: what came so far is kept."
_NO_NETWORK = (
    "Check the network, the proxy (HTTPS_PROXY) and HF_ENDPOINT, and pull again: what came so far is kept.\n"
    "For a machine without a network: `srlite models export FOLDER` on another one, `srlite models import FOLDER` here."
)
_PASSING = (408, 429)


def _go_online() -> None:
    """Before the library is imported. A pull is asked for by name: it is meant, whatever the shell says of other commands."""
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        os.environ.pop(name, None)
    for name in ("HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK"):
        os.environ[name] = "1"


def _remote_file(sibling) -> RemoteFile:
    lfs = sibling.lfs
    return RemoteFile(sibling.rfilename, lfs.size if lfs else sibling.size, lfs.sha256 if lfs else None, sibling.blob_id)


def _opened(part: Path) -> BinaryIO:
    """For writing, as it is; made with mode 0600 where it is not there."""
    return os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT, 0o600), "r+b")


def _status(error: Exception | None) -> int | None:
    return getattr(getattr(error, "response", None), "status_code", None)


def _passes(error: Exception) -> bool:
    """Whether the same request may succeed a moment later."""
    status = _status(error)
    return status is None or status >= 500 or status in _PASSING
