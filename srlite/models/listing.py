"""The models and presets of the registry, and what is here of them, as one document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from srlite.errors import ModelError
from srlite.models.lock import Lock, read_lock
from srlite.models.registry import ModelEntry, registry
from srlite.models.store import State, folder_of, installed, location, state


def models_document(fits: Mapping[str, str] | None = None) -> dict[str, object]:
    """`fits`: words on whether a model fits the card that is here, by its id."""
    known = registry()
    return {
        **document_of((*known.descriptors.values(), *known.judges.values()), fits),
        "presets": [
            {
                "name": preset.name,
                "card_gb": preset.card_gb,
                "descriptor": preset.descriptor,
                "judge": preset.judge,
                "installed": installed(known.descriptors[preset.descriptor]) and installed(known.judges[preset.judge]),
            }
            for preset in known.presets.values()
        ],
    }


def document_of(entries: Iterable[ModelEntry], fits: Mapping[str, str] | None = None) -> dict[str, object]:
    return {"schema": "srlite.models/1", "models": [_row(entry, fits or {}) for entry in entries]}


def _row(entry: ModelEntry, fits: Mapping[str, str]) -> dict[str, object]:
    found, lock = state(entry), _lock(entry)
    return {
        "id": entry.id,
        "role": entry.role,
        "family": entry.family,
        "repository": entry.repository,
        "revision": entry.revision if entry.repository else None,
        "licence": entry.licence,
        "bytes": _bytes(entry, lock),
        "installed": installed(entry),
        "state": str(found),
        "commit": lock.commit if lock else None,
        "path": str(location(entry)) if installed(entry) else None,
        "fits": fits.get(entry.id),
    }


def _bytes(entry: ModelEntry, lock: Lock | None) -> int | None:
    """Exact where a lock or the files themselves say it."""
    if lock:
        return lock.bytes
    if state(entry) is State.BUNDLED:
        path = location(entry)
        return sum(p.stat().st_size for p in path.iterdir()) if path.is_dir() else path.stat().st_size
    return entry.download_bytes


def _lock(entry: ModelEntry) -> Lock | None:
    try:
        return None if entry.bundled else read_lock(folder_of(entry))
    except ModelError:
        return None
