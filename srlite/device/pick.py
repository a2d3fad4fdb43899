"""Which preset this machine runs when none is named: the largest whose card is here and whose models are installed."""

from __future__ import annotations

from srlite.errors import ModelError
from srlite.models.registry import Preset, registry
from srlite.models.store import installed


def card_bytes() -> int:
    """Memory of the first CUDA card, 0 without one."""
    import torch

    return torch.cuda.get_device_properties(0).total_memory if torch.cuda.is_available() else 0


def pick_preset() -> Preset:
    """Raises ModelError (exit 4) with the commands that mend it when nothing that fits is installed."""
    models, gigabytes = registry(), card_bytes() / 1e9
    if gigabytes:
        fitting = [p for p in models.presets.values() if p.card_gb is not None and p.card_gb <= gigabytes * 1.1]
    else:
        fitting = [models.presets["cpu"]]
    ready = [p for p in fitting if installed(models.descriptors[p.descriptor]) and installed(models.judges[p.judge])]
    if ready:
        return max(ready, key=lambda p: p.card_gb or 0)
    best = max(fitting, key=lambda p: p.card_gb or 0, default=models.presets["cpu"])
    found = f"a card with {gigabytes:.0f} GB" if gigabytes else "no CUDA card"
    raise ModelError(
        f"no models for this machine ({found}) are installed; the preset {best.name} would use the descriptor "
        f"{best.descriptor} and the judge {best.judge}",
        remedy=f"Fetch them:                     srlite models pull --preset {best.name}\n"
        "or name models of your own:     srlite train ITEMS_CSV VIDEOS --descriptor FOLDER --judge FILE.gguf\n"
        "or try the bundled small pair:  srlite train ITEMS_CSV VIDEOS --preset tiny",
    )
