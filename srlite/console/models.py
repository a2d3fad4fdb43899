"""The pages of `srlite models`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from srlite.console import Bar, Screen
from srlite.models.telling import Moving, Told, readable
from srlite.models.verify import Report


def models_page(screen: Screen, document: Mapping, fits: Mapping[str, str] | None = None) -> None:
    """What srlite knows and what is here. `fits`: words by model id, for a column on the card of this machine."""
    fitting = fits if fits is not None else {m["id"]: m["fits"] for m in document["models"] if m["fits"]}
    for title, role in (("Descriptors", "descriptor"), ("Judges", "judge")):
        more = ("fits this card",) if fitting else ()
        screen.table(
            title,
            ("id", "size", "state", "licence", *more),
            [_row(m, fitting, bool(more)) for m in document["models"] if m["role"] == role],
        )
    screen.table(
        "Presets",
        ("name", "card", "descriptor", "judge", "installed"),
        [
            (
                p["name"],
                f"{p['card_gb']} GB" if p["card_gb"] else "none",
                p["descriptor"],
                p["judge"],
                "yes" if p["installed"] else "no",
            )
            for p in document["presets"]
        ],
    )


def places_page(screen: Screen, document: Mapping) -> None:
    """Where models are, one a line, for a script to read."""
    for model in document["models"]:
        screen.out.print(f"{model['id']}: {model['path']}", markup=False, soft_wrap=True)


def verify_page(screen: Screen, reports: Sequence[Report]) -> None:
    if not reports:
        screen.say("no model is installed that could be checked")
        return
    screen.table("Installed models, read again", ("model", "what was found"), [(r.id, _found(r)) for r in reports])


def heard_by(screen: Screen, bar: Bar):
    """What fetching and copying tell, shown: progress in megabytes, sentences as they come."""

    def hear(event: Moving | Told) -> None:
        if isinstance(event, Told):
            screen.say(event.text)
        else:
            bar.show(event.what, event.done_bytes // 10**6, max(1, event.total_bytes // 10**6), "MB")

    return hear


def _row(model: Mapping, fits: Mapping[str, str], with_fits: bool) -> tuple[str, ...]:
    about = "" if model["commit"] or model["state"] == "bundled" else "~"  # the hub's exact figure comes with a pull
    more = (fits.get(model["id"], ""),) if with_fits else ()
    return (model["id"], f"{about}{readable(model['bytes'])}", model["state"], model["licence"], *more)


def _found(report: Report) -> str:
    if not report.locked:
        return "not locked (placed by hand): nothing says what its files should be"
    if report.wrong:
        return "; ".join(f"{w.name} {w.said}" for w in report.wrong)
    return f"every file is that of commit {str(report.commit)[:12]}"
