"""All findings, in order, and as one document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import srlite
from srlite.device.machine import card
from srlite.doctor.findings import Finding
from srlite.doctor.hardware import look_at_hardware
from srlite.doctor.models import look_at_models
from srlite.doctor.smoke import look_at_smoke
from srlite.doctor.software import look_at_software


@dataclass(frozen=True, slots=True)
class Examination:
    findings: tuple[Finding, ...]

    @property
    def faults(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.level == "fault"]


def examine() -> Examination:
    return Examination(tuple(_findings()))


def _findings() -> Iterator[Finding]:
    yield from look_at_hardware()
    yield from look_at_software(on_card=card() is not None)
    yield from look_at_models()
    yield from look_at_smoke()


def examination_json(found: Examination) -> dict[str, object]:
    """The document of schema srlite.doctor/1."""
    return {
        "schema": "srlite.doctor/1",
        "version": srlite.__version__,
        "fit": not found.faults,
        "findings": [asdict(finding) for finding in found.findings],
    }
