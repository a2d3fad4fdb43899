"""Before a long job: can every clip be opened at all? Cheap, since nothing is decoded."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from srlite.errors import InputError
from srlite.video.reader import ClipReader

_LISTED = 20


def refuse_unreadable(paths: Iterable[Path], *, limit_s: float) -> None:
    """Probe each clip once. Raises one InputError that names all clips that cannot be opened, with the reason."""
    problems = []
    with ClipReader(limit_s=limit_s) as reader:
        for path in sorted(set(paths)):
            try:
                reader.probe(path)
            except InputError as error:
                problems.append(f"{path.name}: {error.message}")
    if problems:
        more = f"\n... and {len(problems) - _LISTED} more" if len(problems) > _LISTED else ""
        raise InputError(
            f"{len(problems)} clips cannot be read:\n" + "\n".join(problems[:_LISTED]) + more,
            remedy="Replace these files, or leave their rows out.",
        )
