"""How many bytes a media file says that it has, by the sizes in its own headers.

A decoder stops at the last whole packet of a truncated file, without an error. The sizes tell more: those of the chunks
of RIFF (WAV, AVI), the boxes of MP4 and MOV, the segment of Matroska and WebM, the pages of Ogg, and the bytes that the
first frame of an MP3 counts (its tag Xing or Info). A file without such a size says nothing.
"""

from collections.abc import Callable
from typing import Final

_UNKNOWN_RIFF: Final = 0x7FFF_0000
"""A chunk of this size or more was written to a pipe: nobody knew its size."""
_BOXES: Final = frozenset(
    (b"ftyp", b"styp", b"moov", b"mdat", b"free", b"skip", b"wide", b"moof", b"mfra", b"sidx", b"uuid")
)
_EBML, _SEGMENT = b"\x1a\x45\xdf\xa3", b"\x18\x53\x80\x67"
_PAGE: Final = 27
"""Bytes of the header of an Ogg page, before the sizes of its segments."""
_TAG: Final = 200
"""The tag of an MP3 is in the first bytes of the first frame."""


def missing_media_bytes(data: bytes) -> int:
    """The bytes that a media file lacks, by its own headers; 0 if it is whole, or if they do not tell.

    Args:
        data: content of the file.

    >>> wav = b"RIFF" + (40).to_bytes(4, "little") + b"WAVE" + b"data" + (28).to_bytes(4, "little") + bytes(28)
    >>> missing_media_bytes(wav), missing_media_bytes(wav[:-8]), missing_media_bytes(b"text")
    (0, 8, 0)
    """
    for begins, end in _ENDS.items():
        if data.startswith(begins):
            return max(0, end(data) - len(data))
    if data[4:8] in _BOXES:
        return max(0, _end_of_boxes(data) - len(data))
    return max(0, _end_of_mp3(data) - len(data))


def _end_of_riff(data: bytes) -> int:
    at, end, whole = 12, 0, 8 + int.from_bytes(data[4:8], "little")
    while at + 8 <= min(len(data), whole):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        if size >= _UNKNOWN_RIFF:
            return 0
        end = at + 8 + size
        at = end + size % 2
    return end


def _end_of_boxes(data: bytes) -> int:
    at = 0
    while data[at + 4 : at + 8] in _BOXES:
        size = int.from_bytes(data[at : at + 4])
        if size == 1:  # the size follows in 8 bytes
            size = int.from_bytes(data[at + 8 : at + 16])
        if size < 8:  # 0: as far as the file goes
            return 0
        at += size
    return at


def _end_of_matroska(data: bytes) -> int:
    size, at = _ebml_element_size(data, len(_EBML))
    segment = at + size
    if data[segment : segment + 4] != _SEGMENT:
        return 0
    size, at = _ebml_element_size(data, segment + 4)
    return at + size if size else 0


def _ebml_element_size(data: bytes, at: int) -> tuple[int, int]:
    """The size of an element, 0 if it is not known; and where its content begins."""
    first = data[at] if at < len(data) else 0
    length = 9 - first.bit_length()
    bits = 7 * length
    size = int.from_bytes(data[at : at + length]) & ((1 << bits) - 1)
    return (0 if size == (1 << bits) - 1 else size), at + length


def _end_of_ogg(data: bytes) -> int:
    at = 0
    while data[at : at + 4] == b"OggS":
        content = at + _PAGE + int.from_bytes(data[at + _PAGE - 1 : at + _PAGE])
        at = content + sum(data[at + _PAGE : content])
    return at


def _end_of_mp3(data: bytes) -> int:
    at = 0
    if data.startswith(b"ID3") and len(data) >= 10:
        at = 10 + sum((byte & 0x7F) << shift for byte, shift in zip(data[6:10], (21, 14, 7, 0), strict=True))
    first = data[at : at + _TAG]
    if len(first) < 4 or first[0] != 0xFF or first[1] & 0xE0 != 0xE0:
        return 0
    tag = max(first.find(b"Xing"), first.find(b"Info"))
    flags = int.from_bytes(first[tag + 7 : tag + 8])
    if tag < 0 or not flags & 2:  # it counts no bytes
        return 0
    count = tag + (12 if flags & 1 else 8)  # after the number of frames, if it is there
    return at + int.from_bytes(first[count : count + 4])


_ENDS: Final[dict[bytes, Callable[[bytes], int]]] = {
    b"RIFF": _end_of_riff,
    _EBML: _end_of_matroska,
    b"OggS": _end_of_ogg,
}
