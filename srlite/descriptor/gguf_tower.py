"""The vision tower as the GGUF file that llama.cpp calls mmproj: `--mmproj tower.gguf`.

Contract: names and keys are those that llama.cpp's clip code asks of the projectors qwen2.5vl_merger and qwen3vl_merger. A
patch of two frames is one 3-D convolution here and two 2-D ones there. Patches and the table of positions stay in float32.
Left out: anything that llama.cpp does with a clip besides the tower: which frames it takes, how it scales them, which times
it writes between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import gguf

from srlite.descriptor.gguf_parts import Part, cut, mapped, name_map, part, write_parts
from srlite.descriptor.weights import Stored
from srlite.errors import ModelError

if TYPE_CHECKING:
    from transformers import PretrainedConfig, ProcessorMixin

NO_TOWER = "Try convert_hf_to_gguf.py --mmproj of a newer llama.cpp on a folder made with --to merged."
_TOWER = "model.visual."
_WINDOW = 112  # pixels


def write_tower(
    config: PretrainedConfig, processor: ProcessorMixin, parts: list[Part], path: Path, *, tick: Callable[[int, int], None]
) -> None:
    """Raises ModelError or DeviceError."""
    writer = gguf.GGUFWriter(None, gguf.MODEL_ARCH_NAMES[gguf.MODEL_ARCH.MMPROJ])
    writer.add_type(gguf.GGUFType.MMPROJ)
    writer.add_clip_has_vision_encoder(True)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    _add_sizes(writer, config, processor)
    (_add_qwen3 if config.model_type == "qwen3_vl" else _add_qwen25)(writer, config.vision_config)
    write_parts(writer, parts, path, tick=tick)


def tower_parts(config: PretrainedConfig, stored: Mapping[str, Stored]) -> list[Part]:
    """The tensors of the tower. Raises ModelError for one that llama.cpp has no place for."""
    # the map counts the merger's layers, 0 and 2, as it counts blocks
    names = name_map(gguf.MODEL_ARCH_NAMES[gguf.MODEL_ARCH.MMPROJ], max(3, config.vision_config.depth))
    levels = list(getattr(config.vision_config, "deepstack_visual_indexes", None) or ())
    if config.model_type == "qwen2_5_vl":
        _check_windows(config.vision_config)
    found = []
    for name, tensor in stored.items():
        if not name.startswith(_TOWER):
            continue
        own = name.removeprefix(_TOWER)
        if own == "patch_embed.proj.weight":
            found += _patches(tensor)
        elif ".attn.qkv." in own and config.model_type == "qwen2_5_vl":
            found += _thirds(names, own, tensor)
        else:
            found.append(part(_name(names, own, levels), tensor, exact=own.startswith(("patch_embed.", "pos_embed."))))
    return found


def _add_sizes(writer: gguf.GGUFWriter, config: PretrainedConfig, processor: ProcessorMixin) -> None:
    vision, video = config.vision_config, processor.video_processor
    writer.add_vision_patch_size(vision.patch_size)
    writer.add_vision_embedding_length(vision.hidden_size)
    writer.add_vision_feed_forward_length(vision.intermediate_size)
    writer.add_vision_block_count(vision.depth)
    writer.add_vision_head_count(vision.num_heads)
    writer.add_vision_projection_dim(config.text_config.hidden_size)
    writer.add_vision_image_mean(list(video.image_mean))
    writer.add_vision_image_std(list(video.image_std))
    writer.add_vision_spatial_merge_size(vision.spatial_merge_size)
    writer.add_vision_attention_layernorm_eps(1e-6)  # fixed in the code of both families


def _add_qwen3(writer: gguf.GGUFWriter, vision: PretrainedConfig) -> None:
    writer.add_clip_projector_type(gguf.VisionProjectorType.QWEN3VL)
    writer.add_vision_use_gelu(True)
    writer.add_vision_image_size(round(vision.num_position_embeddings**0.5) * vision.patch_size)
    writer.add_vision_is_deepstack_layers([layer in vision.deepstack_visual_indexes for layer in range(vision.depth)])


def _add_qwen25(writer: gguf.GGUFWriter, vision: PretrainedConfig) -> None:
    every = vision.fullatt_block_indexes[0] + 1
    writer.add_clip_projector_type(gguf.VisionProjectorType.QWEN25VL)
    writer.add_vision_use_silu(True)
    writer.add_vision_image_size(560)  # what a picture is scaled to where nothing else is said
    writer.add_vision_n_wa_pattern(every)


def _check_windows(vision: PretrainedConfig) -> None:
    """llama.cpp has the windows of the published models fixed in its code."""
    whole = list(vision.fullatt_block_indexes)
    regular = list(range(whole[0], vision.depth, whole[0] + 1))
    if vision.window_size != _WINDOW or whole != regular:
        raise ModelError(
            f"layers {whole} see the whole picture and the others windows of {vision.window_size} pixels; "
            f"llama.cpp knows windows of {_WINDOW} only, and every n-th layer seeing the whole",
            remedy=NO_TOWER,
        )


def _patches(tensor: Stored) -> list[Part]:
    """(out, 3, 2, patch, patch) -> two of (out, 3, patch, patch): the even frame's and the odd one's."""
    out, channels, frames, high, wide = tensor.shape
    if frames != 2:
        raise ModelError(f"patches of {frames} frames; llama.cpp knows those of 2", remedy=NO_TOWER)
    base, shape = gguf.TENSOR_NAMES[gguf.MODEL_TENSOR.V_ENC_EMBD_PATCH], (out, channels, high, wide)
    return [
        cut(f"{base}.weight{end}", tensor, shape, lambda t, frame=frame: t[:, :, frame], exact=True)
        for frame, end in enumerate(("", ".1"))
    ]


def _thirds(names: gguf.TensorNameMap, own: str, tensor: Stored) -> list[Part]:
    """The rows of queries, keys and values, which llama.cpp has apart in this family."""
    rows = tensor.shape[0] // 3
    return [
        cut(
            mapped(names, f"visual.{own.replace('qkv', which)}"),
            tensor,
            (rows, *tensor.shape[1:]),
            lambda t, at=at: t[at * rows : (at + 1) * rows],
        )
        for at, which in enumerate("qkv")
    ]


def _name(names: gguf.TensorNameMap, own: str, levels: list[int]) -> str:
    kinds, tensor, _, end = gguf.TENSOR_NAMES, gguf.MODEL_TENSOR, *own.rpartition(".")[1:]
    if own == "patch_embed.proj.bias":
        return f"{kinds[tensor.V_ENC_EMBD_PATCH]}.bias"
    if own.startswith("deepstack_merger_list."):
        _, level, what, _ = own.split(".")
        kind = {"norm": tensor.V_DS_NORM, "linear_fc1": tensor.V_DS_FC1, "linear_fc2": tensor.V_DS_FC2}[what]
        return f"{kinds[kind].format(bid=levels[int(level)])}.{end}"  # by the layer that it branches off from
    if own.startswith("merger.linear_fc"):
        place = {"1": 0, "2": 2}[own[len("merger.linear_fc")]]  # in between is the activation
        return f"{kinds[tensor.V_MMPROJ].format(bid=place)}.{end}"
    if own.startswith("merger.norm."):
        return f"{kinds[tensor.V_POST_NORM]}.{end}"
    return mapped(names, f"visual.{own}")
