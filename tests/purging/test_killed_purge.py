"""Killed before any of its writes, a purge is completed by the same command: the same files are left as by one that was not."""

import json
import shutil
import subprocess
import sys

import pytest
from kept_run import CHILD

KILLED = """
import json, os, shutil, signal, sys
from pathlib import Path

folder = Path(sys.argv[1])
from srlite.errors import InputError
from srlite.purging.job import purge, runs_under


def files(place):
    found = (p for p in place.rglob("*") if p.is_file() and p.name not in (".lock", ".owner"))
    return {p.relative_to(place).as_posix(): p.read_bytes().hex() for p in found}


def attempt(place, die_before):
    "In a process of its own, which kills itself before its n-th change on the disk; how it ended, and how many it made."
    os.environ["SRLITE_HOME"] = str(place / "home")
    reads, writes = os.pipe()
    if (child := os.fork()) == 0:
        made = [0]

        def hook(event, args):
            if event in ("os.rename", "os.remove"):
                if made[0] == die_before:
                    os.kill(os.getpid(), signal.SIGKILL)
                made[0] += 1

        sys.addaudithook(hook)
        try:
            purge({child!r}, runs=runs_under(place / "runs"))
            code = 0
        except InputError as error:
            code = 3
        os.write(writes, str(made[0]).encode())
        os._exit(code)
    _, status = os.waitpid(child, 0)
    os.close(writes)
    made = os.read(reads, 20).decode()
    os.close(reads)
    return os.waitstatus_to_exitcode(status), made


def fresh(name):
    shutil.copytree(folder / "whole", folder / name)
    return folder / name


undisturbed = fresh("undisturbed")
code, changes = attempt(undisturbed, -1)
expected, ends = files(undisturbed), []
for n in range(int(changes)):
    place = fresh(str(n))
    killed, _ = attempt(place, n)
    between = files(place)
    again, _ = attempt(place, -1)
    ends.append((killed, again, files(place) == expected, between == expected))
    shutil.rmtree(place)
print(json.dumps({"code": code, "changes": int(changes), "ends": ends}))
"""


@pytest.fixture
def whole(clinic, home):
    """Two runs: one names the child, of the other only the hashes of clips tell; and the caches."""
    (clinic / "whole").mkdir()
    for name in ("a", "d"):
        shutil.rmtree(clinic / "runs" / name)
    (clinic / "runs").rename(clinic / "whole" / "runs")
    home.rename(clinic / "whole" / "home")
    return clinic


def test_killed_anywhere_and_run_again(whole):
    code = KILLED.replace("{child!r}", repr(CHILD))
    done = subprocess.run([sys.executable, "-c", code, str(whole)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["code"] == 0 and found["changes"] > 25
    for n, (killed, again, the_same, was_done) in enumerate(found["ends"]):
        assert killed == -9, n
        assert the_same, f"killed before change {n}"
        assert again == (3 if was_done else 0), n  # once all is gone nobody knows the child any more
