"""The pictures of an assessed clip, small, for a page: those at the times that the descriptor looked at."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from srlite.config import Settings
from srlite.video.pool import ClipReaders

Strip = list[tuple[float, bytes]]
"""Seconds, and the JPEG of what is seen then."""
_MULTIPLE, _MAX_PIXELS, _QUALITY = 2, 160 * 120, 80


@contextmanager
def clip_strips(settings: Settings) -> Iterator[Callable[[Mapping], Strip]]:
    """`frames_of(document)` for documents of schema srlite.assessment/1 whose clips are where they were.

    A clip is read anew, at the size of the page. Which frames are taken follows from their number alone: they are those that
    the descriptor saw, a repeated last one aside. Raises InputError when the clip cannot be read any more.
    """
    with ClipReaders(limit_s=settings.video.limit_s) as readers:

        def frames_of(document: Mapping) -> Strip:
            wanted = dict(count=settings.video.frames, multiple=_MULTIPLE, max_pixels=_MAX_PIXELS)
            found = readers.read(Path(document["clip"]["path"]), **wanted)
            shown = zip(found.times_s[: found.real], found.images[: found.real], strict=True)
            return [(seconds, _jpeg(image)) for seconds, image in shown]

        yield frames_of


def _jpeg(image: np.ndarray) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(image).save(out, "JPEG", quality=_QUALITY)
    return out.getvalue()
