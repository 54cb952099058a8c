"""One array of a Levanter token cache as it is written: zarr v3, sharded, without zarr, tensorstore or JAX.

Levanter declares every array 2^54 elements long and never resizes it. 512 inner chunks of 256 Ki elements
make one object `c/<k>`: the chunks' blosc frames in any order, then an index of 512 pairs (offset, length)
of little-endian uint64, then the CRC-32C of that index. A chunk that is all zero is left out; both its
numbers are 2^64-1.

Sources: zarr v3 core specification and its sharding-indexed codec; marin-levanter 0.2,
`levanter.store.jagged_array`.
"""

import json
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import google_crc32c
import numpy as np
import numpy.typing as npt
from numcodecs import blosc

from gristmill.formats.levanter.dtype import DType

Values: TypeAlias = npt.NDArray[Any]

CHUNK = 262_144  # elements of an inner chunk
CHUNKS = 512  # inner chunks of an object
LENGTH = 2**54  # what every array declares
ABSENT = 2**64 - 1
INDEX_TYPE = np.dtype("<u8")
ITEM_BYTES: dict[str, int] = {"int32": 4, "int64": 8, "float32": 4}


class ObjectSink(Protocol):
    """An object being written: it appears, whole, at `close`, and never otherwise (the lake's `Upload`)."""

    def write(self, data: bytes, /) -> object:
        """Append bytes."""
        ...

    def close(self) -> object:
        """Publish the object."""
        ...

    def abort(self) -> object:
        """Leave nothing behind; harmless after `close`."""
        ...


OpenObject: TypeAlias = Callable[[str], ObjectSink]


def describe(dtype: DType, *, clevel: int) -> bytes:
    """The bytes of an array's `zarr.json`, in Levanter's form (key for key what tensorstore writes)."""
    compressor = {
        "blocksize": 0,
        "clevel": clevel,
        "cname": "zstd",
        "shuffle": "shuffle",
        "typesize": ITEM_BYTES[dtype],
    }
    little = {"configuration": {"endian": "little"}, "name": "bytes"}
    sharding = {
        "chunk_shape": [CHUNK],
        "codecs": [little, {"configuration": compressor, "name": "blosc"}],
        "index_codecs": [little, {"name": "crc32c"}],
    }
    array = {
        "chunk_grid": {"configuration": {"chunk_shape": [CHUNK * CHUNKS]}, "name": "regular"},
        "chunk_key_encoding": {"name": "default"},
        "codecs": [{"configuration": sharding, "name": "sharding_indexed"}],
        "data_type": dtype,
        "fill_value": 0.0 if dtype == "float32" else 0,
        "node_type": "array",
        "shape": [LENGTH],
        "zarr_format": 3,
    }
    return json.dumps(array, separators=(",", ":")).encode()


class _Shard:
    """One object being written: frames as they come, its index at the end."""

    def __init__(self, sink: ObjectSink) -> None:
        self._sink = sink
        self._index: npt.NDArray[np.uint64] = np.full((CHUNKS, 2), ABSENT, INDEX_TYPE)
        self._position = 0

    def put(self, slot: int, frame: bytes) -> None:
        self._sink.write(frame)
        self._index[slot] = self._position, len(frame)
        self._position += len(frame)

    def abort(self) -> None:
        self._sink.abort()

    def close(self) -> None:
        index = self._index.tobytes()
        self._sink.write(index + google_crc32c.value(index).to_bytes(4, "little"))
        self._sink.close()


class ArrayWriter:
    """Writes one array as its elements come, holding one inner chunk (1 or 2 MiB) and its frame.

    The same elements give the same bytes, however they are divided over the calls of `append`.

    Args:
        open_object: opens an object of the array for writing, by its name ("c/0", "c/1", ..., at last
            "zarr.json").
        dtype: the elements' type.
        clevel: zstd level. Levanter before Marin's refuses all but 5; 1 to 3 are faster.
        reserve: elements in front that are given to `close`, because nobody knows them earlier (Levanter's
            row count stands before the offsets). Their chunk is held and their object kept open until then.
    """

    def __init__(self, open_object: OpenObject, dtype: DType, *, clevel: int = 3, reserve: int = 0) -> None:
        # With threads blosc puts its blocks in the order in which they happen to finish.
        blosc.use_threads = False
        self._open, self._dtype, self._clevel, self._reserve = open_object, dtype, clevel, reserve
        self._chunk: Values = np.zeros(CHUNK, np.dtype(dtype).newbyteorder("<"))
        self._filled, self._number = reserve, 0
        self._held: Values | None = None
        self._first: _Shard | None = None
        self._shard: _Shard | None = None

    def append(self, values: Values) -> None:
        """Add elements.

        Raises:
            TypeError: the values have another type (a cast could change them) or more than one dimension.
        """
        if values.dtype != self._chunk.dtype or values.ndim != 1:
            raise TypeError(f"an array of {self._dtype} got {values.ndim} dimensions of {values.dtype}")
        taken = 0
        while taken < len(values):
            count = min(CHUNK - self._filled, len(values) - taken)
            self._chunk[self._filled : self._filled + count] = values[taken : taken + count]
            self._filled += count
            taken += count
            if self._filled == CHUNK:
                self._flush()

    def close(self, head: Values | None = None) -> int:
        """Write what is left, the indexes and `zarr.json`.

        Args:
            head: the reserved elements.

        Returns:
            The number of elements, reserved ones included.
        """
        elements = self._number * CHUNK + self._filled
        if self._filled:
            self._chunk[self._filled :] = 0
            self._flush()
        self._close_shard()
        if self._held is not None and self._first is not None:
            self._held[: self._reserve] = head
            self._put(self._first, 0, self._held)
            self._first.close()
        description = self._open("zarr.json")
        description.write(describe(self._dtype, clevel=self._clevel))
        description.close()
        return elements

    def abort(self) -> None:
        """Give up: drop the objects that are not finished."""
        for shard in (self._first, self._shard):
            if shard is not None:
                shard.abort()

    def _flush(self) -> None:
        object_number, slot = divmod(self._number, CHUNKS)
        if slot == 0:
            self._close_shard()
            self._shard = _Shard(self._open(f"c/{object_number}"))
        if self._number == 0 and self._reserve:
            self._held, self._first = self._chunk.copy(), self._shard
        elif self._shard is not None:
            self._put(self._shard, slot, self._chunk)
        self._filled = 0
        self._number += 1

    def _close_shard(self) -> None:
        """Finish the object being written, unless it waits for the reserved elements."""
        if self._shard is not None and self._shard is not self._first:
            self._shard.close()

    def _put(self, shard: _Shard, slot: int, chunk: Values) -> None:
        if chunk.view(np.uint8).any():
            size = chunk.dtype.itemsize
            shard.put(slot, blosc.compress(chunk, b"zstd", self._clevel, blosc.SHUFFLE, 0, size))
