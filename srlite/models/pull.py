"""`srlite models pull`: from a hub into the models' folder, verified before it is seen.

An order becomes a plan (what is to be fetched, at which commit), the disk is asked for room for all of them, and each is then
fetched file by file into a folder out of sight: small files first, since the index of the weights says what has to be there.
A file is compared with what the hub says of it (sha256 of LFS files, the git blob's sha1 of others) before it gets its name;
one that differs goes to quarantine. Last comes the lock, then the folder's name.

Stopped at any moment, the next pull hashes what is complete and goes on with the file that is not.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from srlite.errors import ModelError, UsageError
from srlite.files import BLOCK_BYTES, file_sha256, private_folder, require_space
from srlite.models import contents
from srlite.models.hub import Hub, RemoteFile, Snapshot
from srlite.models.lock import Lock, LockedFile, read_lock, write_lock, wrong_with
from srlite.models.placing import PART, disk_told, install, mine, one_at_a_time, recover, take_apart
from srlite.models.registry import ModelEntry, registry
from srlite.models.store import State, coming_of, damage, folder_of, models_folder, state
from srlite.models.telling import Tell, Told, from_here, nobody, readable


@dataclass(frozen=True, slots=True)
class Order:
    """A model, and the revision that was asked for; None: the one that is installed, or else the registry's."""

    entry: ModelEntry
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """`staged`: names of the files that are complete out of sight, with their sha256."""

    entry: ModelEntry
    snapshot: Snapshot
    staged: Mapping[str, str]

    @property
    def missing_bytes(self) -> int:
        files = [f for f in self.snapshot.files if f.name not in self.staged]
        return sum(f.bytes - min(f.bytes, _size(_part(self.entry, f))) for f in files)


def orders_from(words: Sequence[str], preset: str | None) -> list[Order]:
    """ID or ID@REVISION, and the pair of a preset. Raises UsageError."""
    orders = [Order(registry().model(name), revision or None) for name, _, revision in (w.partition("@") for w in words)]
    if preset:
        pair = registry().preset(preset)
        if registry().descriptors[pair.descriptor].bundled:
            raise UsageError(f"the models of the preset {preset} come with srlite: there is nothing to fetch")
        orders += [Order(registry().descriptors[pair.descriptor]), Order(registry().judges[pair.judge])]
    if not orders:
        raise UsageError("no model is named", remedy="Give names of `srlite models list`, or --preset NAME.")
    return list({order.entry.id: order for order in orders}.values())


def pull(orders: Sequence[Order], tell: Tell = nobody) -> None:
    """Bring the models here, or find that they are here and whole. Raises UsageError, ModelError or DeviceError."""
    with one_at_a_time(tell):
        hub = cache(Hub)  # no connection is opened, no library loaded, where nothing is missing
        plans = [plan for order in orders if (plan := _planned(order, hub, tell))]
        require_space(models_folder(), sum(plan.missing_bytes for plan in plans))
        for plan in plans:
            _carry_out(plan, hub(), tell)


# ---- planning -------------------------------------------------------------------------------------------------------


def _planned(order: Order, hub: Callable[[], Hub], tell: Tell) -> Plan | None:
    """None when nothing is to be done."""
    entry, folder = order.entry, folder_of(order.entry)
    recover(entry)
    found = state(entry)
    if found is State.BY_HAND:
        tell(Told(f"{entry.id} was placed by hand and is left as it is ({folder})"))
        return None
    ours, commit, snapshot = found is State.VERIFIED or damage(entry) is not None, _commit(folder), None
    if not ours:
        _check_free(entry, folder)
    if not ours or order.revision not in (None, commit):
        snapshot = hub().look_up(entry.repository, order.revision or entry.revision)
    if ours and (snapshot is None or snapshot.commit == commit):
        if _whole(entry, tell):
            tell(Told(f"{entry.id} is here, and its files are those of commit {str(commit)[:12]}"))
            return None
        take_apart(entry)
    snapshot = _chosen(entry, snapshot or hub().look_up(entry.repository, commit or entry.revision))
    return Plan(entry, snapshot, _staged(entry, snapshot, tell))


def _check_free(entry: ModelEntry, folder: Path) -> None:
    """Raises UsageError when something else lies in the model's place."""
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(
            f"in the place of {entry.id} lies something that srlite did not put there",
            where=str(folder),
            remedy="Complete it by hand, or move it away and pull again.",
        )


def _commit(folder: Path) -> str | None:
    try:
        lock = read_lock(folder)
    except ModelError:
        return None
    return lock.commit if lock else None


def _whole(entry: ModelEntry, tell: Tell) -> bool:
    """Whether the installed files are those of the lock. A file that is not goes to quarantine."""
    if damage(entry):
        return False
    lock, folder, whole, before = read_lock(folder_of(entry)), folder_of(entry), True, 0
    for file in lock.files:
        heard = from_here(tell, f"{entry.id} check", before, lock.bytes)
        if wrong := wrong_with(folder / file.name, file, heard):
            place = _quarantine(entry, folder / file.name, file.name)
            tell(Told(f"{entry.id}: {file.name} {wrong}; it was moved to {place}"))
            whole = False
        before += file.bytes
    return whole


