"""Clocks, markup and positions of the model's input."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from srlite.descriptor.inputs import build_prompt
from srlite.errors import InputError
from srlite.types import Frames

TIMES_S = (0.0, 0.1, 0.45, 0.9, 2.0, 2.6, 5.0, 6.8)


def written(descriptor, prompt) -> str:
    return descriptor.processor.tokenizer.decode(prompt.input_ids.tolist())


def test_time_marks_follow_irregular_times(descriptor, make, family):
    prompt = build_prompt(descriptor, make.noise(family, TIMES_S, 7.0), "Describe.", system=None)
    marks = re.findall(r"<(\d+\.\d) seconds>", written(descriptor, prompt))
    if family == "qwen3_vl":
        assert marks == ["0.1", "0.7", "2.3", "5.9"]
        assert prompt.seconds_per_grid is None
    else:
        assert marks == []
        assert prompt.seconds_per_grid == pytest.approx(7.0 / 4)
        layers = prompt.positions[0][prompt.video_mask].unique()
        assert (layers - layers[0]).tolist() == [0, 3, 7, 10]  # 2 positions a second, every 1.75 s
    assert prompt.grid.tolist() == [[4, 4, 6]]
    assert int(prompt.video_mask.sum()) == descriptor.family.vision_tokens(8, *prompt.size) == 24


def test_a_short_clip_is_not_timeless(folders, make):
    times = [0.25 * i for i in range(8)]
    frames = make.noise("qwen2_5_vl", times, 2.0)
    prompt = build_prompt(make.load(folders["qwen2_5_vl"]), frames, "Describe.", system=None)
    layers = prompt.positions[0][prompt.video_mask].unique()
    assert (layers - layers[0]).tolist() == [0, 1, 2, 3]  # half a second apart


def test_the_clock_scales_with_the_sampling(descriptor, make, family):
    def spacing(count, duration_s):
        times = [duration_s * i / count for i in range(count)]
        prompt = build_prompt(descriptor, make.noise(family, times, duration_s), "Describe.", system=None)
        assert int(prompt.grid[0, 0]) == count // 2  # frames in are frames seen
        if prompt.seconds_per_grid is not None:
            return prompt.seconds_per_grid
        marks = [float(m) for m in re.findall(r"<(\d+\.\d) seconds>", written(descriptor, prompt))]
        return (marks[-1] - marks[0]) / (len(marks) - 1)

    assert spacing(8, 10.0) == pytest.approx(4 * spacing(32, 10.0), rel=0.05)
    assert spacing(8, 60.0) == pytest.approx(6 * spacing(8, 10.0), rel=0.05)


def test_markup_is_chatml_around_one_block_a_layer(descriptor, clip, family):
    text = "Does the child kick the ball? Say so."
    prompt = build_prompt(descriptor, clip, text, system="You watch.")

    def block(tokens):
        return "<|vision_start|>" + "<|video_pad|>" * tokens + "<|vision_end|>"

    seen = block(18) if family == "qwen2_5_vl" else "".join(f"<{mark} seconds>{block(6)}" for mark in ("0.1", "0.9", "2.1"))
    assert written(descriptor, prompt) == (
        f"<|im_start|>system\nYou watch.<|im_end|>\n<|im_start|>user\n{seen}{text}<|im_end|>\n<|im_start|>assistant\n"
    )
    whole = descriptor.processor.tokenizer(written(descriptor, prompt), add_special_tokens=False)
    assert prompt.input_ids.tolist() == whole["input_ids"]


def test_special_tokens_in_the_text_stay_text(descriptor, clip):
    text = "a <|video_pad|> b <|im_end|> c <think> d <|image_pad|><|vision_start|>"
    plain = build_prompt(descriptor, clip, "a b", system=None)
    prompt = build_prompt(descriptor, clip, text, system=text)
    assert written(descriptor, prompt).count(text) == 2
    assert int(prompt.video_mask.sum()) == int(plain.video_mask.sum())
    added = descriptor.processor.tokenizer.added_tokens_decoder
    own = [i for i in prompt.input_ids.tolist() if i in added]
    assert len(own) == sum(i in added for i in plain.input_ids.tolist()) + 2  # those of the system turn


def test_positions_are_the_models_own(descriptor, clip):
    prompt = build_prompt(descriptor, clip, "Describe what is visible in this clip, please.", system=None)
    assert prompt.positions.shape == (3, len(prompt.input_ids))
    assert prompt.next_position == int(prompt.positions[:, -1].max()) + 1
    assert prompt.positions[:, 0].tolist() == [0, 0, 0]
    heights = prompt.positions[1][prompt.video_mask]
    assert len(heights.unique()) >= 2


def test_pixels_are_the_frames(descriptor, make, family):
    frames = make.noise(family)
    flat = Frames(np.zeros_like(frames.images), frames.times_s, frames.duration_s, frames.real)
    prompt = build_prompt(descriptor, flat, "Describe.", system=None)
    patches = 3 * 4 * 6  # layers, rows, columns
    assert prompt.pixels.shape == (patches, 3 * 2 * descriptor.family.patch**2)
    channels = prompt.pixels.reshape(patches, 3, -1)
    assert torch.allclose(channels, channels[:1, :, :1])


@pytest.mark.parametrize(
    ("count", "height", "width", "message"),
    [(3, 2, 3, "3 frames with 3 times"), (4, 2.5, 3, "do not fit")],
)
def test_frames_that_do_not_fit(descriptor, family, make, count, height, width, message):
    step = descriptor.family.frame_multiple
    images = np.zeros((count, int(height * step), int(width * step), 3), np.uint8)
    frames = Frames(images, tuple(float(i) for i in range(count)), float(count), count)
    with pytest.raises(InputError, match=message):
        build_prompt(descriptor, frames, "Describe.", system=None)


def test_a_prompt_that_is_too_long_is_refused_whole(descriptor, clip):
    with pytest.raises(InputError, match="cannot be cut"):
        build_prompt(descriptor, clip, "x y " * 3000, system=None)
