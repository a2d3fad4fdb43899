"""Where models and caches lie on this machine, and whether a named model is there.

SRLITE_HOME, or else the user's data folder
  models/<id>/...          a model: pulled or imported, with srlite-lock.json; or placed by hand, without
  models/.coming/<id>/     a pull that is not finished; never taken for a model
  models/quarantine/<id>/  files that were not what the hub says of them
  cache/features  cache/frames  cache/verdicts.sqlite

Files are not hashed here: a lock vouches for them (`srlite models verify` hashes), and their lengths are looked at.
"""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass
from pathlib import Path

from srlite.errors import ModelError
from srlite.models import contents
from srlite.models.lock import check_lock, read_lock, short_of
from srlite.models.registry import ModelEntry, registry
from srlite.models.telling import readable

BUNDLED = Path(__file__).parents[1] / "demo" / "models"


class State(enum.StrEnum):
    """What is there of a model of the registry."""

    BUNDLED = "bundled"
    VERIFIED = "verified"  # its files were those of the hub when they came, and have the lengths they had
    BY_HAND = "installed"  # put there by a person: no lock says what it should be
    INCOMPLETE = "incomplete"
    ABSENT = "not installed"


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model that is there: a folder (descriptor) or a GGUF file (judge)."""

    id: str
    path: Path
    family: str | None
    """None for a model given by path: read from its own files."""
    demonstration: bool


def home() -> Path:
    """The folder for everything that srlite keeps between runs."""
    if given := os.environ.get("SRLITE_HOME"):
        return Path(given)
    import platformdirs

    return Path(platformdirs.user_data_dir("srlite"))


def cache_folder() -> Path:
    return home() / "cache"


def models_folder() -> Path:
    return home() / "models"


def folder_of(entry: ModelEntry) -> Path:
    """Of a model that is not bundled."""
    return models_folder() / entry.id


def coming_of(entry: ModelEntry) -> Path:
    """Where it is put together."""
    return models_folder() / ".coming" / entry.id


def find_descriptor(name: str) -> InstalledModel:
    """A descriptor by its registry name or by the path of a model folder. Raises ModelError with the remedy."""
    return _find(name, registry().descriptors.get(name), "descriptor")


def find_judge(name: str) -> InstalledModel:
    """A judge by its registry name or by the path of a GGUF file. Raises ModelError with the remedy."""
    return _find(name, registry().judges.get(name), "judge")


def installed(entry: ModelEntry) -> bool:
    return state(entry) in (State.BUNDLED, State.VERIFIED, State.BY_HAND)


def state(entry: ModelEntry) -> State:
    if entry.bundled:
        return State.BUNDLED
    folder = folder_of(entry)
    if damage(entry):
        return State.INCOMPLETE
    if read_lock(folder):
        return State.VERIFIED
    if (folder / (entry.file or contents.CONFIG)).is_file():
        return State.BY_HAND
    return State.INCOMPLETE if _holds_something(folder) or _holds_something(coming_of(entry)) else State.ABSENT


def damage(entry: ModelEntry) -> str | None:
    """What is wrong, by its lock, with a model that was complete once; None where there is no lock."""
    folder = folder_of(entry)
    try:
        lock = read_lock(folder)
        if lock is None:
            return None
        check_lock(lock, entry, folder)
    except ModelError as error:
        return error.message
    wrong = [(file.name, short_of(folder / file.name, file)) for file in lock.files]
    return "; ".join(f"{name} {said}" for name, said in wrong if said) or None


def location(entry: ModelEntry) -> Path:
    """What a job opens: the folder of a descriptor, the file of a judge."""
    if entry.bundled:
        return BUNDLED / entry.bundled
    return folder_of(entry) / entry.file if entry.file else folder_of(entry)


def remedy(entry: ModelEntry) -> str:
    """The commands that bring a missing model."""
    presets = registry().presets_with(entry.id)
    pair = f", or with its partner: srlite models pull --preset {presets[0]}" if presets else ""
    about = f" (about {readable(entry.download_bytes)})" if entry.download_bytes else ""
    return (
        f"Fetch it from {entry.repository}{about}: srlite models pull {entry.id}{pair}\n"
        "Without a network: srlite models import FOLDER, after `srlite models export FOLDER` on another machine."
    )


def _holds_something(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _find(name: str, entry: ModelEntry | None, role: str) -> InstalledModel:
    if entry is not None:
        if not installed(entry):
            raise _not_installed(role, entry)
        return InstalledModel(name, location(entry), entry.family, demonstration=entry.bundled is not None)
    path = Path(name)
    if not path.exists():
        known = registry().descriptors if role == "descriptor" else registry().judges
        raise ModelError(f"there is no {role} {name!r}", remedy=f"Give a path, or one of: {', '.join(known)}.")
    return InstalledModel(path.name, path, None, demonstration=False)


_YOURS = {"descriptor": "a model's folder", "judge": "a GGUF file"}


def _not_installed(role: str, entry: ModelEntry) -> ModelError:
    wrong = damage(entry)
    what = f"is damaged: {wrong}" if wrong else "is incomplete" if state(entry) is State.INCOMPLETE else "is not installed"
    own = f"Or put the path of {_YOURS[role]} in the place of the name {entry.id}."
    return ModelError(f"the {role} {entry.id} {what}", where=str(location(entry)), remedy=f"{remedy(entry)}\n{own}")
