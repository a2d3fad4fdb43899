"""What a clip is, from its packets alone: cheap, so that thousands of clips can be checked before anything
heavy.

One picture is decoded, the first, because only a picture tells which way is up. Everything else (length,
frame times, damage that shows in the container) comes from the timestamps of the packets, never from the
header's frame rate.
Runs in the child process. Left out: choosing and decoding the frames to look at (decode).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median

import av
from av.container import InputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from srlite.errors import InputError
from srlite.video.container import decode_packet, moving_streams, open_clip, packets
from srlite.video.info import ClipInfo, Reader
from srlite.video.nal import starts_afresh, whole
from srlite.video.orientation import Turn, turn_of

PLAUSIBLE_FPS = (1.0, 240.0)
_UNEVEN = 0.1  # a frame interval this far from the usual one makes the rate variable
_HDR_TRANSFERS = (16, 18)  # SMPTE ST 2084 (PQ) and ARIB STD-B67 (HLG), numbers of ITU-T H.273
LONG_FRAMES = 1800  # a minute at 30 frames per second; from here on groups without a wanted frame are skipped
_DECORD_CODECS = ("h264", "hevc", "vp9", "mpeg4")
_DECORD_PIXELS = ("yuv420p", "yuvj420p")
_DECORD_CONTAINERS = ("mov,mp4", "matroska")
_MISSING_END_S, _MISSING_END_SHARE = 1.0, 0.1


@dataclass(frozen=True, slots=True)
class Survey:
    """A clip's record with what decoding needs besides.

    ticks: presentation times of the frames from 0 s on, sorted, distinct, in units of `tick_s`; `origin` is
    the tick of 0 s. Empty when the packets carry no times. lost: frames that the header lists and the file
    no longer holds.
    keys: ticks of the key frames, sorted, when each really starts afresh; else empty, and nothing may be
    skipped.
    """

    info: ClipInfo
    turn: Turn
    ticks: tuple[int, ...]
    tick_s: Fraction
    origin: int
    lost: int
    keys: tuple[int, ...]

    def seconds(self, tick: int) -> float:
        return float((tick - self.origin) * self.tick_s)


@dataclass(frozen=True, slots=True)
class Walk:
    """What one walk over the packets found. `ticks` are sorted; `end` is the tick after the last frame."""

    ticks: tuple[int, ...]
    end: int
    packets: int
    untimed: int
    keys: tuple[int, ...]
    open_groups: bool
    """Some pictures lean on the group before their key frame: decord shows wrong ones after a seek."""
    sound: bool
    """No packet is seen to be damaged, and the first picture was decoded without an error."""


def probe(path: Path) -> ClipInfo:
    """The clip's record. Raises InputError: not a video, sound only, cut off too early, no picture."""
    return survey(path).info


def survey(path: Path) -> Survey:
    """As `probe`, with the time of every frame."""
    with open_clip(path) as (container, stream):
        origin = _origin(container, stream)
        walk, picture = _walk(container, stream, origin)
        if picture is None:
            raise InputError("not one picture can be decoded", remedy="Copy the file again, or leave it out.")
        return _describe(container, stream, picture, walk, origin)


def _origin(container: InputContainer, stream: VideoStream) -> int:
    """Tick of 0 s: where a player starts. Recordings cut from a stream may start hours into its clock."""
    start = max(0, container.start_time or 0)
    return round(Fraction(start, av.time_base) / stream.time_base)


def _walk(container: InputContainer, stream: VideoStream, origin: int) -> tuple[Walk, VideoFrame | None]:
    codec, header = stream.codec.canonical_name, stream.codec_context.extradata or b""
    picture, ticks, end = None, set(), origin
    keys: list[int] = []
    count = untimed = 0
    open_groups, sound = False, True
    for packet in packets(container, stream):
        count += 1
        if picture is None:
            picture, accepted = _first(stream, packet)
            sound = sound and accepted
        content = bytes(packet)
        sound = sound and not packet.is_corrupt and whole(codec, header, content)
        if packet.pts is None:
            untimed += 1
            continue
        if packet.is_keyframe:
            keys.append(packet.pts)
            open_groups = open_groups or not starts_afresh(codec, header, content)
        open_groups = open_groups or not keys or packet.pts < keys[-1]
        if packet.is_discard or packet.pts < origin:
            continue  # before 0 s, or cut away by an edit list
        ticks.add(packet.pts)
        end = max(end, packet.pts + (packet.duration or 0))
    if picture is None:
        picture, _ = _first(stream, None)
    return Walk(tuple(sorted(ticks)), end, count, untimed, tuple(keys), open_groups, sound), picture


def _first(stream: VideoStream, packet: av.Packet | None) -> tuple[VideoFrame | None, bool]:
    frames, accepted = decode_packet(stream, packet)
    return (frames[0] if frames else None), accepted


