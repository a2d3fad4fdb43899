"""items.csv, catalogue and videos folder together: the records that a job works on, checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from srlite.errors import InputError
from srlite.records.catalogue import Catalogue, read_catalogue
from srlite.records.clips import identical_clips, resolve_clips
from srlite.records.items import read_records
from srlite.types import Record

BUNDLED_CATALOGUE = Path(__file__).parents[1] / "demo" / "items.toml"


@dataclass(frozen=True, slots=True)
class Dataset:
    """Records whose clips exist under the videos folder, their items, and what the user should be told.

    no_outcome, repeated: rows that are not among them, because the outcome is empty or they repeat another.
    """

    records: tuple[Record, ...]
    catalogue: Catalogue
    notes: tuple[str, ...]
    no_outcome: int
    repeated: int


def catalogue_of(path: Path | None) -> Catalogue:
    """The catalogue of `--catalogue`, or the bundled one."""
    return read_catalogue(path or BUNDLED_CATALOGUE)


def read_dataset(items_csv: Path, videos: Path, catalogue: Path | None) -> Dataset:
    """Raises InputError with every problem of the file, or every missing clip, at once."""
    if not videos.is_dir():
        raise InputError("there is no such folder", where=str(videos), remedy="Give the folder that the clips lie in.")
    found = read_records(items_csv, catalogue_of(catalogue))
    records, clip_notes = resolve_clips(found.records, videos, named_by=str(items_csv))
    notes = (*found.notes, *clip_notes, *identical_clips(records, videos))
    repeated = found.repeated + len(found.records) - len(records)  # two spellings of one clip's name may repeat each other
    return Dataset(records, found.catalogue, notes, found.no_outcome, repeated)
