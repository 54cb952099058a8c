"""Reads ranges of one array of a Levanter token cache. Damaged or missing data is an error, never zeros.

`array_writer` describes the format. Blosc frames carry no checksum of their data, so this reader may miss a flipped
bit inside a frame. The lake's ledger holds the sha256 of every object; verification finds the bit with it.
"""

import json
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import google_crc32c
import numpy as np
import numpy.typing as npt
from numcodecs import blosc

from gristmill.errors import DataError, shorten
from gristmill.formats.levanter.array_writer import ABSENT, INDEX_TYPE, Values, zarr_json

READ_AHEAD = 8 * 2**20  # bytes of neighbouring frames fetched by one request
BLOSC_HEADER = struct.Struct(
    "<BBBBIII"
)  # format version, zstd version, flags, item bytes, data bytes, block bytes, frame bytes
MEND = "write the cache again"
_COMPRESSION = {
    "blocksize": range(1 << 31),
    "clevel": range(10),
    "cname": ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"),
    "shuffle": ("noshuffle", "shuffle", "bitshuffle"),
}
"""How blosc may have packed the frames. Each frame says it too; but a trainer's reader refuses other words."""


class RangeRead(Protocol):
    """Reads bytes [start, end) of an object.

    `end=None` means up to the object's end. A negative `start` is allowed only then: it asks for the last `-start`
    bytes (HTTP's suffix range), or for the whole object if it is shorter.
    """

    def __call__(self, path: str, start: int, end: int | None, /) -> bytes:
        """The bytes of the range; fewer if the object ends before `end`.

        Args:
            path: full name of the object.
            start: first byte, or minus the number of bytes at the end.
            end: the byte after the last one; None: the object's end.

        Raises:
            FileNotFoundError: there is no such object.
        """
        ...


class _Form(NamedTuple):
    """The form of an array, from `zarr.json`: element type, elements per inner chunk, inner chunks per object."""

    dtype: np.dtype[Any]
    chunk: int
    chunks: int


def _parse_zarr_form(path: str, description: bytes) -> _Form:
    """Parses `zarr.json`. Any chunk size is accepted, and any compressor of blosc (older Levanter: lz4).

    All else must be as Levanter writes it. A trainer's reader obeys what this one has no use for, such as the names of
    chunks: it would find other objects, or none, which it takes for zeros.
    """
    try:
        array = json.loads(description)
        inner = array["codecs"][0]["configuration"]
        (shard_elements,), (chunk,) = array["chunk_grid"]["configuration"]["chunk_shape"], inner["chunk_shape"]
        chunks, rest = divmod(shard_elements, chunk)
        levanter = json.loads(zarr_json(array["data_type"], clevel=0))
        levanter["chunk_grid"]["configuration"]["chunk_shape"] = [shard_elements]
        same = levanter["codecs"][0]["configuration"]
        same["chunk_shape"] = [chunk]
        same["codecs"][1]["configuration"] |= {
            key: found
            for key, known in _COMPRESSION.items()
            if (found := inner["codecs"][1]["configuration"][key]) in known
        }
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise DataError(f"{path}: not a sharded zarr v3 array of Levanter's ({error!r}); {MEND}") from error
    differ = [key for key in sorted(levanter.keys() | array.keys()) if levanter.get(key) != array.get(key)]
    numbers = type(chunk) is type(shard_elements) is int and 0 < chunk <= shard_elements
    if differ or rest or not numbers:
        shown = ", ".join(f"{key} {array.get(key)!r}" for key in differ or ["chunk_grid"])
        raise DataError(f"{path}: no array as Levanter writes it, by {shorten(shown, 300)}; {MEND}")
    return _Form(np.dtype(array["data_type"]).newbyteorder("<"), chunk, chunks)


