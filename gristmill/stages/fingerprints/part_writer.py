"""The part of fingerprints: writes the files of one part, in memory that does not grow with the shard."""

import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import IO

import numpy as np
import orjson
import xxhash
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.model import Input
from gristmill.lake.ledger.receipts import Receipt
from gristmill.lake.rows.shard_file import gzip_bytes
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.units import MinHashUnits, NgramUnits, Unit
from gristmill.stages.fingerprints.binary_part import BinaryPart
from gristmill.stages.fingerprints.bucket_sort import BucketSort
from gristmill.stages.fingerprints.units_of_texts import Found

_IN_MEMORY = 8 << 20
_MEMBER = 1 << 20
_U32 = 2**32


class FingerprintWriter(BinaryPart):
    """A part of fingerprints. It takes the documents and units of a shard in their order.

    Args:
        store: the lake.
        spec: settings of the partition.
        name: name of the part.
        inputs: sources of the part's content.
        unit: unit whose hashes are written.
        buckets: number of ranges into which the hashes are divided.
    """

    counts: Counter[str]

    def __init__(
        self, store: Store, spec: OneAssetSpec, name: str, inputs: tuple[Input, ...], unit: Unit, buckets: int
    ) -> None:
        super().__init__(store, spec, name, inputs)
        self.counts, self._buckets = Counter(), buckets
        self._digest = xxhash.xxh3_128()
        self._ids = b""
        self._ids_file = self.file("ids.gz")
        self._signatures_file = self.file("signatures") if isinstance(unit, MinHashUnits) else None
        self._sort = BucketSort(buckets)
        several = isinstance(unit, NgramUnits | MinHashUnits)  # a span may have several hashes
        names = ("documents", "starts", "ends", *(("sizes",) if several else ()))
        self._columns: dict[str, IO[bytes]] = {
            name: tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed by abort()
            for name in names
        }
        self._spans = 0

    def documents(self, pairs: Sequence[Pair]) -> None:
        """Appends the (source, id) pairs of documents."""
        lines = b"\n".join([*map(orjson.dumps, pairs), b""])
        self._digest.update(lines)
        self.rows += len(pairs)
        self._ids += lines
        while len(self._ids) >= _MEMBER:  # members end at the same rows, however the rows come
            end = self._ids.index(b"\n", _MEMBER - 1) + 1
            self._ids_file.write(gzip_bytes(self._ids[:end]))
            self._ids = self._ids[end:]

    def units(self, found: Iterable[Found], documents: int) -> None:
        """Appends the units of documents.

        Args:
            found: the units, in the order of the documents.
            documents: number of these documents.
        """
        spans = np.zeros(documents, np.int64)
        for units, signatures in found:
            spans[units.first : units.first + len(units.spans)] += units.spans
            self._append_column_values("starts", units.starts)
            self._append_column_values("ends", units.ends)
            if "sizes" in self._columns:
                sizes = np.ones(len(units.starts), np.int64) if units.counts is None else units.counts
                self._append_column_values("sizes", sizes)
            self._sort.add(units.hashes)
            self._spans += len(units.starts)
            self.counts.update(units.skipped)
            if self._signatures_file is not None and signatures is not None:
                self._signatures_file.write(signatures.astype("<u4").tobytes())
        self._append_column_values("documents", spans)

    def _append_column_values(self, name: str, values: NDArray[np.int64]) -> None:
        if len(values) and int(values.max()) >= _U32:
            raise DataError(f"more than {_U32 - 1} code points or units in a document; divide it")
        self._columns[name].write(values.astype("<u4").tobytes())

    def close(self) -> Receipt:
        """Writes what is left, and publishes all files.

        Returns:
            The receipt of the part.
        """
        if self._ids or not self.rows:
            self._ids_file.write(gzip_bytes(self._ids))
        self._write_spans()
        self._write_hashes()
        self.ids = self._digest.hexdigest()
        self.facts = {"documents": self.rows, "spans": self._spans, "hashes": self._sort.hashes}
        self.counts["spans"], self.counts["hashes"] = self._spans, self._sort.hashes
        receipt = super().close()
        self.abort()  # of the files, only the temporary ones are left
        return receipt

    def _write_spans(self) -> None:
        file = self.file("spans")
        file.write(np.array([self.rows, self._spans, self._sort.hashes], "<u8").tobytes())
        for column in self._columns.values():
            column.seek(0)
            while piece := column.read(_IN_MEMORY):
                file.write(piece)

    def _write_hashes(self) -> None:
        """Writes the blocks, and the file `buckets`: where each begins, in hashes, and its XXH3-128."""
        file = self.file("hashes")
        offsets = np.zeros(self._buckets + 1, "<u8")
        digests: list[bytes] = []
        for bucket, count, parts in self._sort.blocks():
            digest = xxhash.xxh3_128()
            for part in parts:
                data = part.astype(part.dtype.newbyteorder("<"), copy=False).tobytes()
                digest.update(data)
                file.write(data)
            offsets[bucket + 1] = count
            digests.append(digest.digest())
        index = self.file("buckets")
        index.write(np.cumsum(offsets, dtype="<u8").tobytes() + b"".join(digests))

    def abort(self) -> None:
        super().abort()
        self._sort.close()
        for column in self._columns.values():
            column.close()
