"""Commands that are printed to be typed, quoted for a shell."""

from __future__ import annotations

import shlex
from pathlib import Path


def typed(*words: object) -> str:
    """`srlite` and these words, as one types them."""
    return shlex.join(["srlite", *map(str, words)])


def to_resume(run: Path) -> str:
    """Goes on with a run that is not finished; ITEMS_CSV and VIDEOS are left to the user."""
    return typed("train", "ITEMS_CSV", "VIDEOS", "--run", run, "--resume")


def to_evaluate(run: Path) -> str:
    """Measures a finished run; ITEMS_CSV and VIDEOS are left to the user."""
    return typed("evaluate", "ITEMS_CSV", "VIDEOS", "--run", run, "--compare", "base")
