"""Writing files: whole or not there, for their owner only, and a full disk said before and while."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import time

import pytest

from srlite.errors import DeviceError
from srlite.files import append_private, private_folder, remove_leftovers, require_space, write_private


def test_modes_and_contents(tmp_path):
    write_private(tmp_path / "a" / "b" / "c.txt", "走路\n")
    append_private(tmp_path / "a" / "b" / "c.txt", "more\n")
    assert (tmp_path / "a" / "b" / "c.txt").read_text(encoding="utf-8") == "走路\nmore\n"
    assert stat.S_IMODE((tmp_path / "a" / "b" / "c.txt").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


def test_a_write_that_the_system_refuses_keeps_the_old_content(tmp_path):
    """With a limit on the size of files, in a process of its own: EFBIG while writing."""
    code = f"""
import resource, signal, sys
from pathlib import Path
from srlite.files import write_private
from srlite.errors import DeviceError
path = Path({str(tmp_path)!r}) / "kept.bin"
write_private(path, b"old")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_private(path, bytes(5000))
except DeviceError as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert "kept.bin" in found.stdout and "5,000 bytes" in found.stdout and "Free some space" in found.stdout
    assert [p.name for p in tmp_path.iterdir()] == ["kept.bin"] and (tmp_path / "kept.bin").read_bytes() == b"old"


def test_too_little_space_is_said_with_what_is_missing(tmp_path):
    require_space(tmp_path, 1)
    free = shutil.disk_usage(tmp_path).free
    with pytest.raises(DeviceError, match=r"the disk is full: [\d,]+ bytes are to be written and [\d,]+ of them are missing"):
        require_space(tmp_path, free + 10**15)


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path):
    """SIGKILL while a large file is written."""
    for name in ("mine.part", ".hidden", "keep.txt"):
        (tmp_path / name).write_text(name)
    code = (
        "from pathlib import Path; from srlite.files import write_private\n"
        f"while True: write_private(Path({str(tmp_path)!r}) / 'sub' / 'large.bin', bytes(20_000_000))"
    )
    child = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("sub/.*.part")) and time.monotonic() < deadline:
        time.sleep(0.001)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    whole = [p.stat().st_size for p in tmp_path.glob("sub/large.bin")]
    assert whole in ([], [20_000_000])
    remove_leftovers(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [".hidden", "keep.txt", "mine.part", "sub"]
    assert not list(tmp_path.glob("sub/.*")) and os.access(tmp_path / "keep.txt", os.R_OK)


def test_a_file_in_the_way_of_a_folder_is_named(tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(DeviceError, match="taken"):
        private_folder(tmp_path / "taken")
