"""The sizes that headers promise, in files that one can count by eye."""

import pytest

from gristmill.energon.formats.media_sizes import missing_media_bytes


def riff(*chunks: tuple[bytes, bytes], form: bytes = b"WAVE") -> bytes:
    body = b"".join(name + len(data).to_bytes(4, "little") + data + bytes(len(data) % 2) for name, data in chunks)
    return b"RIFF" + (4 + len(body)).to_bytes(4, "little") + form + body


def box(name: bytes, data: bytes, *, wide: bool = False) -> bytes:
    if wide:
        return (1).to_bytes(4) + name + (16 + len(data)).to_bytes(8) + data
    return (8 + len(data)).to_bytes(4) + name + data


def page(data: bytes) -> bytes:
    """An Ogg page; its segments have at most 255 bytes."""
    segments = bytes(len(data[at : at + 255]) for at in range(0, len(data), 255))
    return b"OggS" + bytes(22) + bytes([len(segments)]) + segments + data


def matroska(size: bytes, data: bytes) -> bytes:
    return b"\x1a\x45\xdf\xa3\x84head\x18\x53\x80\x67" + size + data


def mp3(flags: int, counts: bytes, length: int) -> bytes:
    """A first frame with the tag Xing at byte 36, then zeros until there are `length` bytes."""
    return (b"\xff\xfb\x90\x64" + bytes(32) + b"Xing" + flags.to_bytes(4) + counts).ljust(length, b"\0")


FILES = {
    "wav": riff((b"fmt ", bytes(16)), (b"odd ", bytes(3)), (b"data", bytes(100))),
    "avi": riff((b"LIST", bytes(50)), (b"idx1", bytes(32)), form=b"AVI "),
    "mp4": box(b"ftyp", bytes(8)) + box(b"mdat", bytes(100)) + box(b"moov", bytes(50)),
    "wide": box(b"ftyp", bytes(8)) + box(b"moov", bytes(8)) + box(b"mdat", bytes(100), wide=True),
    "ogg": page(bytes(600)) + page(bytes(100)),
    "mkv": matroska(b"\xe4", bytes(100)),
    "mkv8": matroska(b"\x01" + (100).to_bytes(7), bytes(100)),
    "mp3": mp3(3, (9).to_bytes(4) + (400).to_bytes(4), 400),
    "mp3 of bytes alone": mp3(2, (400).to_bytes(4), 400),
    "mp3 with ID3": b"ID3\x04\0\0" + b"\0\0\x01\x02" + bytes(130) + mp3(3, bytes(4) + (400).to_bytes(4), 400),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_whole_file_lacks_nothing_and_a_cut_one_what_was_cut(kind: str) -> None:
    data = FILES[kind]
    assert missing_media_bytes(data) == 0
    assert missing_media_bytes(data + b"TAG" + bytes(125)) == 0
    assert [missing_media_bytes(data[:-cut]) for cut in (1, 7, 31)] == [1, 7, 31]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"text",
        riff((b"fmt ", bytes(16)))[:-16] + b"data\xff\xff\xff\xff" + bytes(10),  # written to a pipe
        box(b"ftyp", b"") + bytes(4) + b"mdat" + bytes(10),  # as far as the file goes
        matroska(b"\xff", bytes(10)),  # live: one byte, all ones
        matroska(b"\x01" + b"\xff" * 7, bytes(10)),  # live: eight bytes
        b"\x1a\x45\xdf\xa3",
        mp3(1, (9).to_bytes(4), 100),  # frames are counted, but no bytes
        mp3(3, b"", 0)[:43],
        b"ID3",
    ],
)
def test_a_file_that_does_not_tell_its_size_lacks_nothing(data: bytes) -> None:
    assert missing_media_bytes(data) == 0


def test_headers_of_any_bytes_are_no_error() -> None:
    for begins in (b"RIFF", b"\x1a\x45\xdf\xa3", b"OggS", b"\0\0\0\x10ftyp", b"ID3", b"\xff\xfbXing"):
        for byte in range(0, 256, 5):
            for length in range(40):
                assert missing_media_bytes(begins + bytes([byte]) * length) >= 0
