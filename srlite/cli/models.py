"""srlite models ..."""

from __future__ import annotations

from srlite.cli.guard import guarded
from srlite.cli.options import Debug, Json, Quiet


@guarded
def models_list(json: Json = False, quiet: Quiet = False, debug: Debug = False, *, screen) -> None:
    """Models and presets, and which of them are installed."""
    from srlite.models.registry import registry
    from srlite.models.store import installed

    known = registry()
    entries = [*known.descriptors.values(), *known.judges.values()]
    if json:
        screen.json(
            {
                "schema": "srlite.models/1",
                "models": [
                    {
                        "id": e.id,
                        "role": e.role,
                        "family": e.family,
                        "repository": e.repository,
                        "licence": e.licence,
                        "installed": installed(e),
                    }
                    for e in entries
                ],
            }
        )
        return
    screen.table(
        "Models",
        ("role", "id", "source", "licence", "installed"),
        [
            (
                e.role,
                e.id,
                e.repository or "bundled demonstration model",
                e.licence,
                "yes" if installed(e) else "no",
            )
            for e in entries
        ],
    )
