"""The model card: what an evaluation was made with, in full. No path is in it: folders may be named after people."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from srlite import __version__
from srlite.config import How
from srlite.descriptor.prompts import canonical_prompt, generic_prompt
from srlite.evaluation.document import Card, ItemText, Named
from srlite.files import file_sha256
from srlite.judge.questions import FIXED_TEXTS, QUESTIONS, SECOND_TURN, WEIGHING
from srlite.training.run import Run
from srlite.types import Item
from srlite.workbench import Workbench

PACKAGES = ("torch", "transformers", "peft", "llama-cpp-python", "av", "numpy", "scipy", "scikit-learn")
_FIXED = ("system", "item", "criterion", "rules", "text", "before text", "after text", "question", "answer")
"""Names of questions.FIXED_TEXTS, in its order."""


def card_of(run: Run, bench: Workbench, items: Sequence[Item], how: How) -> Card:
    """items: all that the cases name. how: the records were split."""
    checkpoints = run.checkpoints()
    return Card(
        descriptor=Named(id=bench.descriptor_model.id, sha256=bench.descriptor.base_sha256),
        adapter=Named(id=run.folder.name, sha256=adapter_sha256(run)),
        judge=Named(id=bench.judge_model.id, sha256=bench.judge.sha256),
        demonstration=bench.demonstration,
        questions={q.id: q.text for q in QUESTIONS},
        judge_texts=_judge_texts(bench),
        items=tuple(map(_item_text, items)),
        split=how,
        steps=checkpoints[-1][0].step if checkpoints else None,
        settings=_settings(bench),
        versions={"srlite": __version__} | {name: version(name) for name in PACKAGES},
    )


def adapter_sha256(run: Run) -> str:
    return file_sha256(run.adapter / "adapter_model.safetensors")


def _judge_texts(bench: Workbench) -> dict[str, str]:
    """What the judge reads around item, description and question."""
    fixed = dict(zip(_FIXED, FIXED_TEXTS, strict=True))
    reasons = bench.settings.judge.mode == "reasoned"
    return fixed | ({"weighing": WEIGHING, "second turn": SECOND_TURN} if reasons else {})


def _item_text(item: Item) -> ItemText:
    return ItemText(
        code=item.code,
        name=item.name,
        criterion=item.criterion,
        guidance=item.guidance,
        domain=item.domain,
        age_months=item.age_months,
        temporal=item.temporal,
        directed=item.directed,
        duration_s=item.duration_s,
        prompt=canonical_prompt(item, item.age_months),
        generic_prompt=generic_prompt(item, item.age_months),
    )


def _settings(bench: Workbench) -> dict[str, object]:
    """Those of the run; models by name."""
    values = bench.settings.model_dump(mode="json")
    named = {"descriptor": bench.descriptor_model.id, "judge": bench.judge_model.id}
    return values | {"models": values["models"] | named}
