"""The verdict cache: keys, transactions, two processes, kill -9, broken and read-only files."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from srlite.errors import DeviceError
from srlite.judge.answers import Masses
from srlite.judge.cache import VerdictCache, verdict_key

GROUP = 64
WRITER = """
import sys
from pathlib import Path
from srlite.judge.answers import Masses
from srlite.judge.cache import VerdictCache
cache = VerdictCache(Path(sys.argv[1]), 30.0)
for group in range(int(sys.argv[3])):
    cache.put({f"{sys.argv[2]}/{group}/{i}": Masses(0.25, 0.5) for i in range(int(sys.argv[4]))})
    print(group, flush=True)
"""


def writer(path: Path, name: str, groups: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), name, str(groups), str(GROUP)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def rows_by_group(path: Path) -> dict[str, int]:
    with sqlite3.connect(path) as connection:
        keys = [key for (key,) in connection.execute("SELECT key FROM verdict")]
    groups = [key.rsplit("/", 1)[0] for key in keys]
    return {group: groups.count(group) for group in set(groups)}


def test_the_key_names_its_hash_and_covers_everything_read() -> None:
    key = verdict_key("a" * 64, "qwen3", ["S", "d", "q"])
    assert key.startswith("sha256:")
    assert len(key) == 7 + 64
    others = [
        verdict_key("b" * 64, "qwen3", ["S", "d", "q"]),
        verdict_key("a" * 64, "qwen2", ["S", "d", "q"]),
        verdict_key("a" * 64, "qwen3", ["S2", "d", "q"]),
        verdict_key("a" * 64, "qwen3", ["S", "d2", "q"]),
        verdict_key("a" * 64, "qwen3", ["S", "d", "q2"]),
        verdict_key("a" * 64, "qwen3", ["Sd", "", "q"]),
    ]
    assert len({key, *others}) == 7
    assert verdict_key("a" * 64, "qwen3", ["\ud800"]) != verdict_key("a" * 64, "qwen3", ["?"])


def test_what_was_put_is_there_for_the_next_process_in_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "verdicts.sqlite"
    with VerdictCache(path, 1.0) as cache:
        cache.put({f"k{i}": Masses(0.3, 0.1) for i in range(1200)})
    with VerdictCache(path, 1.0) as cache:
        found = cache.get([*(f"k{i}" for i in range(1200)), "unknown"])
        assert cache.notes == []
    assert len(found) == 1200
    assert (found["k7"].yes, found["k7"].no) == pytest.approx((0.3, 0.1))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT probability, mass FROM verdict").fetchone() == pytest.approx((0.75, 0.4))


def test_no_mass_at_all_survives(tmp_path: Path) -> None:
    with VerdictCache(tmp_path / "v.sqlite", 1.0) as cache:
        cache.put({"k": Masses(0.0, 0.0)})
        assert cache.get(["k"]) == {"k": Masses(0.0, 0.0)}


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    both = [writer(path, name, 20) for name in ("a", "b")]
    assert [process.wait(30) for process in both] == [0, 0]
    for process in both:
        process.stdout.close()
    assert rows_by_group(path) == {f"{name}/{group}": GROUP for name in ("a", "b") for group in range(20)}


def test_one_of_two_writers_killed_does_not_disturb_the_other(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    victim, other = writer(path, "victim", 10**6), writer(path, "other", 60)
    for process in (victim, other):
        process.stdout.readline()  # both are at work
    victim.kill()
    assert victim.wait() == -signal.SIGKILL
    assert other.wait(60) == 0
    for process in (victim, other):
        process.stdout.close()
    with VerdictCache(path, 1.0) as cache:
        assert cache.notes == []
    counts = rows_by_group(path)
    assert {group for group in counts if group.startswith("other/")} == {f"other/{group}" for group in range(60)}
    assert set(counts.values()) == {GROUP}


def test_kill_9_leaves_whole_groups(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    process = writer(path, "a", 10**6)
    for _ in range(5):
        process.stdout.readline()
    process.kill()
    process.wait()
    process.stdout.close()
    with VerdictCache(path, 1.0) as cache:
        assert cache.notes == []
        cache.put({"after/0/0": Masses(1.0, 0.0)})
    counts = rows_by_group(path)
    assert counts.pop("after/0") == 1
    assert len(counts) >= 5
    assert set(counts.values()) == {GROUP}


def test_a_lock_held_too_long_is_said_and_nothing_is_lost_of_before(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    with VerdictCache(path, 0.1) as cache:
        cache.put({"k": Masses(1.0, 0.0)})
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DeviceError, match="locked") as caught:
            cache.put({"k2": Masses(1.0, 0.0)})
        assert caught.value.where == str(path)
        assert cache.get(["k", "k2"]) == {"k": Masses(1.0, 0.0)}
        other.execute("ROLLBACK")
        other.close()
        cache.put({"k2": Masses(1.0, 0.0)})
        assert set(cache.get(["k", "k2"])) == {"k", "k2"}


def test_a_text_file_in_its_place_is_set_aside_and_named(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    path.write_text("not a database, but somebody's notes " * 100)
    with VerdictCache(path, 1.0) as cache:
        cache.put({"k": Masses(1.0, 0.0)})
        assert cache.get(["k"]) == {"k": Masses(1.0, 0.0)}
        (aside,) = tmp_path.glob("v.sqlite.broken-*")
        assert aside.read_text().startswith("not a database")
        assert aside.name in cache.notes[0]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_damage_found_while_reading_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    with VerdictCache(path, 1.0) as cache:
        cache.put({f"k{i}": Masses(1.0, 0.0) for i in range(5000)})
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)  # the first page, with the table's name, stays whole
    path.write_bytes(data)
    with VerdictCache(path, 1.0) as cache:
        assert cache.get(["k1"]) == {}
        assert "set aside" in cache.notes[0]
        cache.put({"k1": Masses(0.0, 1.0)})
        assert cache.get(["k1"]) == {"k1": Masses(0.0, 1.0)}


READER = """
import os, sys
from pathlib import Path
from srlite.judge.answers import Masses
from srlite.judge.cache import VerdictCache
if os.getuid() == 0:  # root may write anything: go on as nobody
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
with VerdictCache(Path(sys.argv[1]), 1.0) as cache:
    cache.put({"new": Masses(1.0, 0.0)})
    print(sorted(cache.get(["k", "new"])), "read from it only" in cache.notes[0], len(cache.notes))
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can enter; pytest's own ones are private."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)
        Path(name).chmod(0o755)


def test_a_read_only_cache_is_read_and_not_written(open_folder: Path) -> None:
    path = open_folder / "v.sqlite"
    with VerdictCache(path, 1.0) as cache:
        cache.put({"k": Masses(1.0, 0.0)})
    path.chmod(0o444)
    open_folder.chmod(0o555)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", READER, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.stdout.strip(), done.stderr) == ("['k'] True 1", "")


def test_a_folder_that_cannot_be_made_is_a_device_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DeviceError, match="cannot be made"):
        VerdictCache(tmp_path / "file" / "v.sqlite", 1.0)
