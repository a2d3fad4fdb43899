"""A headless Chromium, driven over its debugging pipe: the page runs as it is, under its own content-security policy.

A page is opened by its file name. `evaluate` runs an expression in it (the debugger's doing, not the page's), `requests` has
every address it asked for, `complaints` what the browser said against it: refused by the policy, exceptions, errors.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time

BINARY = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
_EXEC = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
_LIMIT_S = 60


class Chromium:
    """Use as a context manager. `folder`: for its profile and for what it saves."""

    def __init__(self, folder):
        self._saved = folder / "saved"
        self._saved.mkdir(parents=True)
        read, self._out = _pipe()
        self._in, write = _pipe()
        words = [sys.executable, "-c", _EXEC, str(read), str(write), BINARY, *_FLAGS, f"--user-data-dir={folder / 'profile'}"]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(words, pass_fds=(read, write), stdin=quiet, stdout=quiet, stderr=quiet)
        os.close(read)
        os.close(write)
        self._number, self._rest, self._session = 0, b"", None
        self.requests, self.complaints, self._loaded = [], [], 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Asked to end, it ends its helpers, which would still write into its folder."""
        try:
            self.ask("Browser.close")
            self._process.wait(_LIMIT_S)
        finally:
            self._process.kill()
            self._process.wait()
            self._shut()

    def _shut(self):
        os.close(self._in)
        os.close(self._out)

    def open(self, path, width=1280, height=900):
        """Load a file and wait until it is loaded; seconds that took."""
        if self._session is None:
            target = self.ask("Target.createTarget", url="about:blank")["targetId"]
            self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.ask(f"{domain}.enable")
            self.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self._saved))
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        began, before = time.monotonic(), self._loaded
        self.ask("Page.navigate", url=path.as_uri())
        while self._loaded == before:
            self._hear()
        return time.monotonic() - began

    def evaluate(self, expression):
        """The value of an expression of the page; raises when it throws."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def screenshot(self, path, whole=False):
        found = self.ask("Page.captureScreenshot", captureBeyondViewport=whole, **({"clip": self._all()} if whole else {}))
        path.write_bytes(base64.b64decode(found["data"]))

    def _all(self):
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        return dict(x=0, y=0, width=size["width"], height=min(size["height"], 12000), scale=1)

    def pdf(self, path):
        path.write_bytes(base64.b64decode(self.ask("Page.printToPDF", printBackground=False)["data"]))

    def saved(self):
        """The one file that the page saved."""
        until = time.monotonic() + _LIMIT_S
        while time.monotonic() < until:
            done = [p for p in self._saved.iterdir() if p.suffix != ".crdownload"]
            if done:
                return done[0]
            time.sleep(0.05)
        raise TimeoutError("nothing was saved")

    def ask(self, method, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session and not method.startswith(("Target.", "Browser.")):
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            heard = self._hear()
            if heard.get("id") == self._number:
                assert "error" not in heard, heard["error"]
                return heard["result"]

    def _hear(self):
        """The next message; events are noted."""
        while b"\0" not in self._rest:
            assert select.select([self._in], [], [], _LIMIT_S)[0], "the browser says nothing"
            more = os.read(self._in, 1 << 20)
            assert more, "the browser has ended"
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\0")
        heard = json.loads(text)
        self._note(heard.get("method"), heard.get("params", {}))
        return heard

    def _note(self, method, params):
        if method == "Page.loadEventFired":
            self._loaded += 1
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"][:200])
        elif method == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"]["exception"].get("description", "an exception"))
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(str(params["args"]))


def _pipe():
    """Both ends above the numbers that the browser wants."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return high
