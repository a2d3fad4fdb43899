"""Opening files with PyAV and walking their packets, damage included.

Only local files in container formats that hold camera clips are opened. FFmpeg also reads playlists, concat
scripts and network addresses: a text file named clip.mp4 must not make it open other files or a connection.
Left out: what the packets mean (probe) and the pictures (decode).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import av
from av.container import InputContainer
from av.error import FFmpegError
from av.stream import Disposition
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from srlite.errors import InputError

_OPEN_OPTIONS = {
    "protocol_whitelist": "file",
    # Demuxers of clips, and of plain sound so that a sound file is called by its name.
    "format_whitelist": "mov,matroska,webm,avi,asf,flv,mpeg,mpegts,ogg,h264,hevc,mp3,wav,flac,aac,amr",
}
_HEAD_BYTES = 12


@contextmanager
def open_clip(path: Path) -> Iterator[tuple[InputContainer, VideoStream]]:
    """The container and its picture stream. Raises InputError when the file is no video or has no picture."""
    try:
        container = av.open(str(path), options=_OPEN_OPTIONS, metadata_errors="replace")
    except (FFmpegError, ValueError) as error:
        raise InputError(_why_unreadable(path), remedy=_RECORD_AGAIN) from error
    with container:
        stream = picture_stream(container)
        # More threads are faster, but then damaged frames come out unmarked (seen with H.264, by slice and
        # by frame).
        stream.codec_context.thread_count = 1
        yield container, stream


def picture_stream(container: InputContainer) -> VideoStream:
    """The stream that a player would show; cover art is not one."""
    streams = moving_streams(container)
    if not streams:
        if container.streams.audio:
            raise InputError("the file has sound only, no picture", remedy="Use the file that holds the pictures.")
        raise InputError("the file holds no video stream", remedy=_RECORD_AGAIN)
    best = container.streams.best("video")
    stream = best if best in streams else streams[0]
    if stream.codec_context is None:
        raise InputError(
            "the pictures are in a format that cannot be decoded here",
            remedy="Convert the clip to H.264 in an .mp4 file.",
        )
    return stream


def moving_streams(container: InputContainer) -> list[VideoStream]:
    return [s for s in container.streams.video if not s.disposition & Disposition.attached_pic]


def packets(container: InputContainer, stream: VideoStream) -> Iterator[av.Packet]:
    """Every packet that can be read, in file order, without the empty last one. Damage ends the walk."""
    try:
        for packet in container.demux(stream):
            if packet.size:
                yield packet
    except FFmpegError:
        return  # the caller sees fewer packets than the header declared


def decode_packet(stream: VideoStream, packet: av.Packet | None) -> tuple[list[VideoFrame], bool]:
    """Frames that come out for this packet (None: flush) and whether the decoder took it without an error."""
    try:
        return stream.decode(packet), True
    except FFmpegError:
        return [], False


_RECORD_AGAIN = "Copy the file again from the camera, or leave it out."


def _why_unreadable(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"free"):
        return "the video file is cut off or damaged: its table of contents is missing"
    return "this is not a video file, or its beginning is damaged"
