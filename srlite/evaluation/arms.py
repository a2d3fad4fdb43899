"""The arms of an evaluation: which prompt each is asked with, and which adapter is on.

generic   adapter off, the broad prompt of the item's domain       (what the paper compares item prompts with)
base      adapter off, the canonical prompt                        (what training began from)
ablated   another run's adapter, the canonical prompt              (--ablate: fewer reward terms, say)
adapted   the run's adapter, the canonical prompt
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from srlite.descriptor.load import Descriptor, adapter_off, load_adapter
from srlite.descriptor.prompts import canonical_prompt, generic_prompt
from srlite.errors import InputError, UsageError
from srlite.evaluation.document import ArmName
from srlite.records.sides import Split
from srlite.training.run import Run, finished_run
from srlite.types import Item, Record

CHOICES = ("generic", "base", "adapted")
"""What can be asked for by name; adapted is always there."""


@dataclass(frozen=True, slots=True)
class ArmPlan:
    """How an arm is asked. adapter: its folder; None: off."""

    name: ArmName
    prompt: Callable[[Item, float | None], str]
    adapter: Path | None

    @contextmanager
    def at_work(self, descriptor: Descriptor) -> Iterator[None]:
        """In it the descriptor is the arm's; afterwards it has the arm's adapter, or the one before where that is off."""
        if self.adapter is None:
            with adapter_off(descriptor):
                yield
        else:
            load_adapter(descriptor, self.adapter)
            yield


def plan_arms(run: Run, compare: Sequence[str], ablated: Run | None) -> tuple[ArmPlan, ...]:
    """The arms in the order above. Raises UsageError for a name that is none of CHOICES."""
    if unknown := [name for name in compare if name not in CHOICES]:
        raise UsageError(
            f"there is no arm {', '.join(unknown)} to compare",
            remedy=f"--compare takes {','.join(CHOICES)} or some of them; another run is compared by --ablate RUN_DIR.",
        )
    plans = [
        ArmPlan("generic", generic_prompt, None),
        ArmPlan("base", canonical_prompt, None),
        *([ArmPlan("ablated", canonical_prompt, ablated.adapter)] if ablated else []),
        ArmPlan("adapted", canonical_prompt, run.adapter),
    ]
    return tuple(plan for plan in plans if plan.name in (*compare, "ablated", "adapted"))


def ablated_run(folder: Path, *, beside: Run, records: Sequence[Record], split: Split) -> Run:
    """The finished run in the folder, when it can be compared with the other: the same base model, the same
    pictures of a clip, and the same test part.

    Raises ModelError when there is no finished run, InputError when the two cannot be compared.
    """
    other = finished_run(folder)
    if other.lock().descriptor_sha256 != beside.lock().descriptor_sha256:
        raise _not_comparable(folder, beside, f"its base model is another one ({other.lock().descriptor})")
    if other.settings().video != beside.settings().video:
        raise _not_comparable(folder, beside, "it was trained with other [video] settings, so it saw other pictures")
    tested = [{(r.clip, r.item) for r in part} for part in (split.test, other.split(records).test)]
    if tested[0] != tested[1]:
        raise _not_comparable(folder, beside, f"{len(tested[0] ^ tested[1])} records are in the test part of one of them only")
    return other


def _not_comparable(folder: Path, beside: Run, why: str) -> InputError:
    return InputError(
        f"this run cannot be compared with {beside.folder}: {why}",
        where=str(folder),
        remedy="Train both with the same records, models, video settings, split and seed, and with other [reward] terms.",
    )
