"""Which way is up: the display matrix of a frame, reduced to a transposition and two flips.

Left out: turns by other than quarters. They do not occur in clips from cameras; probe warns of them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from av.video.frame import VideoFrame


@dataclass(frozen=True, slots=True)
class Turn:
    """From the stored picture to the upright one: first transpose, then flip."""

    transposed: bool = False
    flip_x: bool = False
    flip_y: bool = False

    @property
    def mirrored(self) -> bool:
        """Left and right are exchanged: no rotation can do it."""
        return self.transposed ^ self.flip_x ^ self.flip_y

    def stored(self, width: int, height: int) -> tuple[int, int]:
        """Size that the stored picture must have for the upright one to be (width, height)."""
        return (height, width) if self.transposed else (width, height)

    def apply(self, image: np.ndarray) -> np.ndarray:
        """image: (height, width, 3) as stored; the answer is a view, upright."""
        upright = image.swapaxes(0, 1) if self.transposed else image
        return upright[:: -1 if self.flip_y else 1, :: -1 if self.flip_x else 1]


def turn_of(frame: VideoFrame) -> Turn:
    """The turn that the frame's display matrix asks for; none without a matrix or for an odd angle."""
    for side in frame.side_data:
        if side.type.name == "DISPLAYMATRIX" and frame.rotation % 90 == 0:
            return _turn(struct.unpack("=9i", bytes(side)))
    return Turn()


def _turn(matrix: tuple[int, ...]) -> Turn:
    """A point (x, y) goes to (a x + c y, b x + d y)."""
    a, b, _, c, d = matrix[:5]
    if abs(b) > abs(a):
        return Turn(transposed=True, flip_x=c < 0, flip_y=b < 0)
    return Turn(transposed=False, flip_x=a < 0, flip_y=d < 0)
