"""The pictures of a clip: upright RGB at the size asked for, each with its true presentation time.

Runs in the child process only. decord reads where `probe` found it right, PyAV everything else and whatever
decord refuses; both give the same frames at the same times. Pictures are resized as they are decoded, so
memory is a few full frames plus the answer, however long the clip. A damaged file is decoded packet by
packet and the loss is said, or the clip is refused when more than MAX_LOSS of its frames are gone; frames
that lean on a damaged one count as gone.
Left out: tone mapping of HDR (said in a warning), deinterlacing, the time limit (reader).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
from av.video.frame import VideoFrame

from srlite.device.threads import cores
from srlite.errors import InputError
from srlite.types import Frames
from srlite.video.container import decode_packet, open_clip, packets
from srlite.video.probe import LONG_FRAMES, Survey, survey
from srlite.video.sampling import choose, fit_size, sample_times
from srlite.video.wire import Wanted

MAX_LOSS = 0.5
_SCALER = "BILINEAR"  # decord's own; swscale widens its kernel when it shrinks, so this does not alias
_MAX_THREADS = 4  # decord holds a full frame in each
_SAME_MOMENT_S = 0.002


@dataclass(frozen=True, slots=True)
class Decoded:
    """What one pass over the file gave. pictures: tick -> (height, width, 3). good: ticks of all sound
    frames, sorted.

    damaged: the decoder met an error; it does not mean that hidden reference frames gave no picture.
    """

    pictures: dict[int, np.ndarray]
    good: tuple[int, ...]
    damaged: bool


def read(path: Path, wanted: Wanted) -> Frames:
    """The frames of a clip. Raises InputError as `probe` does, and when too little can be decoded."""
    found = survey(path)
    info = found.info
    size = fit_size(info.width, info.height, multiple=wanted.multiple, max_pixels=wanted.max_pixels)
    ticks = _choose(found, found.ticks, wanted.count)
    images = _read_decord(path, found, ticks, size) if info.reader == "decord" else None
    warnings = info.warnings
    if images is None:
        ticks, images, loss = _read_pyav(path, found, ticks, size, wanted.count)
        warnings += loss
    real = len(set(ticks))
    if real < wanted.count:
        warnings += (f"the clip has {_frames(real)} where {wanted.count} were wanted",)
    return Frames(images, tuple(found.seconds(t) for t in ticks), info.duration_s, real, warnings)


def _choose(found: Survey, ticks: Sequence[int], count: int) -> tuple[int, ...]:
    """The ticks to show out of those there are: by time, or in order when the clock is not to be trusted."""
    if not ticks:
        return ()
    if found.info.clock_trusted:
        have, wanted = [found.seconds(t) for t in ticks], sample_times(found.info.duration_s, count)
    else:
        # The middle of part i of n frames is frame (i + 0.5) / count * n, less half a frame.
        have, wanted = [i + 0.5 for i in range(len(ticks))], sample_times(len(ticks), count)
    return tuple(ticks[i] for i in choose(have, wanted))


def _read_decord(path: Path, found: Survey, ticks: Sequence[int], size: tuple[int, int]) -> np.ndarray | None:
    """uint8 (F, height, width, 3), or None when decord refuses or contradicts the packets."""
    import decord

    decord.logging.set_level(decord.logging.FATAL)
    number = {tick: i for i, tick in enumerate(found.ticks)}
    indexes = [number[t] for t in ticks]
    try:
        reader = decord.VideoReader(str(path), num_threads=_threads(), width=size[0], height=size[1])
        if len(reader) != len(found.ticks):
            return None
        starts_s = reader.get_frame_timestamp(indexes)[:, 0]
        images = reader.get_batch(indexes).asnumpy()
    except (decord.DECORDError, RuntimeError, AssertionError):  # its words for a file that it cannot read
        return None
    true_s = [float(t * found.tick_s) for t in ticks]
    if np.abs(starts_s - true_s).max() > _SAME_MOMENT_S or _repeats(images, ticks):
        return None
    return np.ascontiguousarray(images)


def _repeats(images: np.ndarray, ticks: Sequence[int]) -> bool:
    """Two moments, one picture to the byte: decord fills a gap with the frame before and does not say so."""
    return any(ticks[i] != ticks[i + 1] and np.array_equal(images[i], images[i + 1]) for i in range(len(ticks) - 1))


def _read_pyav(
    path: Path, found: Survey, ticks: Sequence[int], size: tuple[int, int], count: int
) -> tuple[tuple[int, ...], np.ndarray, tuple[str, ...]]:
    """The ticks really shown, uint8 (F, height, width, 3), and what to say of the loss."""
    decoded = _pass(path, found, frozenset(ticks), size, _groups(found, ticks))
    if decoded.damaged:
        decoded = _pass(path, found, frozenset(ticks), size)  # the loss is that of the whole file
    if not decoded.good:
        raise _nothing_to_show(found)
    loss = _loss(found, decoded)
    if not ticks or not set(ticks) <= set(decoded.good):
        # Some packets gave no picture (damage, or hidden reference frames): choose among those that did.
        ticks = _choose(found, decoded.good, count)
        decoded = _pass(path, found, frozenset(ticks), size)
    return tuple(ticks), np.stack([decoded.pictures[t] for t in ticks]), loss


def _groups(found: Survey, ticks: Sequence[int]) -> frozenset[int] | None:
    """The groups of pictures that must be decoded to see these ticks; None: all of the file."""
    if found.info.frames < LONG_FRAMES or not found.keys or found.lost:
        return None
    return frozenset(bisect_right(found.keys, t) for t in ticks)


def _pass(
    path: Path,
    found: Survey,
    wanted: frozenset[int],
    size: tuple[int, int],
    groups: frozenset[int] | None = None,
) -> Decoded:
    """Decode the file, or only some groups of it, packet by packet; keep the wanted pictures, resized."""
    pictures: dict[int, np.ndarray] = {}
    seen: set[int] = set()
    broken: set[int | None] = set()
    order: list[tuple[int | None, bool]] = []  # (tick, is key) of each packet, in decoding order
    with open_clip(path) as (container, stream):
        for packet in _then_flush(packets(container, stream)):
            if groups and packet and bisect_right(found.keys, packet.pts) not in groups:
                continue
            frames, accepted = decode_packet(stream, packet)
            if packet is not None:
                order.append((packet.pts, packet.is_keyframe))
                broken |= set() if accepted else {packet.pts}
            for frame in frames:
                if frame.is_corrupt:
                    broken.add(frame.pts)
                elif frame.pts is not None and frame.pts >= found.origin:
                    seen.add(frame.pts)
                    if frame.pts in wanted and frame.pts not in pictures:
                        pictures[frame.pts] = _picture(frame, found, size)
    return Decoded(pictures, tuple(sorted(seen - _smeared(order, broken))), bool(broken))


def _smeared(order: Sequence[tuple[int | None, bool]], broken: set[int | None]) -> set[int | None]:
    """Ticks from a broken frame up to the next key frame: the decoder fills them in without saying so."""
    smeared: set[int | None] = set(broken)
    spoiled = False
    for tick, is_key in order:
        spoiled = tick in broken or (spoiled and not is_key)
        if spoiled:
            smeared.add(tick)
    return smeared


def _then_flush(walk: Iterator[av.Packet]) -> Iterator[av.Packet | None]:
    yield from walk
    yield None  # frames still inside the decoder


def _picture(frame: VideoFrame, found: Survey, size: tuple[int, int]) -> np.ndarray:
    width, height = found.turn.stored(*size)
    small = frame.reformat(width=width, height=height, format="rgb24", interpolation=_SCALER, threads=1)
    return np.ascontiguousarray(found.turn.apply(small.to_ndarray()))


def _nothing_to_show(found: Survey) -> InputError:
    if not found.ticks:
        return InputError("its pictures carry no times", remedy="Convert the clip to H.264 in an .mp4 file.")
    return InputError("not one picture can be decoded", remedy="Copy the file again, or leave it out.")


def _loss(found: Survey, decoded: Decoded) -> tuple[str, ...]:
    """Packets without a sound picture count as lost only beside an error: some codecs have hidden packets."""
    undecoded = max(0, found.info.frames - len(decoded.good)) if decoded.damaged else 0
    total = len(decoded.good) + undecoded + found.lost
    lost = undecoded + found.lost
    if lost > MAX_LOSS * total:
        raise InputError(
            f"only {len(decoded.good)} of {total} frames can be read",
            remedy="The copy is damaged or incomplete. Copy it again from the camera, or leave it out.",
        )
    return (f"the file is damaged: read {len(decoded.good)} of {total} frames",) if lost else ()


def _frames(count: int) -> str:
    return "1 frame" if count == 1 else f"{count} frames"


def _threads() -> int:
    return min(cores(), _MAX_THREADS)
