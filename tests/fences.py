"""What a test puts around a process: eyes on its sockets, a user without root's rights, a disk of a few megabytes."""

import ctypes
import os
import shutil
import subprocess
import sys

SITE = """
import sys
def hook(event, args):
    if event in ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto", "socket.gethostbyname"):
        with open({log!r}, "a") as out:
            print(event, args, file=out)
sys.addaudithook(hook)
"""
SMALL_DISK = 'mount -t tmpfs -o size="$1" tmpfs "$2" && "$3" -c "$4" "$2" "$5" && cp -a "$2/." "$5"'


def without_the_rights_of_root():
    """Root may write anywhere; what is started after this may not, even where it owns the file."""
    libc, drop_from_bounding_set = ctypes.CDLL(None), 24
    for capability in range(4):  # CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
        libc.prctl(drop_from_bounding_set, capability, 0, 0, 0)


def on_a_small_disk(code, tmp_path, *, size, env=None):
    """Run Python code with sys.argv[1], a folder on a disk of that size; sys.argv[2] gets a copy of it in the end."""
    (mount := tmp_path / "mount").mkdir()
    (kept := tmp_path / "kept").mkdir()
    words = ["unshare", "-Urm", "sh", "-c", SMALL_DISK, "sh", size, str(mount), sys.executable, code, str(kept)]
    return kept, subprocess.run(words, capture_output=True, text=True, env={**os.environ, **(env or {})})


def can_mount(tmp_path):
    (probe := tmp_path / "probe").mkdir()
    words = ["unshare", "-Urm", "mount", "-t", "tmpfs", "tmpfs", str(probe)]
    return bool(shutil.which("unshare")) and subprocess.run(words, capture_output=True).returncode == 0
