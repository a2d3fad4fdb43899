"""Groups and rewards on disk: one JSON line a group, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from srlite.files import write_private
from srlite.types import Group, Pair, Reward, Rollout


def write_groups(groups: Sequence[Group], path: Path) -> None:
    write_private(path, "".join(_line(asdict(group)) for group in groups))


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
