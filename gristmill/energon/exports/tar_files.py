"""The tars of one split of a part, each with the index that Energon reads, the list of its samples, and their ids.

The list is JSON lines in gzip, as is that of the metadata of its media. With them an index of the whole dataset is made
without reading the tars again. The ids
are hashes of (source, id) of the documents. They tell whether a takedown concerns the tar.
"""

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import TypeVar

import msgspec
import numpy as np
import xxhash

from gristmill.energon.exports.line_file import INDEX
from gristmill.energon.formats.media import MediaRow
from gristmill.errors import DataError
from gristmill.formats.tar.samples import Samples, index_bytes
from gristmill.formats.tar.writer import TarWriter
from gristmill.lake.identity import Pair, dump_hashes, sorted_pair_hashes
from gristmill.lake.rows.shard_file import unpack_pieces
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.recipes.export_formats.codec import FileFacts, Sink
from gristmill.recipes.export_formats.gzip_lines import GzipLines

TAR = ".tar"
SAMPLES = ".samples.jsonl.gz"
"""What is added to the name of a tar for that of the list of its samples."""
MEDIA = ".media.jsonl.gz"
"""What is added to the name of a tar for that of the list of its media, if the recipe wants their metadata."""
IDS = ".ids"
"""What is added to the name of a tar for that of the hashes of its documents."""

_T = TypeVar("_T")
_BUFFER = 1 << 20
_BATCH = 1 << 10
"""Samples that are listed together."""
_END = 1024
"""Bytes of the end of a tar: two blocks of zeros."""


