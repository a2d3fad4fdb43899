"""`srlite models export` and `import`: models carried to a machine without a network. No connection is opened.

FOLDER/<id>/ holds a model's files and its lock. Both ways every file is hashed while it is copied, and the copy gets its name
when it is complete. What is imported is looked at with suspicion: only files that the lock names and a model has a use for
are taken (so no pickles and no code), and no links and no folders are followed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from srlite.errors import ModelError, UsageError
from srlite.files import BLOCK_BYTES, private_folder, require_space
from srlite.models import contents, lock
from srlite.models.lock import Lock, LockedFile, check_lock, read_lock, write_lock
from srlite.models.placing import disk_told, install, one_at_a_time, recover
from srlite.models.registry import ModelEntry, registry
from srlite.models.store import State, coming_of, damage, folder_of, models_folder, remedy, state
from srlite.models.telling import Tell, Told, from_here, nobody

_DROPPINGS = (".DS_Store", "Thumbs.db", "desktop.ini")
"""What file managers leave on a stick; so are names that begin with ._"""


def export_models(names: Sequence[str], folder: Path, tell: Tell = nobody) -> list[Path]:
    """Copy the named models, or all that have a lock, to `folder`. Raises UsageError, ModelError or DeviceError."""
    known = registry()
    entries = [known.model(name) for name in names] or [e for e in known.published.values() if state(e) is State.VERIFIED]
    if not entries:
        said = "no model is here that was pulled or imported"
        raise ModelError(said, where=str(models_folder()), remedy="Fetch one: srlite models pull --preset NAME")
    locks = [(entry, _lock_of(entry)) for entry in entries]
    private_folder(folder)
    wanted = [(entry, found) for entry, found in locks if not _is_there(folder / entry.id, found, tell)]
    require_space(folder, sum(found.bytes for _, found in wanted))
    for entry, found in wanted:
        ready = _fresh(folder / f".{entry.id}.part")
        _copy(folder_of(entry), ready, found, tell)
        with disk_told(folder):
            os.rename(ready, folder / entry.id)
        tell(Told(f"{entry.id}: copied to {folder / entry.id}, every file verified"))
    return [folder / entry.id for entry in entries]


def import_models(folder: Path, tell: Tell = nobody) -> list[ModelEntry]:
    """Install every model that lies in `folder`, or the one that it is. Raises UsageError, ModelError or DeviceError."""
    found = [(source, *_accepted(source)) for source in _sources(folder)]
    with one_at_a_time(tell):
        wanted = [(source, entry, locked) for source, entry, locked in found if not _is_installed(entry, locked, tell)]
        require_space(models_folder(), sum(locked.bytes for _, _, locked in wanted))
        for source, entry, locked in wanted:
            ready = _fresh(coming_of(entry).with_name(f"{entry.id}.import"))
            _copy(source, ready, locked, tell)
            _check_index(ready, locked)
            install(entry, ready)
            tell(Told(f"{entry.id}: installed, every file verified"))
    return [entry for _, entry, _ in found]


# ---- out ------------------------------------------------------------------------------------------------------------


def _lock_of(entry: ModelEntry) -> Lock:
    """Of a model that can be exported. Raises ModelError."""
    found = state(entry)
    if found is State.BY_HAND:
        raise ModelError(
            f"{entry.id} was placed by hand: there is no lock to check a copy against",
            where=str(folder_of(entry)),
            remedy="Copy its folder by hand, or move it away and pull the model.",
        )
    if found is not State.VERIFIED:
        raise ModelError(
            f"{entry.id} is {found}" + (f": {said}" if (said := damage(entry)) else ""),
            where=str(folder_of(entry)),
            remedy=remedy(entry),
        )
    return read_lock(folder_of(entry))


def _is_there(target: Path, wanted: Lock, tell: Tell) -> bool:
    """Whether the same model was exported to that place before. Raises UsageError when another one is there."""
    if not target.exists():
        return False
    if read_lock(target) == wanted and not any(lock.short_of(target / f.name, f) for f in wanted.files):
        tell(Told(f"{wanted.id} is there already ({target})"))
        return True
    raise UsageError("something else is there already", where=str(target), remedy="Give another folder, or move it away.")


# ---- in -------------------------------------------------------------------------------------------------------------


def _sources(folder: Path) -> list[Path]:
    """Folders with a lock. Raises UsageError or ModelError."""
    if not folder.is_dir():
        raise UsageError("there is no such folder", where=str(folder))
    if (folder / lock.NAME).is_file():
        return [folder]
    inside = sorted(p for p in folder.iterdir() if not p.name.startswith(".") and p.is_dir() and not p.is_symlink())
    found = [p for p in inside if (p / lock.NAME).is_file()]
    if not found:
        raise ModelError(
            "no exported model is in it",
            where=str(folder),
            remedy="It is made by `srlite models export FOLDER`. A folder or GGUF file of your own needs no import: "
            "give its path by --descriptor or --judge.",
        )
    return found


def _accepted(source: Path) -> tuple[ModelEntry, Lock]:
    """The model that a folder claims to hold. Raises ModelError when there is anything odd about it."""
    names = [p.name for p in source.iterdir() if p.name not in _DROPPINGS and not p.name.startswith("._")]
    if odd := sorted(name for name in names if not stat.S_ISREG((source / name).lstat().st_mode)):
        raise _refused(source, f"a link or a folder lies in it: {', '.join(odd)}")
    found = read_lock(source)
    if found.id not in registry().published:
        raise _refused(source, f"models.toml knows no model {found.id!r}")
    entry = registry().published[found.id]
    check_lock(found, entry, source)
    locked = {file.name for file in found.files}
    contents.check_names(entry, locked, str(source))
    if odd := sorted(set(names) - locked - {lock.NAME}):
        raise _refused(source, f"files lie in it that its lock does not name: {', '.join(odd)}")
    if missing := sorted(locked - set(names)):
        raise _refused(source, f"files that its lock names are missing: {', '.join(missing)}")
    return entry, found


def _is_installed(entry: ModelEntry, wanted: Lock, tell: Tell) -> bool:
    """Raises UsageError when a person placed something there by hand."""
    recover(entry)
    folder = folder_of(entry)
    if damage(entry) is None and read_lock(folder) == wanted:
        tell(Told(f"{entry.id} is here already (commit {wanted.commit[:12]})"))
        return True
    if state(entry) is State.BY_HAND or (folder.exists() and any(folder.iterdir()) and not (folder / lock.NAME).exists()):
        raise UsageError(
            f"in the place of {entry.id} lies something that srlite did not put there",
            where=str(folder),
            remedy="Move it away and import again.",
        )
    return False


def _check_index(folder: Path, found: Lock) -> None:
    names = {file.name for file in found.files}
    if contents.INDEX in names:
        contents.check_index(folder / contents.INDEX, names, str(folder))


def _refused(source: Path, what: str) -> ModelError:
    return ModelError(what, where=str(source), remedy="Nothing was imported. Export the model again where it came from.")


# ---- both -----------------------------------------------------------------------------------------------------------


def _fresh(folder: Path) -> Path:
    """An empty folder in the place of what a killed copy left."""
    with disk_told(folder):
        if folder.exists():
            shutil.rmtree(folder)
    return private_folder(folder)


def _copy(source: Path, ready: Path, found: Lock, tell: Tell) -> None:
    """Every file of the lock, hashed on the way, and then the lock. Raises ModelError for one that is not what it says."""
    before = 0
    for file in found.files:
        digest = _copied(source, ready, file, from_here(tell, f"{found.id} copy", before, found.bytes))
        if digest != file.sha256:
            shutil.rmtree(ready, ignore_errors=True)
            raise ModelError(
                f"{file.name} is damaged: its sha256 is {digest[:12]}... where the lock says {file.sha256[:12]}...",
                where=str(source / file.name),
                remedy=f"It was not copied. Get {found.id} again where it came from (srlite models pull {found.id}).",
            )
        before += file.bytes
    write_lock(ready, found)


def _copied(source: Path, ready: Path, file: LockedFile, heard: Callable[[int], None]) -> str:
    """The sha256 of what was read, at most a byte more than the lock says."""
    digest, done = hashlib.sha256(), 0
    with disk_told(ready), _opened(source / file.name) as stream, _made(ready / file.name) as out:
        while done <= file.bytes and (block := stream.read(min(BLOCK_BYTES, file.bytes + 1 - done))):
            digest.update(block)
            out.write(block)
            done += len(block)
            heard(done)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


def _opened(path: Path):
    """For reading, but not through a link that took a file's place after it was looked at."""
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb")


def _made(path: Path):
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
