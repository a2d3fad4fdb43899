"""A hub on 127.0.0.1 that answers what huggingface_hub and srlite ask of the real one, and can be made to fail.

  GET  /api/models/REPO/revision/REV?blobs=true   commit and files, with the sha256 of those in LFS and git's sha1 of the others
  GET  /REPO/resolve/COMMIT/FILE                  a file, or for LFS a redirect to another server (as the real one's CDN)
Ranges are honoured. Every request is written down.
"""

import hashlib
import json
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass(frozen=True)
class Asked:
    server: str  # "hub" or "cdn"
    path: str
    range: str | None
    authorization: str | None
    agent: str | None


@dataclass
class Repository:
    """files: of each commit, by name. gate: "gated", "private", or None. token: what opens the gate."""

    branches: dict[str, str]
    files: dict[str, Mapping[str, bytes]]
    gate: str | None = None
    token: str | None = None


@dataclass
class FakeHub:
    """served: bytes that are sent in the place of those that are listed. cuts: lengths after which the next answers with
    that file break off. stalls: the length after which the next answer waits for `go_on`. refused: the files that are answered
    with 503. hidden: listed files that are not there. page: a log-in page, in the place of everything."""

    repositories: dict[str, Repository] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    served: dict[str, bytes] = field(default_factory=dict)
    cuts: dict[str, list[int]] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)
    stalls: dict[str, int] = field(default_factory=dict)
    go_on: threading.Event = field(default_factory=threading.Event)
    ranges: bool = True
    page: bytes | None = None

    def __enter__(self):
        self.servers = {name: ThreadingHTTPServer(("127.0.0.1", 0), _handler(self, name)) for name in ("hub", "cdn")}
        for server in self.servers.values():
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.go_on.set()
        for server in self.servers.values():
            server.shutdown()
            server.server_close()

    def address(self, name="hub"):
        return f"http://127.0.0.1:{self.servers[name].server_port}"

    def publish(self, repository, files, commit=None, branch="main"):
        """Put files at the tip of a branch. Returns the commit."""
        names = "".join(f"{name} {hashlib.sha1(content).hexdigest()}\n" for name, content in sorted(files.items()))
        commit = commit or hashlib.sha1(names.encode()).hexdigest()
        found = self.repositories.setdefault(repository, Repository({}, {}))
        found.branches[branch] = commit
        found.files[commit] = dict(files)
        return commit

    def fetches(self, name):
        """The requests for a file's bytes: (server, range)."""
        return [(a.server, a.range) for a in self.asked if a.path.endswith(f"/{name}")]


def git_sha1(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def in_lfs(name):
    return name.endswith((".safetensors", ".gguf", ".bin"))


@cache
def _sibling(name, content):
    row = {"rfilename": name, "size": len(content), "blobId": git_sha1(content)}
    if in_lfs(name):
        sha256 = hashlib.sha256(content).hexdigest()
        row |= {"blobId": git_sha1(sha256.encode()), "lfs": {"sha256": sha256, "size": len(content), "pointerSize": 134}}
    return row


def _handler(hub, server):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            url = urlsplit(self.path)
            path, h = unquote(url.path), self.headers
            hub.asked.append(Asked(server, path, h.get("Range"), h.get("Authorization"), h.get("User-Agent")))
            if hub.page is not None:
                return self.answer(200, hub.page, {"Content-Type": "text/html"})
            if path.startswith("/api/models/"):
                repository, _, revision = path.removeprefix("/api/models/").partition("/revision/")
                assert parse_qs(url.query)["blobs"] == ["true"]
                return self.look_up(repository, revision)
            repository, _, rest = path.removeprefix("/").partition("/resolve/")
            return self.file(repository, *rest.split("/", 1))

        def look_up(self, repository, revision):
            found = hub.repositories.get(repository)
            if self.is_closed(found):
                return None
            commit = found.branches.get(revision, revision)
            if commit not in found.files:
                return self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
            siblings = [_sibling(name, content) for name, content in sorted(found.files[commit].items())]
            document = {"id": repository, "modelId": repository, "sha": commit, "tags": [], "siblings": siblings}
            return self.answer(200, json.dumps(document).encode(), {"Content-Type": "application/json"})

        def file(self, repository, commit, name):
            found = hub.repositories.get(repository)
            if server == "hub" and self.is_closed(found):
                return None
            if name in hub.refused:
                return self.answer(503, b"busy", {})
            if name not in found.files[commit] or name in hub.hidden:
                return self.refuse(404, "EntryNotFound", "Entry not found")
            listed = found.files[commit][name]
            row, said = _sibling(name, listed), {"X-Repo-Commit": commit}
            if in_lfs(name) and server == "hub":
                said |= {"X-Linked-Size": str(len(listed)), "X-Linked-Etag": f'"{row["lfs"]["sha256"]}"'}
                return self.answer(302, b"", said | {"Location": hub.address("cdn") + self.path})
            etag = row["lfs"]["sha256"] if in_lfs(name) else row["blobId"]
            return self.content(name, hub.served.get(name, listed), said | {"ETag": f'"{etag}"', "Accept-Ranges": "bytes"})

        def content(self, name, content, said):
            start = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").removesuffix("-"))
            status = 200
            if self.headers.get("Range") and hub.ranges:
                status, said = 206, said | {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
                content = content[start:]
            if stall := hub.stalls.pop(name, None):
                return self.answer(status, content, said, wait_at=stall)
            cut = hub.cuts.get(name)
            return self.answer(status, content, said, length=cut.pop(0) if cut else None)

        def is_closed(self, found):
            """Answer for a repository that is not there, or not for this one who asks."""
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ") or None
            if found is None or (found.gate == "private" and token != found.token):
                self.refuse(404 if token else 401, "RepoNotFound", "Repository not found")
            elif found.gate == "gated" and token != found.token:
                self.refuse(403 if token else 401, "GatedRepo", "Access to this model is restricted.")
            else:
                return False
            return True

        def refuse(self, status, code, message):
            headers = {"X-Error-Code": code, "X-Error-Message": message}
            return self.answer(status, json.dumps({"error": message}).encode(), headers)

        def answer(self, status, content, headers, length=None, wait_at=None):
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if wait_at:
                self.wfile.write(content[:wait_at])
                self.wfile.flush()
                hub.go_on.wait(60)
                self.close_connection = True
                return
            self.wfile.write(content[:length])
            if length is not None:
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = length is not None

    return Handler
