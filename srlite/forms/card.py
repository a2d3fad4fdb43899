"""The README.md of an exported folder: what it was made of, how it is used, and that it is not a diagnostic device."""

from __future__ import annotations

from srlite.descriptor.adapter import ALPHA, RANK
from srlite.forms.source import Source

_USE = {
    "peft": """Beside its base, with transformers and peft:

    base = AutoModelForImageTextToText.from_pretrained(BASE)
    model = PeftModel.from_pretrained(base, THIS_FOLDER)
""",
    "merged": """The adapter is in the weights: load the folder as any model of its family, without peft.
""",
    "gguf": """For llama.cpp. model.gguf is the base's language model, adapter.gguf the adapter, tower.gguf (where it is there)
the vision tower:

    llama-server --model model.gguf --lora adapter.gguf --mmproj tower.gguf
""",
}


def card(source: Source, to: str, adapter_sha256: str) -> str:
    demonstration = "\nDemonstration model: it knows a drawn world only.\n" if source.model.demonstration else ""
    return f"""# A descriptor trained by srlite ({to})

It describes item-specific behaviour in video clips, for a person to read, check against the clip and overrule.
An observation aid for research and pilots, not a diagnostic device.
{demonstration}
- base: {_base(source)} ({source.family})
- sha256 of the base's weights: {source.base_sha256}
- sha256 of the adapter's weights: {adapter_sha256}
- LoRA on the language layers: rank {RANK}, alpha {ALPHA}; vision tower and embeddings are the base's

{_USE[to]}
The base's licence holds for what is made from it. A description is half of srlite: the judge with its questions and
thresholds, which decides pass, fail or unable to assess, is not in here.
"""


def _base(source: Source) -> str:
    if source.repository:
        return source.repository
    return "the demonstration model bundled with srlite" if source.model.demonstration else "a model folder of the user's own"
