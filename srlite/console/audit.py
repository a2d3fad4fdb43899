"""The page of `srlite evaluate --audit`: a table for each arm, then what the figures mean."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from srlite.console import Screen
from srlite.escape import plain
from srlite.evaluation.document import Audit, AuditedArm, Estimate

_SHOWN = {
    "blank": "a grey clip",
    "other_child": "another clip",
    "reversed": "pictures reversed",
    "shuffled": "pictures shuffled",
    "halved": "its first half",
    "cut": "cut below the item's seconds",
}


def show_audit(screen: Screen, audit: Audit) -> None:
    for name, arm in audit.arms.items():
        _show_arm(screen, name, arm)
    for sentence in audit.words:
        screen.out.print(Text(plain(sentence)))


def _show_arm(screen: Screen, name: str, arm: AuditedArm) -> None:
    table = Table(title=Text(plain(f"Does it look at the video? {name}")), caption="95 % Wilson intervals; n/a: no such pair")
    table.add_column("shown")
    for column in ("description\nchanges", "decision\nchanges", "decision\nright", "turns as\nit should"):
        table.add_column(column, justify="right")
    table.add_row("the clip itself", "", "", _share(arm.accuracy), "")
    turned = {row.change: row for row in arm.turned}
    for row in arm.looked:
        then = turned.get(row.change)
        shares = [_share(e) for e in (row.description_changed, row.decision_changed, row.accuracy)]
        table.add_row(_SHOWN[row.change], *shares, _share(then.as_it_should) if then else "")
    screen.out.print(table)


def _share(e: Estimate) -> str:
    return "n/a" if e.value is None else f"{e.value:.2f} of {e.n}\n[{e.low:.2f}, {e.high:.2f}]"
