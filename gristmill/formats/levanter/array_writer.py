"""Writes one array of a Levanter token cache: zarr v3 with sharding, without zarr, tensorstore or JAX.

Levanter declares every array 2^54 elements long and never resizes it. One object `c/<k>` holds 512 inner chunks of
256 Ki elements. First come the blosc frames of the chunks, in any order. Then comes an index: for each chunk a pair
(offset, length) of little-endian uint64. The CRC-32C of the index ends the object. A chunk of zeros only has no
frame; both its numbers are 2^64-1.

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
LENGTH = 2**54  # elements that every array declares
ABSENT = 2**64 - 1
INDEX_TYPE = np.dtype("<u8")
ITEM_BYTES: dict[str, int] = {"int32": 4, "int64": 8, "float32": 4}


class ObjectSink(Protocol):
    """An object being written. It appears at `close`, complete, and at no other time (the lake's `Upload` fits).

    Who opens an object aborts it if it is not closed in the end.
    """

    def write(self, data: bytes, /) -> object:
        """Append bytes.

        Returns:
            Anything: callers do not read it.
        """
        ...

    def close(self) -> object:
        """Publish the object.

        Returns:
            Anything: callers do not read it.
        """
        ...


OpenObject: TypeAlias = Callable[[str], ObjectSink]
"""Opens an object for writing, by its name below a folder."""


def zarr_json(dtype: DType, *, clevel: int) -> bytes:
    """The bytes of an array's `zarr.json`, with the keys and values that tensorstore writes for Levanter.

    Args:
        dtype: element type.
        clevel: zstd level, 0 to 9.

    Returns:
        JSON in UTF-8, without white space.

    >>> json.loads(zarr_json("int32", clevel=3))["chunk_grid"]["configuration"]
    {'chunk_shape': [134217728]}
    """
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


class _ChunkBuffer:
    """One object being written: the frames in the order of `put`, then the index."""

    def __init__(self, sink: ObjectSink) -> None:
        self._sink = sink
        self._index: npt.NDArray[np.uint64] = np.full((CHUNKS, 2), ABSENT, INDEX_TYPE)
        self._position = 0

    def put(self, slot: int, frame: bytes) -> None:
        self._sink.write(frame)
        self._index[slot] = self._position, len(frame)
        self._position += len(frame)

    def close(self) -> None:
        index = self._index.tobytes()
        self._sink.write(index + google_crc32c.value(index).to_bytes(4, "little"))
        self._sink.close()


class ArrayWriter:
    """Writes one array from consecutive pieces. Memory holds one inner chunk (1 or 2 MiB) and its frame.

    The same elements give the same bytes, however they are divided over the calls of `append`.

    Args:
        open_object: function that opens an object of the array for writing, by its name ("c/0", "c/1", ..., at last
            "zarr.json").
        dtype: element type.
        clevel: zstd level, 0 to 9. Levanter before Marin's version refuses all but 5; 1 to 3 are faster.
        reserve: number of elements at the beginning that only `close` gets. Levanter's row count needs this: it
            precedes the offsets and is known last. Their chunk stays in memory and their object open until then.
    """

    def __init__(self, open_object: OpenObject, dtype: DType, *, clevel: int = 3, reserve: int = 0) -> None:
        # With threads, blosc writes its blocks in the order in which they finish: bytes would differ between runs.
        blosc.use_threads = False
        self._open, self._dtype, self._clevel, self._reserve = open_object, dtype, clevel, reserve
        self._chunk: Values = np.zeros(CHUNK, np.dtype(dtype).newbyteorder("<"))
        self._filled, self._number = reserve, 0
        self._held: Values | None = None
        self._first: _ChunkBuffer | None = None
        self._shard: _ChunkBuffer | None = None

    def append(self, values: Values) -> None:
        """Appends elements, shape (n,).

        Raises:
            TypeError: the values have another type, or not exactly one dimension. A cast could change values, so the
                writer never casts.
        """
        if values.dtype != self._chunk.dtype or values.ndim != 1:
            raise TypeError(
                f"an array of {self._dtype} got {values.ndim} dimensions of {values.dtype}; give 1 of {self._dtype}"
            )
        taken = 0
        while taken < len(values):
            count = min(CHUNK - self._filled, len(values) - taken)
            self._chunk[self._filled : self._filled + count] = values[taken : taken + count]
            self._filled += count
            taken += count
            if self._filled == CHUNK:
                self._write_held_chunk()

    def close(self, head: Values | None = None) -> int:
        """Writes the last chunk, the indexes and `zarr.json`.

        Args:
            head: the reserved elements, shape (reserve,).

        Returns:
            The number of elements, reserved ones included.
        """
        elements = self._number * CHUNK + self._filled
        if self._filled:
            self._chunk[self._filled :] = 0
            self._write_held_chunk()
        self._close_shard()
        if self._held is not None and self._first is not None:
            self._held[: self._reserve] = head
            self._put_chunk(self._first, 0, self._held)
            self._first.close()
        description = self._open("zarr.json")
        description.write(zarr_json(self._dtype, clevel=self._clevel))
        description.close()
        return elements

    def _write_held_chunk(self) -> None:
        object_number, slot = divmod(self._number, CHUNKS)
        if slot == 0:
            self._close_shard()
            self._shard = _ChunkBuffer(self._open(f"c/{object_number}"))
        if self._number == 0 and self._reserve:
            self._held, self._first = self._chunk.copy(), self._shard
        elif self._shard is not None:
            self._put_chunk(self._shard, slot, self._chunk)
        self._filled = 0
        self._number += 1

    def _close_shard(self) -> None:
        """Finishes the open object, unless it still needs the reserved elements."""
        if self._shard is not None and self._shard is not self._first:
            self._shard.close()

    def _put_chunk(self, shard: _ChunkBuffer, slot: int, chunk: Values) -> None:
        if chunk.view(np.uint8).any():
            size = chunk.dtype.itemsize
            shard.put(slot, blosc.compress(chunk, b"zstd", self._clevel, blosc.SHUFFLE, 0, size))
