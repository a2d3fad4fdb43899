"""Groups and rewards on disk, one JSON line a group.

Sampling takes hours on a real card, so groups are on disk as soon as they are sampled, in a file that is replaced when the
slice is complete: by then in the order of the slice, also where a clip could be read only the second time. Rewards are
written whole: their verdicts are in the judge's cache already.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from srlite.files import append_private, private_folder, write_private
from srlite.types import Group, Pair, Reward, Rollout


def unfinished(path: Path) -> Path:
    """Where the groups of a slice stand until it is complete."""
    return path.with_suffix(".unfinished.jsonl")


def add_groups(groups: Sequence[Group], path: Path) -> None:
    """More groups of the slice, on the disk when this returns. Raises DeviceError."""
    append_private(private_folder(path.parent) / unfinished(path).name, "".join(_line(asdict(group)) for group in groups))


def groups_so_far(path: Path) -> list[Group]:
    """The groups of a slice that was not completed; a line that a power cut left half is dropped from the file."""
    part = unfinished(path)
    if not part.exists():
        return []
    whole = part.read_text(encoding="utf-8").rpartition("\n")[0]
    write_private(part, whole + "\n" if whole else "")
    return [_group(json.loads(line)) for line in whole.splitlines()]


def complete_groups(groups: Sequence[Group], path: Path) -> None:
    """The slice is sampled: from now on `path` is there."""
    write_private(path, "".join(_line(asdict(group)) for group in groups))
    unfinished(path).unlink(missing_ok=True)


def read_groups(path: Path) -> list[Group]:
    return [_group(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def write_rewards(rewards: Sequence[Sequence[Reward]], path: Path) -> None:
    """Rewards of groups, in the groups' order."""
    write_private(path, "".join(_line([asdict(r) for r in group]) for group in rewards))


def read_rewards(path: Path) -> list[tuple[Reward, ...]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [tuple(Reward(**r) for r in json.loads(line)) for line in lines]


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False) + "\n"


def _group(line: dict) -> Group:
    rollouts = tuple(Rollout(tuple(r["tokens"]), tuple(r["logprobs"]), r["text"], r["finished"]) for r in line["rollouts"])
    return Group(Pair(**line["pair"]), line["prompt"], rollouts)