def _describe(container: InputContainer, stream: VideoStream, picture: VideoFrame, walk: Walk, origin: int) -> Survey:
    tick_s, ticks = stream.time_base, walk.ticks
    turn, rotation = turn_of(picture), picture.rotation % 360
    width, height = _upright_size(picture, stream, turn)
    fps = _rate(ticks, tick_s)
    trusted = fps is None or PLAUSIBLE_FPS[0] <= fps <= PLAUSIBLE_FPS[1]
    hdr = stream.codec_context.color_trc in _HDR_TRANSFERS
    lost = _lost(container, stream, walk)
    duration_s = float((_end(walk) - origin) * tick_s) if ticks else 0.0
    info = ClipInfo(
        codec=stream.codec.canonical_name,
        width=width,
        height=height,
        rotation=rotation,
        frames_declared=stream.frames,
        frames=len(ticks) or walk.untimed,
        fps=fps,
        variable=_variable(ticks),
        duration_s=duration_s,
        pixel_format=picture.format.name,
        hdr=hdr,
        has_audio=bool(container.streams.audio),
        clock_trusted=trusted,
        reader=_reader(container, stream, picture, walk, turn, trusted and not hdr),
        warnings=_warnings(container, rotation, fps, trusted, hdr, 0 if lost else duration_s),
    )
    keys = () if walk.open_groups or walk.untimed else walk.keys
    return Survey(info, turn, ticks, tick_s, origin, lost, keys)


def _upright_size(picture: VideoFrame, stream: VideoStream, turn: Turn) -> tuple[int, int]:
    pixel_shape = stream.sample_aspect_ratio or Fraction(1)
    width, height = max(1, round(picture.width * pixel_shape)), picture.height
    return (height, width) if turn.transposed else (width, height)


def _rate(ticks: tuple[int, ...], tick_s: Fraction) -> float | None:
    if len(ticks) < 2:
        return None
    return float((len(ticks) - 1) / ((ticks[-1] - ticks[0]) * tick_s))


def _variable(ticks: tuple[int, ...]) -> bool:
    steps = [later - earlier for earlier, later in zip(ticks, ticks[1:], strict=False)]
    if not steps:
        return False
    usual = median(steps)
    # One tick of rounding is no change of rate: a millisecond clock gives 33, 33, 34.
    return any(abs(step - usual) > max(1, _UNEVEN * usual) for step in steps)


def _end(walk: Walk) -> int:
    """Tick after the last frame; a last packet without a duration is given the usual one."""
    last = walk.ticks[-1]
    if walk.end > last or len(walk.ticks) < 2:
        return max(walk.end, last)
    return last + round(median(b - a for a, b in zip(walk.ticks, walk.ticks[1:], strict=False)))


def _lost(container: InputContainer, stream: VideoStream, walk: Walk) -> int:
    """Frames listed in the file's table and no longer in the file. Only the mov family keeps a true table."""
    return max(0, stream.frames - walk.packets) if container.format.name.startswith("mov,") else 0


def _reader(container: InputContainer, stream: VideoStream, picture: VideoFrame, walk: Walk, turn: Turn, plain: bool) -> Reader:
    """decord only where it is known to show the right frame at the right time; PyAV for everything else.

    decord gains by skipping, and damage inside a picture passes it unnoticed. So it gets long clips only;
    in a short one nearly every group of pictures is needed anyway, and decoding all of it shows whether it
    is sound.
    """
    fits = (
        plain
        and walk.packets >= LONG_FRAMES
        and stream.codec.canonical_name in _DECORD_CODECS
        and picture.format.name in _DECORD_PIXELS
        and container.format.name.startswith(_DECORD_CONTAINERS)
        and container.duration is not None
        and len(moving_streams(container)) == len(container.streams.video) == 1
        and stream.frames in (0, walk.packets)
        and walk.packets == len(walk.ticks)  # all timed, distinct, none hidden
        and walk.sound
        and not walk.open_groups
        and not turn.mirrored
    )
    return "decord" if fits and _decord_works() else "pyav"


def _decord_works() -> bool:
    try:
        import decord  # noqa: F401
    except (ImportError, OSError):  # not installed, or its native library does not load
        return False
    return True


def _warnings(
    container: InputContainer, rotation: int, fps: float | None, trusted: bool, hdr: bool, pictures_s: float
) -> tuple[str, ...]:
    said = []
    if not trusted:
        said.append(
            f"the frame rate reads as {fps:.4g} per second, which is not plausible: frames are "
            "taken in order and their times are not to be relied on"
        )
    if hdr:
        said.append("the clip is HDR: its colours are shown without tone mapping and look pale")
    if rotation % 90:
        said.append(f"the file asks for a turn of {rotation} degrees: only quarter turns are made, the picture is as stored")
    claimed_s = (container.duration or 0) / av.time_base
    if pictures_s and claimed_s - pictures_s > max(_MISSING_END_S, _MISSING_END_SHARE * claimed_s):
        said.append(f"the pictures end at {pictures_s:.1f} s although the file claims {claimed_s:.1f} s")
    return tuple(said)
