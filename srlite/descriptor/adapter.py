"""The LoRA adapter: where it sits, how it starts, how it is written and read.

Contract: rank 16, alpha 32, on the seven projections of every language layer and nowhere else; checked
after it is attached. An adapter folder holds adapter_model.safetensors and adapter_config.json in PEFT's
format, with the sha256 of the base weights in the metadata; an adapter for other weights is refused.
Left out: merging, several adapters, other ranks.
"""

from __future__ import annotations

import json
from pathlib import Path

from srlite.descriptor.offline import stay_offline

stay_offline()  # read by the libraries when they are imported

import torch  # noqa: E402
from peft import LoraConfig, PeftModel, get_peft_model, get_peft_model_state_dict  # noqa: E402
from peft.tuners.lora import LoraLayer  # noqa: E402
from safetensors import SafetensorError, safe_open  # noqa: E402
from safetensors.torch import save  # noqa: E402
from torch import nn  # noqa: E402

from srlite.errors import ModelError  # noqa: E402
from srlite.files import write_private  # noqa: E402
from srlite.models.shapes import ADAPTER_RANK  # noqa: E402

RANK = ADAPTER_RANK
ALPHA = 32
PROJECTIONS = 7  # q, k, v, o, gate, up, down
TARGETS = r"model\.language_model\.layers\.\d+\.(self_attn\.[qkvo]_proj|mlp\.(gate|up|down)_proj)"
WEIGHTS = "adapter_model.safetensors"
CONFIG = "adapter_config.json"
_REMEDY = "Use the adapter with the model that it was trained on, or train again."


def attach_adapter(base: nn.Module, *, seed: int, where: str) -> PeftModel:
    """Freeze `base` and put a fresh adapter on it (lora_A from `seed`, lora_B zero).

    Raises ModelError when the projections found are not exactly the seven of each language layer.
    """
    config = LoraConfig(r=RANK, lora_alpha=ALPHA, lora_dropout=0.0, bias="none", target_modules=TARGETS)
    # PEFT draws from the process's generator: leave that one as it was
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        try:
            model = get_peft_model(base, config)
        except ValueError as error:  # PEFT's word for: no layer of that name
            message = f"the adapter finds no language layers: {error}"
            raise ModelError(message, where=where, remedy="Use a model of a known family.") from error
    _check_placement(model, where)
    return model


def adapted_modules(model: PeftModel) -> list[str]:
    """Names of the modules that carry the adapter."""
    return [name for name, module in model.named_modules() if isinstance(module, LoraLayer)]


def _check_placement(model: PeftModel, where: str) -> None:
    names = adapted_modules(model)
    wanted = PROJECTIONS * model.get_base_model().config.text_config.num_hidden_layers
    astray = [name for name in names if ".visual." in name]
    if astray or len(names) != wanted:
        raise ModelError(
            f"the adapter sits on {len(names)} modules, {len(astray)} of them in the vision tower; "
            f"expected {wanted}, none in the tower",
            where=where,
            remedy="The model's layers are not named as its family's should be: fetch the model again.",
        )


def write_adapter(model: PeftModel, base_sha256: str, folder: Path) -> None:
    """Write the adapter into `folder` (created when missing). Raises DeviceError."""
    tensors = {k: v.contiguous().cpu() for k, v in _tensors(model).items()}
    # one entry: of several, safetensors writes the order by chance, and equal adapters would be unequal files
    write_private(folder / WEIGHTS, save(tensors, metadata={"base_sha256": base_sha256}))
    settings = model.peft_config["default"].to_dict()
    # PEFT notes the path of the base model, which would tell where the clinic keeps its files
    settings |= {"base_model_name_or_path": None, "inference_mode": True}
    text = json.dumps(settings, indent=2, sort_keys=True, default=_as_list)
    write_private(folder / CONFIG, text.encode())


def _as_list(value: object) -> list:
    if isinstance(value, set | frozenset | tuple):
        return sorted(value)
    raise TypeError(f"cannot write {type(value).__name__}")


def read_adapter(model: PeftModel, base_sha256: str, folder: Path) -> None:
    """Replace the adapter's weights by those in `folder`.

    Raises ModelError when a file is missing or damaged, when rank, alpha or targets are others, when the base
    weights are others, or when tensors are missing, too many or of another shape. Then nothing is changed.
    """
    stored = adapter_tensors(folder, base_sha256)
    own = _tensors(model)
    _check_tensors(own, stored, folder / WEIGHTS)
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(stored[name])


def adapter_tensors(folder: Path, base_sha256: str) -> dict[str, torch.Tensor]:
    """The tensors of an adapter folder, by PEFT's names; no model is needed.

    Raises ModelError when a file is missing or damaged, when rank, alpha or targets are others, or the base weights.
    """
    _check_settings(folder / CONFIG)
    return _read_tensors(folder / WEIGHTS, base_sha256)


def _tensors(model: PeftModel) -> dict[str, torch.Tensor]:
    # "auto" would ask the hub whether the vocabulary was changed
    return get_peft_model_state_dict(model, save_embedding_layers=False)


def _check_settings(path: Path) -> None:
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
        found = (settings["r"], settings["lora_alpha"], settings["target_modules"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"not an adapter: {error}", where=str(path), remedy=_REMEDY) from error
    if found != (RANK, ALPHA, TARGETS):
        raise ModelError(
            f"the adapter has rank {found[0]}, alpha {found[1]} and targets {found[2]!r}; "
            f"expected {RANK}, {ALPHA} and {TARGETS!r}",
            where=str(path),
            remedy=_REMEDY,
        )


def _read_tensors(path: Path, base_sha256: str) -> dict[str, torch.Tensor]:
    try:
        with safe_open(path, framework="pt") as stream:
            metadata = stream.metadata() or {}
            tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118  not iterable
    except (OSError, SafetensorError) as error:
        raise ModelError(f"the adapter cannot be read: {error}", where=str(path), remedy=_REMEDY) from error
    made_for = metadata.get("base_sha256")
    if made_for != base_sha256:
        raise ModelError(
            f"the adapter belongs to base weights {made_for or 'that it does not name'}, those loaded are {base_sha256}",
            where=str(path),
            remedy=_REMEDY,
        )
    return tensors


def _check_tensors(own: dict[str, torch.Tensor], stored: dict[str, torch.Tensor], path: Path) -> None:
    missing, extra = own.keys() - stored.keys(), stored.keys() - own.keys()
    shapes = [n for n in own.keys() & stored.keys() if own[n].shape != stored[n].shape]
    kinds = (("missing", missing), ("unexpected", extra), ("of another shape", shapes))
    faults = [f"{len(names)} {kind} (for example {min(names)})" for kind, names in kinds if names]
    if faults:
        raise ModelError(f"tensors of the adapter: {'; '.join(faults)}", where=str(path), remedy=_REMEDY)
