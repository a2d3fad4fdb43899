"""From a real clip of varying rate to what the model is told: the marks in the prompt are the frames' true times."""

import re
from fractions import Fraction

import pytest
from video.numbered_clips import number_of, write_clip

from srlite.descriptor.inputs import build_prompt
from srlite.descriptor.load import load_descriptor
from srlite.models.store import BUNDLED
from srlite.video.reader import ClipReader


def test_the_marks_of_a_clip_of_varying_rate_are_its_true_times(tmp_path):
    """Twenty-five frames a second for two seconds, then one in half a second for six."""
    ticks = [*range(0, 2000, 40), *range(2000, 8000, 500)]
    write_clip(tmp_path / "varying.mp4", frames=len(ticks), size=(128, 128), ticks=ticks, tick=Fraction(1, 1000))
    with ClipReader(limit_s=60) as reader:
        assert reader.probe(tmp_path / "varying.mp4").variable
        frames = reader.read(tmp_path / "varying.mp4", count=8, multiple=32, max_pixels=128 * 128)
    assert [ticks[number_of(image)] / 1000 for image in frames.images] == pytest.approx(frames.times_s)
    gaps = [later - earlier for earlier, later in zip(frames.times_s, frames.times_s[1:], strict=False)]
    assert max(gaps) <= 2 * sum(gaps) / len(gaps)
    model = load_descriptor(BUNDLED / "descriptor", adapter=None, device="cpu", quantise=False, dtype="auto", seed=0)
    text = model.processor.tokenizer.decode(build_prompt(model, frames, "Describe.", system=None).input_ids)
    marks = [float(mark) for mark in re.findall(r"<(\d+\.\d) seconds>", text)]
    pairs = zip(frames.times_s[::2], frames.times_s[1::2], strict=True)
    assert marks == pytest.approx([sum(pair) / 2 for pair in pairs], abs=0.051)
