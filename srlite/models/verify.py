"""`srlite models verify`: every file of an installed model read again and compared with its lock. No connection is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from srlite.errors import ModelError
from srlite.models import lock
from srlite.models.lock import check_lock, read_lock, wrong_with
from srlite.models.registry import ModelEntry, registry
from srlite.models.store import State, folder_of, remedy, state
from srlite.models.telling import Tell, from_here, nobody


@dataclass(frozen=True, slots=True)
class WrongFile:
    name: str
    said: str


@dataclass(frozen=True, slots=True)
class Report:
    """What was found of a model. `locked` False: it was placed by hand, and nothing says what it should be."""

    id: str
    locked: bool
    commit: str | None
    wrong: tuple[WrongFile, ...]


def verify(names: Sequence[str], tell: Tell = nobody) -> list[Report]:
    """The named models, or all that are here. Raises UsageError for unknown names, ModelError for models that are not here."""
    known = registry()
    entries = [known.model(name) for name in names] or [e for e in known.published.values() if _is_here(e)]
    for entry in entries:
        if not _is_here(entry):
            raise ModelError(f"{entry.id} is not installed", where=str(folder_of(entry)), remedy=remedy(entry))
    return [_report(entry, tell) for entry in entries]


def _is_here(entry: ModelEntry) -> bool:
    return state(entry) in (State.VERIFIED, State.BY_HAND) or (folder_of(entry) / lock.NAME).exists()


def _report(entry: ModelEntry, tell: Tell) -> Report:
    folder = folder_of(entry)
    try:
        found = read_lock(folder)
        if found is None:
            return Report(entry.id, False, None, ())
        check_lock(found, entry, folder)
    except ModelError as error:
        return Report(entry.id, True, None, (WrongFile(lock.NAME, error.message),))
    wrong, before = [], 0
    for file in found.files:
        said = wrong_with(folder / file.name, file, from_here(tell, f"{entry.id} check", before, found.bytes))
        wrong += [WrongFile(file.name, said)] if said else []
        before += file.bytes
    return Report(entry.id, True, found.commit, tuple(wrong))
