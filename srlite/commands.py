"""Commands that a remedy names, with the run's folder quoted for a shell; ITEMS_CSV and VIDEOS are left to the user."""

from __future__ import annotations

import shlex
from pathlib import Path


def to_resume(run: Path) -> str:
    """Goes on with a run that is not finished."""
    return f"srlite train ITEMS_CSV VIDEOS --run {shlex.quote(str(run))} --resume"


def to_evaluate(run: Path) -> str:
    """Measures a finished run."""
    return f"srlite evaluate ITEMS_CSV VIDEOS --run {shlex.quote(str(run))} --compare base"
