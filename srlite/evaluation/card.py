"""The model card: what an evaluation was made with, in full. No path is in it: folders may be named after people."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from srlite import __version__
from srlite.config import How
from srlite.evaluation.document import Card, Named
from srlite.evaluation.texts import item_text, judge_texts, question_texts
from srlite.training.run import Run
from srlite.types import Item
from srlite.workbench import Workbench

PACKAGES = ("torch", "transformers", "peft", "llama-cpp-python", "av", "numpy", "scipy", "scikit-learn")


def card_of(run: Run, bench: Workbench, items: Sequence[Item], how: How) -> Card:
    """items: all that the cases name. how: the records were split."""
    checkpoints = run.checkpoints()
    return Card(
        descriptor=Named(id=bench.descriptor_model.id, sha256=bench.descriptor.base_sha256),
        adapter=Named(id=run.folder.name, sha256=run.adapter_sha256()),
        judge=Named(id=bench.judge_model.id, sha256=bench.judge.sha256),
        demonstration=bench.demonstration,
        questions=question_texts(),
        judge_texts=judge_texts(bench.settings),
        items=tuple(map(item_text, items)),
        split=how,
        steps=checkpoints[-1][0].step if checkpoints else None,
        settings=_settings(bench),
        versions={"srlite": __version__} | {name: version(name) for name in PACKAGES},
    )


def _settings(bench: Workbench) -> dict[str, object]:
    """Those of the run; models by name."""
    values = bench.settings.model_dump(mode="json")
    named = {"descriptor": bench.descriptor_model.id, "judge": bench.judge_model.id}
    return values | {"models": values["models"] | named}
