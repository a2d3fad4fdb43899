"""Load the descriptor: a Qwen-VL model from a local folder, with a LoRA adapter on its language layers.

Contract: local files only, safetensors only, no code from the folder is run; the base is frozen, the
adapter trainable; the model is in evaluation mode and gradient checkpointing is off. What comes back is one
frozen record.
Left out: choosing and fetching models (the registry), memory planning, several cards.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from srlite.descriptor.offline import stay_offline

stay_offline()  # read by the libraries when they are imported

import torch  # noqa: E402
import transformers  # noqa: E402
from peft import PeftModel  # noqa: E402
from safetensors import SafetensorError  # noqa: E402
from torch import nn  # noqa: E402
from transformers import (  # noqa: E402
    AutoConfig,
    AutoModelForImageTextToText,
    AutoProcessor,
    BitsAndBytesConfig,
    PretrainedConfig,
    ProcessorMixin,
)

from srlite.descriptor import adapter as lora  # noqa: E402
from srlite.descriptor import attention  # noqa: E402
from srlite.descriptor.families import Family, known_family, read_family  # noqa: E402
from srlite.descriptor.files import weight_files, weights_sha256  # noqa: E402
from srlite.errors import DeviceError, ModelError  # noqa: E402

Precision = Literal["auto", "bfloat16", "float32"]
FETCH = "Fetch the model again (srlite models pull)."


@dataclass(frozen=True, eq=False)
class Descriptor:
    """The loaded model and what belongs to it."""

    model: PeftModel
    processor: ProcessorMixin
    family: Family
    device: torch.device
    dtype: torch.dtype
    base_sha256: str
    """Of the base weights file; of the list of hashes when there are several files."""
    vision_sha256: str
    """Of the vision tower's tensors: what cached features depend on."""
    adapted: int
    """Modules that carry the adapter."""
    penalty: torch.Tensor
    """(V,) float32, 0 for tokens that may be written and -inf for those that never are."""
    notes: tuple[str, ...] = ()
    """What a user should know of how it was loaded."""

    @property
    def core(self) -> nn.Module:
        """Tower and language model without the output head."""
        return self.model.get_base_model().model

    @property
    def head(self) -> nn.Module:
        return self.model.get_base_model().lm_head


def load_descriptor(
    folder: Path, *, adapter: Path | None, device: str, quantise: bool, dtype: Precision, seed: int
) -> Descriptor:
    """Load base and adapter.

    `adapter` None starts a fresh one from `seed`. `quantise` loads the base in 4 bit. `dtype` auto is
    bfloat16 on CUDA and float32 elsewhere.
    Raises ModelError for missing, damaged or mismatched files, DeviceError when the device cannot do it.
    """
    folder = Path(folder)
    weight_files(folder)
    known_family(_model_type(folder), str(folder))
    target = usable_device(device)
    precision = usable_dtype(target, dtype)
    if quantise and find_spec("bitsandbytes") is None:
        raise DeviceError("loading in 4 bit needs bitsandbytes, which is not installed", remedy="pip install bitsandbytes")
    transformers.utils.logging.disable_progress_bar()  # the terminal belongs to the console
    attention.register()
    base = load_base(folder, target, precision, quantise)
    return assembled(base, folder, adapter=adapter, seed=seed, device=target, dtype=precision)


def assembled(
    base: nn.Module, folder: Path, *, adapter: Path | None, seed: int, device: torch.device, dtype: torch.dtype
) -> Descriptor:
    """A loaded base with its adapter and what belongs to it. Raises as load_descriptor does."""
    where, files = str(folder), weight_files(folder)
    processor = load_processor(folder)
    family = read_family(base.config, base.generation_config, processor, where)
    model = lora.attach_adapter(base, seed=seed, where=where).eval()
    vision = _tensors_sha256(base.model.visual)
    base.model.visual.to("cpu")  # it waits there until it is needed (features.tower_at_work)
    digest = weights_sha256(files)
    if adapter is not None:
        lora.read_adapter(model, digest, Path(adapter))
    return Descriptor(
        model=model,
        processor=processor,
        family=family,
        device=device,
        dtype=dtype,
        base_sha256=digest,
        vision_sha256=vision,
        adapted=len(lora.adapted_modules(model)),
        penalty=_penalty(family, base.lm_head.out_features, device),
    )


def usable_device(name: str) -> torch.device:
    """Check that the device exists. Raises DeviceError."""
    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise DeviceError(
            "no usable CUDA card was found",
            where=name,
            remedy="Run `srlite doctor`, or use device cpu.",
        )
    return device


def usable_dtype(device: torch.device, dtype: Precision) -> torch.dtype:
    """Numbers to compute with. Raises DeviceError on a card without bfloat16 when bfloat16 is wanted."""
    if dtype == "float32" or (dtype == "auto" and device.type != "cuda"):
        return torch.float32
    # emulation would be slow, and float16 overflows in these models
    if device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        raise DeviceError(
            "this card has no bfloat16",
            where=str(device),
            remedy="Use a card of compute capability 8.0 or later, or device cpu.",
        )
    return torch.bfloat16


