"""A look at H.264 and HEVC packets without decoding them: is one whole, does a key frame really start afresh?

A packet marked as key may be a mere recovery point; decord shows wrong pictures after a seek to one (seen:
the last frame of the clip replaced by the one before). A packet whose unit lengths do not add up is damaged.
Only the length-prefixed form of .mp4, .mov and .mkv is understood; any other H.264 or HEVC packet counts as
neither.
Left out: damage inside a unit, which only the decoder notices.
"""

from __future__ import annotations

_LENGTH_AT = {"h264": 4, "hevc": 21}  # offset in avcC and hvcC of the byte that says how long a length is
_H264_IDR = 5
_HEVC_FRESH = (16, 17, 18, 19, 20)  # BLA and IDR pictures; 21 (CRA) may be followed by frames that lean back


def whole(codec: str, header: bytes, packet: bytes) -> bool:
    """The unit lengths fill the packet. header: the codec's extra data. True for codecs without units."""
    return codec not in _LENGTH_AT or _unit_heads(codec, header, packet) is not None


def starts_afresh(codec: str, header: bytes, packet: bytes) -> bool:
    """No later picture needs one from before this key packet. True for codecs without units."""
    if codec not in _LENGTH_AT:
        return True
    heads = _unit_heads(codec, header, packet) or []
    if codec == "h264":
        return any(head & 0x1F == _H264_IDR for head in heads)
    return any(head >> 1 & 0x3F in _HEVC_FRESH for head in heads)


def _unit_heads(codec: str, header: bytes, packet: bytes) -> list[int] | None:
    """First byte of each unit; None when the lengths do not add up or the form is another one."""
    where = _LENGTH_AT[codec]
    if len(header) <= where or header[0] != 1:
        return None
    prefix, at, heads = (header[where] & 3) + 1, 0, []
    while at + prefix < len(packet):
        heads.append(packet[at + prefix])
        at += prefix + int.from_bytes(packet[at : at + prefix], "big")
    return heads if at == len(packet) else None
