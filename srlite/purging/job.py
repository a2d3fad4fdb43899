"""`srlite purge`: forget a child. Lists what it would remove, and removes it when told to.

    kept frames and features of its clips      in the caches
    rows, rollouts, log lines, cases, reviews  in every run that knows the child (parts.py)
    report.html                                as a whole: `srlite report` makes it again

Contract: nothing else of anybody's is lost, the clinic's videos and items.csv are not touched. A run that a process works in is
refused before anything is removed. Killed at any moment, the same command again completes it. What cannot forget is named: an
adapter that was trained on the child. A run that lost rows is marked (training/purged.py): it cannot be resumed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from srlite.clipcache import FEATURES, FRAMES, entries_of, older_entries
from srlite.errors import UsageError
from srlite.files import remove_for_good, remove_leftovers
from srlite.models.store import cache_folder
from srlite.purging.parts import CONTENTS, LISTS, affected, settle, strangers, take_out, today
from srlite.purging.whom import Found, Known, Whom, find, read_known
from srlite.training.owner import sole_owner
from srlite.training.purged import add_mark

SCHEMA = "srlite.purge/1"
STORES = (FRAMES, FEATURES)


@dataclass(frozen=True, slots=True)
class Removal:
    """`count` entries of a file, or in the files of a folder, named by `what`."""

    file: str
    what: str
    count: int


@dataclass(frozen=True, slots=True)
class InRun:
    """The child in one run. `sides`: of the split, that its clips stand on; `trained`: an adapter or checkpoint learnt from
    them; `strangers`: files that srlite did not write, and that name the child."""

    folder: Path
    whom: Whom
    removals: tuple[Removal, ...]
    sides: tuple[str, ...]
    trained: bool
    strangers: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Survey:
    """All that there is of a child. `child`: its id, as the data write it; `kept`, `older`: files of the caches; older ones do
    not tell whose they are."""

    child: str
    runs: tuple[InRun, ...]
    kept: tuple[Path, ...]
    older: tuple[Path, ...]
    notes: tuple[str, ...]

    @property
    def strangers(self) -> tuple[Path, ...]:
        return tuple(path for run in self.runs for path in run.strangers)


def runs_under(root: Path) -> tuple[Path, ...]:
    """Folders of runs, also of such as have only begun."""
    return tuple(sorted(path.parent for path in root.glob("*/split.csv")))


def survey(child: str, *, runs: Sequence[Path], items_csv: Path | None = None, videos: Path | None = None) -> Survey:
    """What `purge` would remove; nothing is changed. Raises InputError for a child that nothing knows, or a damaged run."""
    known, found = _found(child, runs, items_csv, videos)
    return _survey(known, found)


def purge(
    child: str,
    *,
    runs: Sequence[Path],
    items_csv: Path | None = None,
    videos: Path | None = None,
    agreed: Callable[[Survey], None] = lambda found: None,
) -> Survey:
    """Remove it; what was removed. `agreed` is called with the survey before, and may raise to end it there.

    Raises InputError as `survey` does, UsageError where a process works in one of the runs, DeviceError.
    """
    known, found = _found(child, runs, items_csv, videos)
    with ExitStack() as stack:
        for folder in found.in_runs:
            stack.enter_context(sole_owner(folder))
        surveyed = _survey(known, found)
        agreed(surveyed)
        _forget(surveyed)
    return surveyed


def _found(child: str, runs: Sequence[Path], items_csv: Path | None, videos: Path | None) -> tuple[list[Known], Found]:
    if videos and not items_csv:
        raise UsageError("which of the videos show the child is not known", remedy="Give --items-csv FILE, too.")
    known = [read_known(folder) for folder in dict.fromkeys(runs)]
    return known, find(child, known, items_csv=items_csv, videos=videos)


def _survey(known: Sequence[Known], found: Found) -> Survey:
    stores = [cache_folder() / store for store in STORES]
    return Survey(
        found.child,
        tuple(_in_run(run, found.in_runs[run.folder]) for run in known if run.folder in found.in_runs),
        tuple(path for store in stores for sha256 in sorted(found.sha256) for path in entries_of(store, sha256)),
        tuple(path for store in stores for path in older_entries(store)),
        (*found.notes, *_unfindable(found.unhashed)),
    )


def _in_run(run: Known, whom: Whom) -> InRun:
    sides = run.sides_of(whom.clips)
    learnt = (run.folder / "adapter").is_dir() or any(run.folder.glob("checkpoints/*"))
    return InRun(
        run.folder,
        whom,
        tuple(_removals(run.folder, whom)),
        tuple(sorted(sides)),
        "train" in sides and learnt,
        tuple(strangers(run.folder, whom)),
    )


def _removals(run: Path, whom: Whom) -> Iterator[Removal]:
    """Slices together: there may be thousands."""
    counts: Counter[tuple[str, str]] = Counter()
    for part, path, _, count in affected(run, whom, (*CONTENTS, *LISTS)):
        counts[path.relative_to(run).parts[0], part.what] += count
    return (Removal(str(run / name), what, count) for (name, what), count in counts.items())


def _forget(found: Survey) -> None:
    """In an order in which a killed purge finds its way: what a child is found by goes last, in all runs."""
    for path in (*found.kept, *found.older):
        remove_for_good(path)
    for run in found.runs:
        remove_leftovers(run.folder)
        add_mark(run.folder, today(), trained=run.trained)
        settle(run.folder)
        take_out(run.folder, run.whom, CONTENTS)
        settle(run.folder)
    for run in found.runs:
        # clips that another run tells of, and here only their hashes: so these go last here, and this run before the other
        take_out(run.folder, replace(run.whom, clips=run.whom.clips - run.whom.named), reversed(LISTS))
    for run in found.runs:
        take_out(run.folder, run.whom, LISTS)


def _unfindable(clips: Sequence[str]) -> Iterator[str]:
    if clips:
        yield (
            f"the bytes of {len(clips)} of the child's clips are not known here, so that frames kept of them cannot be found: "
            f"--items-csv and --videos tell them"
        )


def _plainly(found: Survey) -> Iterator[str]:
    """What no purge can do, and what this one leaves alone."""
    for run in found.runs:
        if run.trained:
            yield (
                f"{run.folder}: its adapter and checkpoints were trained on this child and cannot forget, nor can what was "
                f"exported from them. Train anew without the child's rows, then delete them"
            )
    yield "the clinic's own videos and items.csv are not touched: take the child out of them yourself"
    yield "what was written or copied elsewhere (reports, CSV files, exports, backups) is not known here"
    yield "the judge's cache keeps numbers under hashes of texts: no name, no clip, no text is in it"
    if found.older:
        yield f"kept files of an older version ({len(found.older)}) do not tell whose they are: all go, and are made again"


def purge_json(found: Survey, *, done: bool) -> dict[str, object]:
    """The document of schema srlite.purge/1. done: it was removed; else it would be."""
    removals = [r for run in found.runs for r in run.removals]
    return {
        "schema": SCHEMA,
        "child": found.child,
        "done": done,
        "removed": [asdict(r) for r in (*removals, *_from_caches(found))],
        "runs": [
            {"run": str(r.folder), "clips": sorted(r.whom.clips), "sides": list(r.sides), "trained": r.trained}
            for r in found.runs
        ],
        "left": [str(path) for path in found.strangers],
        "notes": [*found.notes, *_plainly(found)],
    }


def _from_caches(found: Survey) -> Iterator[Removal]:
    for what, paths in (("kept files", found.kept), ("kept files of an older version", found.older)):
        for store in STORES:
            folder = cache_folder() / store
            if count := sum(path.is_relative_to(folder) for path in paths):
                yield Removal(str(folder), what, count)
