"""How a file is packed, by its bytes, and its first plain bytes."""

import bz2
import io
import lzma
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from pathlib import Path

import zstandard

from gristmill.errors import DataError
from gristmill.lake.rows.unpacking import is_skippable, unpack_bzip2, unpack_gzip, unpack_xz, unpack_zstandard

HEAD = 1 << 20
"""Plain bytes that are looked at."""
_STEP = 64 << 10
_PACKED = 8 << 20
"""Packed bytes that are read at most for them."""
_WINDOW = 1 << 31

ENDINGS = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstandard": ".zst"}
"""The ending of the name that goes with each packing."""
_MAGIC = {
    "gzip": b"\x1f\x8b\x08",
    "bzip2": b"BZh",
    "xz": b"\xfd7zXZ\x00",
    "zstandard": b"\x28\xb5\x2f\xfd",
}
_UNPACK: dict[str, Callable[[Iterable[bytes], str], Iterator[bytes]]] = {
    "gzip": unpack_gzip,
    "bzip2": unpack_bzip2,
    "xz": unpack_xz,
    "zstandard": unpack_zstandard,
}


def guess_packing(begin: bytes) -> str:
    r"""The packing that a file's first bytes tell; empty if it is plain.

    >>> guess_packing(b"\x1f\x8b\x08\x00"), guess_packing(b"{}")
    ('gzip', '')
    """
    if is_skippable(begin):
        return "zstandard"
    return next((name for name, magic in _MAGIC.items() if begin.startswith(magic)), "")


def plain_head(path: Path, most: int = HEAD) -> tuple[bytes, bool]:
    """The first plain bytes of a file, and whether they are all of it. Damaged bytes end the head.

    Args:
        path: path of the file.
        most: largest number of bytes to read.
    """
    with path.open("rb") as file:
        packing = guess_packing(file.read(8))
        file.seek(0)
        if not packing:
            data = file.read(most + 1)
            return data[:most], len(data) <= most
        plain = bytearray()
        pieces = (file.read(_STEP) for _ in range(_PACKED // _STEP))
        try:
            for piece in _UNPACK[packing](takewhile(bool, pieces), path.name):
                plain += piece
                if len(plain) > most:
                    break
        except DataError:
            return bytes(plain[:most]), False
        return bytes(plain[:most]), len(plain) <= most and not file.read(1)


def unpacking_file(path: Path) -> io.BufferedIOBase:
    """The plain bytes of a packed file as a stream, for archives.

    Args:
        path: path of the file.
    """
    with path.open("rb") as file:
        packing = guess_packing(file.read(8))
    if packing == "gzip":
        import gzip  # noqa: PLC0415 - only archives need it

        return gzip.open(path)
    if packing == "bzip2":
        return bz2.open(path)
    if packing == "xz":
        return lzma.open(path)
    if packing == "zstandard":
        unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
        return io.BufferedReader(unpacker.stream_reader(path.open("rb"), read_across_frames=True))
    return path.open("rb")


def named_by_content(name: str, packing: str, kind: str = "") -> str:
    """The name under which readers understand a file: they go by its ending.

    Args:
        name: name of the file.
        packing: packing of the file, from its first bytes; empty if it is plain.
        kind: the ending of an archive by its bytes, such as `.tar`; empty if it is not an archive.

    >>> named_by_content("a.jsonl.txt", "gzip"), named_by_content("a.warc.gz", ""), named_by_content("a.gz", "", ".zip")
    ('a.jsonl.txt.gz', 'a.warc', 'a.zip')
    """
    given = name
    packings = (*ENDINGS.values(), ".zstd")
    short = {".tgz": "gzip", ".tbz2": "bzip2", ".tbz": "bzip2", ".txz": "xz", ".tzst": "zstandard"}
    for end, packed in short.items():
        if kind == ".tar" and name.lower().endswith(end) and packing == packed:
            return given
    stem = next((name[: -len(end)] for end in packings if name.lower().endswith(end)), name)
    if kind == ".zip":
        alike = (".zip", ".whl", ".epub", ".jar")
        return given if given.lower().endswith(alike) else stem.removesuffix(".tar") + ".zip"
    if kind == ".tar":
        stem = stem.removesuffix(".zip").removesuffix(".tgz")
        stem = stem if stem.lower().endswith(".tar") else f"{stem}.tar"
    end = ENDINGS.get(packing, "")
    if packing == "zstandard" and given.lower().endswith(".zstd"):
        end = ".zstd"
    return stem + end