def _chosen(entry: ModelEntry, snapshot: Snapshot) -> Snapshot:
    """The files that a model has a use for, the smallest first. Raises ModelError when they are no model or not vouched for."""
    where = f"{snapshot.repository} at {snapshot.commit[:12]}"
    files = tuple(sorted((f for f in snapshot.files if entry.owns(f.name)), key=lambda f: (f.bytes or 0, f.name)))
    contents.check_names(entry, {f.name for f in files}, where)
    if bare := [f.name for f in files if f.bytes is None or not (f.sha256 or f.git_sha1)]:
        raise ModelError(
            f"the hub does not say how long these files are or what their checksums are: {', '.join(bare)}",
            where=where,
            remedy="Nothing is fetched unverified: use a hub that says it (HF_ENDPOINT).",
        )
    return Snapshot(snapshot.repository, snapshot.commit, files)


def _staged(entry: ModelEntry, snapshot: Snapshot, tell: Tell) -> dict[str, str]:
    """What an earlier pull left complete; what it left of another revision is deleted."""
    coming, total = coming_of(entry), sum(f.bytes for f in snapshot.files)
    complete: dict[str, str] = {}
    with disk_told(coming):
        before = 0
        for file in snapshot.files:
            path = coming / file.name
            if path.is_file() and (digest := _verified(path, file, from_here(tell, f"{entry.id} check", before, total))):
                complete[file.name] = digest
            before += file.bytes
        wanted = {*complete, *(_part(entry, file).name for file in snapshot.files)}
        for path in coming.iterdir() if coming.exists() else ():
            if path.is_file() and mine(entry, path.name) and path.name not in wanted:
                path.unlink()
    return complete


# ---- fetching -------------------------------------------------------------------------------------------------------


def _carry_out(plan: Plan, hub: Hub, tell: Tell) -> None:
    entry, snapshot = plan.entry, plan.snapshot
    coming, total = private_folder(coming_of(entry)), sum(file.bytes for file in snapshot.files)
    tell(Told(f"{entry.id}: {snapshot.repository} at {snapshot.commit[:12]}, {readable(total)}, licence {entry.licence}"))
    before, locked = 0, []
    for file in snapshot.files:
        heard = from_here(tell, f"{entry.id} {file.name}", before, total)
        digest = plan.staged.get(file.name) or _fetched(entry, snapshot, file, hub, heard)
        if file.name == contents.INDEX:
            contents.check_index(coming / file.name, {f.name for f in snapshot.files}, snapshot.repository)
        locked.append(LockedFile(file.name, file.bytes, digest))
        before += file.bytes
        heard(file.bytes)
    write_lock(coming, Lock(entry.id, snapshot.repository, snapshot.commit, tuple(locked)))
    install(entry, coming)
    tell(Told(f"{entry.id}: installed, every file verified"))


def _fetched(entry: ModelEntry, snapshot: Snapshot, file: RemoteFile, hub: Hub, heard: Callable[[int], None]) -> str:
    """Its sha256, when it lies in its place. Raises ModelError for bytes that are not the hub's, which go to quarantine."""
    part = _part(entry, file)
    with disk_told(part):
        hub.fetch(snapshot, file, part, heard)
        with part.open("rb") as stream:
            os.fsync(stream.fileno())
        digest = _verified(part, file, lambda _: None)
        if digest is None:
            said = _difference(part, file)
            raise ModelError(
                f"{file.name} is not what the hub says of it: {said}. It was set aside and nothing was installed",
                where=str(_quarantine(entry, part, file.name)),
                remedy=f"Pull again: srlite models pull {entry.id}\nShould it differ again, something between here and the hub "
                "changes files (HF_ENDPOINT, a proxy). The file in quarantine may be deleted.",
            )
        os.replace(part, coming_of(entry) / file.name)
    return digest


def _part(entry: ModelEntry, file: RemoteFile) -> Path:
    """Named by what it will be: the beginning of another revision's file is never gone on with."""
    return coming_of(entry) / f"{file.name}.{(file.sha256 or file.git_sha1 or '')[:16]}{PART}"


def _verified(path: Path, file: RemoteFile, heard: Callable[[int], None]) -> str | None:
    """Its sha256 when it is the hub's file, None when it is not."""
    if path.stat().st_size != file.bytes:
        return None
    digest = file_sha256(path, heard)
    same = digest == file.sha256 if file.sha256 else _git_sha1(path) == file.git_sha1
    return digest if same else None


def _git_sha1(path: Path) -> str:
    """What git names a file's content by."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as stream:
        while block := stream.read(BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _difference(path: Path, file: RemoteFile) -> str:
    if (size := path.stat().st_size) != file.bytes:
        return f"{size:,} bytes came where the hub says {file.bytes:,}"
    found, said = (file_sha256(path), file.sha256) if file.sha256 else (_git_sha1(path), file.git_sha1)
    return f"its checksum is {found[:12]}... where the hub says {str(said)[:12]}..."


def _quarantine(entry: ModelEntry, path: Path, name: str) -> Path:
    """Move a file out of the way, in the place of one that was there before. Returns where it is now."""
    place = private_folder(models_folder() / "quarantine" / entry.id) / name
    with disk_told(place):
        os.replace(path, place)
    return place


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
