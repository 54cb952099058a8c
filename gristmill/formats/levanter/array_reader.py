"""One array of a Levanter token cache, read by ranges: what is damaged or missing is an error, never zeros.

`levanter_array` describes the format. Blosc frames carry no checksum of their data, so a flipped bit inside
one may go unseen here; the sha256 of every object in the lake's ledger is what finds it.
"""

import json
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import google_crc32c
import numpy as np
import numpy.typing as npt
from numcodecs import blosc

from gristmill.errors import DataError
from gristmill.formats.levanter.array_writer import ABSENT, INDEX_TYPE, ITEM_BYTES, Values

READ_AHEAD = 8 * 2**20  # bytes of neighbouring frames fetched by one request
BLOSC_HEADER = struct.Struct("<BBBBIII")  # version, its zstd's, flags, type size, bytes, block bytes, frame bytes
MEND = "write the cache again"


class RangeRead(Protocol):
    """Reads bytes [start, end) of an object; raises FileNotFoundError where there is none.

    `end=None` means to the object's end, and then a negative `start` the last `-start` bytes (HTTP's suffix
    range), or all of a shorter object.
    """

    def __call__(self, path: str, start: int, end: int | None, /) -> bytes:
        """The bytes; fewer where the object ends before `end`."""
        ...


class _Form(NamedTuple):
    """What an array's `zarr.json` says: type, elements of an inner chunk, inner chunks of an object."""

    dtype: np.dtype[Any]
    chunk: int
    chunks: int


def _form(path: str, description: bytes) -> _Form:
    """Read `zarr.json`; chunks of any size, blosc with any compressor (older Levanter: lz4)."""
    try:
        array = json.loads(description)
        (sharding,) = array["codecs"]
        inner = sharding["configuration"]
        (shard_elements,) = array["chunk_grid"]["configuration"]["chunk_shape"]
        (chunk,) = inner["chunk_shape"]
        names = [codec["name"] for codec in (sharding, *inner["codecs"], *inner["index_codecs"])]
        ends = {codec["configuration"]["endian"] for codec in (inner["codecs"][0], inner["index_codecs"][0])}
        dtype, place = str(array["data_type"]), inner.get("index_location", "end")
        fill, chunks = array["fill_value"], shard_elements // chunk
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, ArithmeticError) as error:
        raise DataError(f"{path}: not a sharded zarr v3 array ({error!r}); {MEND}") from error
    known = ["sharding_indexed", "bytes", "blosc", "bytes", "crc32c"]
    if names != known or ends != {"little"} or dtype not in ITEM_BYTES or place != "end" or fill != 0:
        raise DataError(
            f"{path}: {dtype} filled with {fill}, codecs {names}, index at the {place}: Levanter's arrays "
            f"are {', '.join(ITEM_BYTES)}, little endian, filled with 0, codecs {known}; {MEND}"
        )
    return _Form(np.dtype(dtype).newbyteorder("<"), chunk, chunks)


class ArrayReader:
    """Reads ranges of one array. Keeps its objects' indexes (8 KiB each) and the inner chunk decoded last.

    Args:
        read: reads a byte range of an object by its full name.
        path: the array's folder, as `read` knows it.

    Raises:
        DataError: `zarr.json` is missing or of another form.
    """

    def __init__(self, read: RangeRead, path: str) -> None:
        blosc.use_threads = False  # one process, one core
        self._read, self._path = read, path
        self._form = _form(f"{path}/zarr.json", self._bytes("zarr.json", 0, None))
        self._indexes: dict[int, npt.NDArray[np.uint64]] = {}
        self._last: tuple[int, Values] | None = None

    @property
    def dtype(self) -> str:
        """The name of the elements' type."""
        return self._form.dtype.name

    def read(self, start: int, stop: int) -> Values:
        """Elements [start, stop) in one new array.

        Raises:
            DataError: an object is missing, its index's checksum differs, a frame is cut short or damaged.
        """
        result: Values = np.empty(stop - start, self._form.dtype.newbyteorder("="))
        position = 0
        for piece in self.pieces(start, stop):
            result[position : position + len(piece)] = piece
            position += len(piece)
        return result

    def pieces(self, start: int, stop: int) -> Iterator[Values]:
        """Elements [start, stop), at most one inner chunk at a time, read-only; errors as in `read`."""
        size = self._form.chunk
        number, last = start // size, -(-stop // size) if stop > start else start // size
        while number < last:
            for chunk in self._run(number, last):
                yield chunk[max(start - number * size, 0) : stop - number * size]
                number += 1

    def _run(self, number: int, last: int) -> Iterator[Values]:
        """This chunk and those that lie right behind it in its object, of one request."""
        if self._last is not None and self._last[0] == number:
            yield self._last[1]
            return
        object_number, slot = divmod(number, self._form.chunks)
        places = self._index(object_number)[slot : min(self._form.chunks, slot + last - number)].tolist()
        begin, end = places[0][0], sum(places[0])
        run = 1
        while run < len(places) and places[run][0] == end and end + places[run][1] - begin <= READ_AHEAD:
            end += places[run][1]
            run += 1
        frames = b"" if begin == ABSENT else self._bytes(f"c/{object_number}", begin, end)
        for step, (offset, length) in enumerate(places[:run]):
            where = f"{self._path}/c/{object_number}, chunk {slot + step}"
            chunk = self._decode(where, frames[offset - begin : offset - begin + length], length)
            self._last = number + step, chunk
            yield chunk

    def _decode(self, where: str, frame: bytes, length: int) -> Values:
        form = self._form
        if length == ABSENT:
            return np.zeros(form.chunk, form.dtype)
        if len(frame) != length:
            raise DataError(f"{where}: {len(frame)} of {length} bytes are there: truncated; {MEND}")
        size = form.chunk * form.dtype.itemsize
        # blosc believes its header, so a damaged one must be found before blosc sees it.
        header = BLOSC_HEADER.unpack_from(frame) if length >= BLOSC_HEADER.size else None
        if header is None or (header[3], header[4], header[6]) != (form.dtype.itemsize, size, length):
            raise DataError(f"{where}: no blosc frame of {form.chunk} {form.dtype.name}: damaged; {MEND}")
        try:
            return np.frombuffer(blosc.decompress(frame), form.dtype)
        except (RuntimeError, ValueError) as error:
            raise DataError(f"{where}: does not decompress ({error}): damaged; {MEND}") from error

    def _index(self, object_number: int) -> npt.NDArray[np.uint64]:
        known = self._indexes.get(object_number)
        if known is None:
            size = self._form.chunks * 2 * INDEX_TYPE.itemsize
            tail = self._bytes(f"c/{object_number}", -size - 4, None)
            index, crc = tail[:size], int.from_bytes(tail[size:], "little")
            if len(tail) != size + 4 or google_crc32c.value(index) != crc:
                raise DataError(
                    f"{self._path}/c/{object_number}: the index at its end does not agree with its CRC-32C: "
                    f"truncated or damaged; {MEND}"
                )
            known = np.frombuffer(index, INDEX_TYPE).reshape(-1, 2)
            self._indexes[object_number] = known
        return known

    def _bytes(self, name: str, start: int, end: int | None) -> bytes:
        try:
            return self._read(f"{self._path}/{name}", start, end)
        except FileNotFoundError as error:
            raise DataError(f"{self._path}/{name} is missing; {MEND}") from error