class SampleLine(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A sample, as the list of a tar has it.

    Attributes:
        key: key of the sample.
        start: offset of its first header.
        size: bytes of its headers and contents.
        parts: name, offset and size of each part's content.
        source: name of the document's source.
        id: id of the document.
    """

    key: str
    start: int
    size: int
    parts: list[tuple[str, int, int]]
    source: str
    id: str


_LINE = msgspec.json.Decoder(SampleLine)
_MEDIA_LINE = msgspec.json.Decoder(MediaRow)
_ENCODER = msgspec.json.Encoder()


class TarFile:
    """Writes one tar with the files beside it. Nothing is visible before close().

    Args:
        create: function that opens a file, by its name.
        name: name of the tar.
        media: whether the metadata of its media are listed.
    """

    def __init__(self, create: Callable[[str], Sink], name: str, *, media: bool = False) -> None:
        self.name = name
        endings = ("", INDEX, SAMPLES, IDS, *([MEDIA] if media else []))
        self._sinks = {ending: create(name + ending) for ending in endings}
        self._list = GzipLines(self._sinks[SAMPLES])
        self._media = GzipLines(self._sinks[MEDIA]) if media else None
        self._content = xxhash.xxh3_128()
        self._pending: list[bytes] = []
        self._waiting = 0
        self._starts = array("Q")
        self._pairs: list[Pair] = []
        self._hashes: list[bytes] = []
        self._tar = TarWriter(self._add_data)

    @property
    def samples(self) -> int:
        """The number of samples so far."""
        return self._tar.samples

    @property
    def size(self) -> int:
        """The number of bytes so far, without the end of the archive."""
        return self._tar.size

    def _add_data(self, data: bytes) -> None:
        self._pending.append(data)
        self._waiting += len(data)
        if self._waiting >= _BUFFER:
            self._write_held_bytes()

    def _write_held_bytes(self) -> None:
        data = b"".join(self._pending)
        self._pending.clear()
        self._waiting = 0
        self._content.update(data)
        self._sinks[""].write(data)

    def add(self, key: str, parts: Iterable[tuple[str, bytes]], pair: Pair, media: Iterable[MediaRow] = ()) -> None:
        """Writes a sample.

        Args:
            key: key of the sample, unique in the dataset.
            parts: name and content of each part.
            pair: source and id of the document.
            media: the metadata of its parts that are media, if they are listed.

        Raises:
            DataError: the names of key and parts make no sample.
        """
        self._tar.add(key, parts)
        if self._media:
            for row in media:
                self._media.write(_ENCODER.encode(row))
        self._pairs.append(pair)
        if len(self._pairs) >= _BATCH:
            self._list_samples()

    def _list_samples(self) -> None:
        """Lists the samples that are not listed yet."""
        taken = self._tar.take_index()
        self._starts.frombytes(taken.starts[:-1].astype(np.uint64).tobytes())
        parts = taken.part_rows()
        part = next(parts, None)
        for (key, number, start, size), pair in zip(taken.sample_rows(), self._pairs, strict=True):
            places: list[tuple[str, int, int]] = []
            while part is not None and part[0] == number:
                places.append(part[1:])
                part = next(parts, None)
            self._list.write(_ENCODER.encode((key, start, size, places, *pair)))
        self._hashes.append(dump_hashes(sorted_pair_hashes(self._pairs)))
        self._pairs.clear()

    def close(self) -> dict[str, FileFacts]:
        """Publishes the files. Returns what is known of each, by its name."""
        self._list_samples()
        self._starts.append(self._tar.size)
        self._tar.close()
        self._write_held_bytes()
        index = index_bytes(np.frombuffer(self._starts, np.uint64))
        self._sinks[INDEX].write(index)
        self._sinks[""].close()
        self._sinks[INDEX].close()
        listed = self._list.close()
        media = {MEDIA: self._media.close()} if self._media else {}
        ids = b"".join(self._hashes)
        self._sinks[IDS].write(ids)
        self._sinks[IDS].close()
        return {
            self.name: FileFacts(self.samples, self.size + _END, self._content.hexdigest()),
            self.name + INDEX: FileFacts(0, len(index), xxhash.xxh3_128_hexdigest(index)),
            self.name + SAMPLES: FileFacts(0, listed.length, listed.content),
            self.name + IDS: FileFacts(0, len(ids), xxhash.xxh3_128_hexdigest(ids)),
            **{self.name + ending: FileFacts(0, each.length, each.content) for ending, each in media.items()},
        }


def read_samples(pieces: Iterable[bytes], path: str) -> Iterator[list[SampleLine]]:
    """The samples of a list, in batches.

    Args:
        pieces: bytes of the file, in pieces.
        path: path of the file, for messages.

    Raises:
        DataError: it is not such a list.
    """
    return _read_lines(_LINE, pieces, path)


def read_media_list(pieces: Iterable[bytes], path: str) -> Iterator[MediaRow]:
    """The metadata of the media of a tar.

    Args and Raises: as in read_samples().
    """
    for rows in _read_lines(_MEDIA_LINE, pieces, path):
        yield from rows


def _read_lines(decoder: msgspec.json.Decoder[_T], pieces: Iterable[bytes], path: str) -> Iterator[list[_T]]:
    rest, pieces = b"", iter(pieces)
    if not (begin := next(filter(None, pieces), b"")):  # older versions wrote no lines so
        return
    for data in unpack_pieces(chain([begin], pieces), path):
        lines = (rest + data).split(b"\n")
        rest = lines.pop()
        for first in range(0, len(lines), _BATCH):
            try:
                yield [decoder.decode(line) for line in lines[first : first + _BATCH]]
            except NOT_DECODED as error:
                raise DataError(
                    f"{path}: not a list of a tar's samples or media ({error}); make this slice of the export again"
                ) from error
    if rest:
        raise DataError(f"{path}: its last line is cut; make this slice of the export again")


def samples_as_columns(lines: Sequence[SampleLine], first: int) -> Samples:
    """The consecutive samples of a tar as columns.

    Args:
        lines: samples, at least one.
        first: number of the first of them in the tar.
    """
    parts = [(number, *part) for number, line in enumerate(lines, first) for part in line.parts]
    numbers, names, offsets, sizes = zip(*parts, strict=True)
    return Samples(
        first=first,
        keys=[line.key for line in lines],
        starts=np.array([*(line.start for line in lines), lines[-1].start + lines[-1].size], np.int64),
        part_samples=np.array(numbers, np.int64),
        part_names=list(names),
        part_offsets=np.array(offsets, np.int64),
        part_sizes=np.array(sizes, np.int64),
    )


def kept_runs(lines: Sequence[SampleLine], left_out: Collection[str], first: int) -> Iterator[Samples]:
    """The samples between those that are left out, as columns.

    Args:
        lines: consecutive samples of a tar.
        left_out: their keys.
        first: number of the first of the lines in the tar.

    >>> lines = [SampleLine(key, 0, 1024, [("txt", 512, 3)], "pages", key) for key in "abcd"]
    >>> [(run.first, run.keys) for run in kept_runs(lines, {"b"}, 7)]
    [(7, ['a']), (9, ['c', 'd'])]
    """
    if not left_out:
        yield samples_as_columns(lines, first)
        return
    for kept, group in groupby(enumerate(lines, first), key=lambda each: each[1].key not in left_out):
        if kept:
            numbers, run = zip(*group, strict=True)
            yield samples_as_columns(run, numbers[0])