def adapter_off(descriptor: Descriptor) -> AbstractContextManager[None]:
    """Context in which the model is the base model: the reference of the KL term."""
    return descriptor.model.disable_adapter()


def save_adapter(descriptor: Descriptor, folder: Path) -> None:
    """Write the adapter into `folder`, files 0600. Raises DeviceError."""
    lora.write_adapter(descriptor.model, descriptor.base_sha256, Path(folder))


def load_adapter(descriptor: Descriptor, folder: Path) -> None:
    """Put the adapter of `folder` in place of the present one. Raises ModelError; then nothing is changed."""
    lora.read_adapter(descriptor.model, descriptor.base_sha256, Path(folder))


def trainable(descriptor: Descriptor) -> list[tuple[str, nn.Parameter]]:
    """Names and parameters that an optimiser may move, always in the same order."""
    return [(n, p) for n, p in descriptor.model.named_parameters() if p.requires_grad]


@contextmanager
def checkpointing(descriptor: Descriptor) -> Iterator[None]:
    """Context for an update on a small card: layers are computed twice instead of kept."""
    language = descriptor.core.language_model
    # the methods were renamed between the releases in use; in both, the default does not re-enter autograd
    word = "activation" if hasattr(language, "activation_checkpointing_enable") else "gradient"
    getattr(language, f"{word}_checkpointing_enable")()
    language.train()  # the layers checkpoint in training mode only; there is no dropout that this would wake
    try:
        yield
    finally:
        getattr(language, f"{word}_checkpointing_disable")()
        language.eval()


def _model_type(folder: Path) -> object:
    path = folder / "config.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))["model_type"]
    except (ValueError, KeyError, TypeError) as error:
        message = f"the configuration cannot be read: {error}"
        raise ModelError(message, where=str(path), remedy=FETCH) from error


def load_base(folder: Path, device: torch.device, dtype: torch.dtype, quantise: bool) -> nn.Module:
    """The base alone, frozen or not as it comes. Raises as load_descriptor does."""
    try:
        model, report = AutoModelForImageTextToText.from_pretrained(
            folder,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            attn_implementation={"": "sdpa", "text_config": attention.NAME, "vision_config": "sdpa"},
            dtype=dtype,
            device_map={"": device},
            quantization_config=_four_bit(dtype) if quantise else None,
            output_loading_info=True,
        )
    except torch.cuda.OutOfMemoryError as error:
        raise DeviceError(
            "the model does not fit into the card's memory",
            where=str(folder),
            remedy="Load it in 4 bit, choose a smaller model, or close other programs that use the card.",
        ) from error
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise ModelError(f"the model cannot be loaded: {error}", where=str(folder), remedy=FETCH) from error
    _check_report(report, folder)
    _keep_differentiable(model)
    return model


def _four_bit(dtype: torch.dtype) -> BitsAndBytesConfig:
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=dtype,
        # the tower's modules begin with `model.visual`; a tied head dies when it is not named here
        llm_int8_skip_modules=["model.visual", "lm_head"],
    )


def _keep_differentiable(model: nn.Module) -> None:
    # On processors with AVX512-BF16, bitsandbytes repacks a 4-bit layer for good when it first runs without
    # gradients; the packed layer rounds to bfloat16 and passes no gradient on: no learning after sampling.
    for layer in model.modules():
        if hasattr(layer, "support_avx512bf16_for_cpu"):
            layer.support_avx512bf16_for_cpu = False


def _check_report(report: dict, folder: Path) -> None:
    # transformers fills missing tensors with random numbers and only logs it
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if names := report.get(what):
            raise ModelError(
                f"{len(names)} {what.replace('_', ' ')} in the weights, for example {min(map(str, names))}",
                where=str(folder),
                remedy=FETCH,
            )


def load_processor(folder: Path) -> ProcessorMixin:
    """Tokenizer and video processor of a model folder. Raises ModelError."""
    try:
        return AutoProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        message = f"the processor cannot be loaded: {error}"
        raise ModelError(message, where=str(folder), remedy=FETCH) from error


def load_configuration(folder: Path) -> PretrainedConfig:
    """The sizes of a model folder of a known family, in this release's names. Raises ModelError."""
    known_family(_model_type(folder), str(folder))
    try:
        return AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        message = f"the configuration cannot be read: {error}"
        raise ModelError(message, where=str(folder), remedy=FETCH) from error


def _tensors_sha256(module: nn.Module) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    return digest.hexdigest()


def _penalty(family: Family, rows: int, device: torch.device) -> torch.Tensor:
    penalty = torch.zeros(rows, dtype=torch.float32)
    penalty[list(family.forbidden)] = float("-inf")
    return penalty.to(device)