class ArrayReader:
    """Reads ranges of one array. It keeps the index of each object (8 KiB) and the last decoded inner chunk.

    Args:
        read: function that reads a byte range of an object by its full name.
        path: full name of the array's folder, without a closing slash.

    Raises:
        DataError: `zarr.json` is missing, or does not describe an array of Levanter's form.
    """

    def __init__(self, read: RangeRead, path: str) -> None:
        blosc.use_threads = False  # one process, one core
        self._read, self._path = read, path
        self._form = _parse_zarr_form(f"{path}/zarr.json", self._read_object_range("zarr.json", 0, None))
        self._indexes: dict[int, npt.NDArray[np.uint64]] = {}
        self._last: tuple[int, Values] | None = None

    @property
    def dtype(self) -> str:
        """The name of the element type, such as "int32"."""
        return self._form.dtype.name

    def objects(self, elements: int) -> list[str]:
        """The full names of all objects of the array.

        Args:
            elements: number of its elements.
        """
        count = -(-elements // (self._form.chunk * self._form.chunks))
        return [f"{self._path}/{name}" for name in ("zarr.json", *(f"c/{number}" for number in range(count)))]

    def read(self, start: int, stop: int) -> Values:
        """Elements [start, stop) in one new array.

        Args:
            start: number of the first element.
            stop: number of the element after the last one.

        Returns:
            Shape (stop - start,), in this machine's byte order.

        Raises:
            DataError: an object is missing, the checksum of its index differs, or a frame is truncated or damaged.
        """
        result: Values = np.empty(stop - start, self._form.dtype.newbyteorder("="))
        position = 0
        for piece in self.pieces(start, stop):
            result[position : position + len(piece)] = piece
            position += len(piece)
        return result

    def pieces(self, start: int, stop: int) -> Iterator[Values]:
        """Elements [start, stop) in pieces of at most one inner chunk. The pieces are read-only.

        Args:
            start: number of the first element.
            stop: number of the element after the last one.

        Yields:
            The pieces in order, each a 1-dimensional array.

        Raises:
            DataError: as in `read`.
        """
        size = self._form.chunk
        number, last = start // size, -(-stop // size) if stop > start else start // size
        while number < last:
            for chunk in self._decode_chunk_run(number, last):
                yield chunk[max(start - number * size, 0) : stop - number * size]
                number += 1

    def _decode_chunk_run(self, number: int, last: int) -> Iterator[Values]:
        """Decodes chunk `number` and the chunks whose frames directly follow its frame, all from one request."""
        if self._last is not None and self._last[0] == number:
            yield self._last[1]
            return
        object_number, slot = divmod(number, self._form.chunks)
        spans = self._read_chunk_index(object_number)[slot : min(self._form.chunks, slot + last - number)].tolist()
        begin, end = spans[0][0], sum(spans[0])
        run = 1
        while run < len(spans) and spans[run][0] == end and end + spans[run][1] - begin <= READ_AHEAD:
            end += spans[run][1]
            run += 1
        frames = b"" if begin == ABSENT else self._read_object_range(f"c/{object_number}", begin, end)
        for step, (offset, length) in enumerate(spans[:run]):
            where = f"{self._path}/c/{object_number}, chunk {slot + step}"
            chunk = self._decode_chunk(where, frames[offset - begin : offset - begin + length], length)
            self._last = number + step, chunk
            yield chunk

    def _decode_chunk(self, where: str, frame: bytes, length: int) -> Values:
        form = self._form
        if length == ABSENT:
            return np.zeros(form.chunk, form.dtype)
        if len(frame) != length:
            raise DataError(f"{where}: truncated: it has {len(frame)} of {length} bytes; {MEND}")
        size = form.chunk * form.dtype.itemsize
        # blosc trusts the header, so we must find a damaged one before blosc reads it.
        header = BLOSC_HEADER.unpack_from(frame) if length >= BLOSC_HEADER.size else None
        if header is None or (header[3], header[4], header[6]) != (form.dtype.itemsize, size, length):
            raise DataError(f"{where}: damaged: not a blosc frame of {form.chunk} {form.dtype.name}; {MEND}")
        try:
            return np.frombuffer(blosc.decompress(frame), form.dtype)
        except (RuntimeError, ValueError) as error:
            raise DataError(f"{where}: damaged: it cannot be decompressed ({error}); {MEND}") from error

    def _read_chunk_index(self, object_number: int) -> npt.NDArray[np.uint64]:
        spans = self._indexes.get(object_number)
        if spans is None:
            size = self._form.chunks * 2 * INDEX_TYPE.itemsize
            tail = self._read_object_range(f"c/{object_number}", -size - 4, None)
            index, crc = tail[:size], int.from_bytes(tail[size:], "little")
            if len(tail) != size + 4 or google_crc32c.value(index) != crc:
                raise DataError(
                    f"{self._path}/c/{object_number}: truncated or damaged: the index at its end does not agree "
                    f"with its CRC-32C; {MEND}"
                )
            spans = np.frombuffer(index, INDEX_TYPE).reshape(-1, 2)
            self._indexes[object_number] = spans
        return spans

    def _read_object_range(self, name: str, start: int, end: int | None) -> bytes:
        try:
            return self._read(f"{self._path}/{name}", start, end)
        except FileNotFoundError as error:
            raise DataError(f"{self._path}/{name} is missing; {MEND}") from error
