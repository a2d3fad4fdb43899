"""What is known of a clip before its pictures are read. Importing this record loads no video library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Reader = Literal["decord", "pyav"]


@dataclass(frozen=True, slots=True)
class ClipInfo:
    """A clip that has pictures; a file without any is an InputError, not a record.

    width, height: of the picture as a person sees it, in square pixels: turned upright, pixel shape undone.
    rotation: degrees counter-clockwise that the file asks a player to turn its pictures (0, 90, 180, 270).
    frames_declared: what the header claims, 0 when it claims nothing. frames: what the packets show (frames
    from 0 s on).
    fps: average, None for a single frame. duration_s: from 0 to the end of the last frame.
    clock_trusted: False when the frame rate is not plausible; duration and times are then only what the
    file claims.
    """

    codec: str
    width: int
    height: int
    rotation: int
    frames_declared: int
    frames: int
    fps: float | None
    variable: bool
    duration_s: float
    pixel_format: str
    hdr: bool
    has_audio: bool
    clock_trusted: bool
    reader: Reader
    warnings: tuple[str, ...] = ()
