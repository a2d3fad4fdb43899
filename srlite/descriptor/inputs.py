"""From frames and a text to the model's input.

Contract: the model's own processor cuts the patches and writes the time marks from the frames' true times;
nothing is sampled or resized a second time; what looks like a special token in the text stays text. The
chat markup is written here, so a folder without a chat template works.
Left out: the wording of the prompt, and choosing frames or their size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from srlite.descriptor.families import TURN_END, TURN_START, Family
from srlite.descriptor.load import Descriptor
from srlite.errors import InputError
from srlite.types import Frames

if TYPE_CHECKING:
    from transformers import BatchFeature, PreTrainedTokenizerBase
    from transformers.video_utils import VideoMetadata

CLOCK_HZ = 1000
"""Frames are counted on a millisecond clock, so that a frame's index is its time."""


@dataclass(frozen=True, eq=False)
class Prompt:
    """One clip and one text, up to the point where the assistant begins. Pixels stay in main memory."""

    input_ids: torch.Tensor  # (P,) int64
    positions: torch.Tensor  # (3, P) int64, M-RoPE: time, height, width
    video_mask: torch.Tensor  # (P,) bool, True at placeholders
    next_position: int
    """M-RoPE position of the first token of an answer."""
    pixels: torch.Tensor  # (patches, patch values) float32
    grid: torch.Tensor  # (1, 3) int64: layers in time, rows and columns of patches
    seconds_per_grid: float | None
    """Mean time between two layers, for the families that are told so; None for those with time marks."""
    times_s: tuple[float, ...]  # (F,)
    size: tuple[int, int]
    """Height and width of a frame in pixels."""


def build_prompt(descriptor: Descriptor, frames: Frames, text: str, *, system: str | None) -> Prompt:
    """Build the input for `text` about `frames`; `system` None leaves out the system turn.

    Raises InputError when the frames' size or number does not fit the model, or the whole is too long.
    """
    _check_frames(frames, descriptor.family)
    seen = _process(descriptor, frames)
    ids = _chat(descriptor.processor.tokenizer, seen["input_ids"][0].tolist(), text, system)
    _check_length(len(ids), descriptor.family)
    input_ids = torch.tensor(ids)
    video_mask = input_ids == descriptor.family.video_token
    positions = _positions(descriptor, input_ids, video_mask, seen)
    interval = seen.get("second_per_grid_ts")
    return Prompt(
        input_ids=input_ids.to(descriptor.device),
        positions=positions.to(descriptor.device),
        video_mask=video_mask.to(descriptor.device),
        next_position=int(positions.max()) + 1,
        pixels=seen["pixel_values_videos"],
        grid=seen["video_grid_thw"],
        seconds_per_grid=None if interval is None else float(interval[0]),
        times_s=frames.times_s,
        size=(frames.images.shape[1], frames.images.shape[2]),
    )


def _check_frames(frames: Frames, family: Family) -> None:
    count, height, width, _ = frames.images.shape
    step = family.frame_multiple
    if count != len(frames.times_s) or count == 0 or count % family.temporal:
        raise InputError(
            f"{count} frames with {len(frames.times_s)} times; "
            f"the model needs a multiple of {family.temporal}, each with its time",
            remedy="Repeat the last frame to fill up.",
        )
    if height % step or width % step:
        raise InputError(
            f"frames of {width}x{height} pixels do not fit the model",
            remedy=f"Give frames whose sides are multiples of {step}.",
        )


def _check_length(tokens: int, family: Family) -> None:
    if tokens >= family.max_positions:
        raise InputError(
            f"the prompt has {tokens} tokens, the model takes {family.max_positions}",
            remedy="Use fewer or smaller frames: the clip's tokens cannot be cut.",
        )


def _process(descriptor: Descriptor, frames: Frames) -> BatchFeature:
    return descriptor.processor(
        text=[descriptor.family.clip_markup],
        videos=[torch.tensor(frames.images).permute(0, 3, 1, 2)],  # (F, 3, height, width)
        video_metadata=[_clock(frames)],
        do_sample_frames=False,
        do_resize=False,
        return_tensors="pt",
        **_pixel_cap(descriptor),
    )


def _pixel_cap(descriptor: Descriptor) -> dict[str, bool]:
    # where the setting exists, leaving it open brings a warning although nothing is resized
    known = hasattr(descriptor.processor.video_processor, "cap_pixels_per_frame")
    return {"cap_pixels_per_frame": False} if known else {}


def _clock(frames: Frames) -> VideoMetadata:
    from transformers.video_utils import VideoMetadata  # here: the libraries must be put offline before

    ticks = [round(t * CLOCK_HZ) for t in frames.times_s]
    length = max(round(frames.duration_s * CLOCK_HZ), ticks[-1], 1)
    height, width = frames.images.shape[1:3]
    return VideoMetadata(
        total_num_frames=length,
        fps=float(CLOCK_HZ),
        frames_indices=ticks,
        duration=length / CLOCK_HZ,
        height=height,
        width=width,
    )


def _chat(tokenizer: PreTrainedTokenizerBase, vision: list[int], text: str, system: str | None) -> list[int]:
    opening = (
        []
        if system is None
        else [
            *_markup(tokenizer, f"{TURN_START}system\n"),
            *plain_tokens(tokenizer, system),
            *_markup(tokenizer, f"{TURN_END}\n"),
        ]
    )
    return [
        *opening,
        *_markup(tokenizer, f"{TURN_START}user\n"),
        *vision,
        *plain_tokens(tokenizer, text),
        *_markup(tokenizer, f"{TURN_END}\n{TURN_START}assistant\n"),
    ]


def _markup(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    return tokenizer.encode(text, add_special_tokens=False)


def plain_tokens(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    """Tokens of a text in which no special or added token is recognised."""
    # the switch of the tokenizer itself still recognises added tokens that are not marked special
    backend = tokenizer.backend_tokenizer
    if backend.normalizer is not None:
        text = backend.normalizer.normalize_str(text)
    pieces = [text]
    if backend.pre_tokenizer is not None:
        pieces = [piece for piece, _ in backend.pre_tokenizer.pre_tokenize_str(text)]
    return [token.id for piece in pieces for token in backend.model.tokenize(piece)]


def _positions(descriptor: Descriptor, input_ids: torch.Tensor, video_mask: torch.Tensor, seen: BatchFeature) -> torch.Tensor:
    """M-RoPE positions (3, P) from the model's own rule."""
    positions, _ = descriptor.core.get_rope_index(
        input_ids[None],
        mm_token_type_ids=video_mask[None].int() * 2,  # 2 means video
        video_grid_thw=seen["video_grid_thw"],
        attention_mask=torch.ones_like(input_ids)[None],
    )
    positions = positions[-3:, 0]  # some releases put a row of text positions first
    interval, per_s = seen.get("second_per_grid_ts"), descriptor.family.positions_per_s
    if interval is not None and per_s is not None:
        # some releases round the interval down to whole seconds, which makes a short clip timeless
        layers = int(seen["video_grid_thw"][0, 0])
        times = (torch.arange(layers) * (per_s * interval[0])).long()
        start = positions[1][video_mask].min()
        positions[0, video_mask] = start + times.repeat_interleave(int(video_mask.sum()) // layers)
    return positions
