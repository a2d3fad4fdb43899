"""Finished runs made up around a model folder: real settings, a real lock and a real adapter, and no training."""

import json
from dataclasses import asdict
from pathlib import Path

from srlite.config import settings_from, settings_toml
from srlite.descriptor.load import Descriptor, save_adapter
from srlite.files import write_private
from srlite.training.run import Lock, Run


def finished_run_of(descriptor: Descriptor, model: str, folder: Path, **models: object) -> Path:
    """A run in `folder` whose adapter is the descriptor's present one; `model` is what its settings call the base."""
    models = {"descriptor": model, "judge": "tiny", "device": "cpu", **models}
    settings = settings_from({"models": models, "threads": 1}, where="")
    write_private(folder / "config.toml", settings_toml(settings))
    lock = Lock(model, descriptor.base_sha256, "tiny", "0" * 64, "0" * 64, "0" * 64, demonstration=False, threads=1)
    Run(folder).write_lock(lock)
    save_adapter(descriptor, Run(folder).adapter)
    return folder


def change_lock(run: Path, **changes: object) -> None:
    write_private(run / "lock.json", json.dumps(asdict(Run(run).lock()) | changes))
