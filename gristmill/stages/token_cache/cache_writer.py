"""Writes a token cache row by row, from your own code. A trainer reads it directly.

with TokenCacheWriter("s3://bucket/caches/mine/train", {"input_ids": "int32", "loss_weights": "float32"}) as cache:
    cache.append({"input_ids": [1, 2, 3], "loss_weights": [1, 1, 0.5]})

The cache is consolidated, and has the zstd level that every version of Levanter reads. `sums.json` beside it has the
sha256 of each object, and `verify` checks them. Levanter itself reads a missing object as zeros.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from gristmill.errors import DataError, RecipeError
from gristmill.formats.levanter.array_writer import ITEM_BYTES
from gristmill.formats.levanter.cache import CacheWriter
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, CacheLedger
from gristmill.formats.levanter.checksums import CHECKSUMS, put_checksums, verify_checksums
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.store.hashing import Uploads
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Store
from gristmill.stages.token_cache.consolidate import CLEVEL

BATCH = 1 << 20
"""Number of token ids that are kept in memory before they are written."""

_NAMED = 3
"""Most objects that a message names."""

Row = Mapping[str, Sequence[float] | npt.NDArray[Any]]


class TokenCacheWriter:
    """Writes one split of a cache.

    If the writer is not closed without an error, no ledger is written, and readers do not accept the folder as a cache.

    Args:
        url: the folder, or `s3://bucket/prefix`, of the cache. Levanter expects the split's name as its last part.
        fields: the type of each field, the token ids first. Types are never guessed from rows.
        vocab_size: each id must be less than this; None: ids are not checked.
        metadata: Levanter's `preprocessor_metadata`.
        options: options of the bucket: endpoint, region.

    Raises:
        RecipeError: Levanter cannot read the type of a field, or the folder contains objects already.
    """

    def __init__(
        self,
        url: str,
        fields: Mapping[str, DType],
        *,
        vocab_size: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        wrong = [name for name, dtype in fields.items() if dtype not in ITEM_BYTES]
        if wrong or not fields:
            raise RecipeError(f"fields {dict(fields)}: give each one of the types {', '.join(ITEM_BYTES)}")
        self._store: Store = _open_zarr_store(url, options)
        _check_empty(self._store, url)
        self._fields, self._vocab_size, self._metadata = dict(fields), vocab_size, metadata
        self._uploads = Uploads(self._store)
        self._writer = CacheWriter(self._uploads.open, self._fields, clevel=CLEVEL)
        self._rows: list[dict[str, npt.NDArray[Any]]] = []
        self._held = 0
        self._number = 0

    def append(self, row: Row) -> None:
        """Adds a row.

        Args:
            row: values of the row by field; all fields have the same length.

        Raises:
            DataError: the row has other fields, fields of different lengths, values that the type cannot represent,
                or ids outside the vocabulary. The message names the row.
        """
        if set(row) != set(self._fields):
            raise self._row_error(f"it has the fields {sorted(row)}, the cache {sorted(self._fields)}")
        arrays = {name: self._checked_field_values(name, row[name], dtype) for name, dtype in self._fields.items()}
        lengths = {name: len(values) for name, values in arrays.items()}
        if len(set(lengths.values())) > 1:
            raise self._row_error(f"its fields have different lengths: {lengths}")
        ids = next(iter(arrays.values()))
        if self._vocab_size is not None and len(ids) and not 0 <= ids.min() <= ids.max() < self._vocab_size:
            raise self._row_error(
                f"ids from {ids.min()} to {ids.max()}, the vocabulary has 0 to {self._vocab_size - 1}"
            )
        self._rows.append(arrays)
        self._held += len(ids)
        self._number += 1
        if self._held >= BATCH:
            self._write_held_rows()

    def _checked_field_values(self, name: str, values: object, dtype: DType) -> npt.NDArray[Any]:
        try:
            array = np.asarray(values)
        except ValueError as error:
            raise self._row_error(f"{name} is not a list of numbers ({error})") from error
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iuf"):
            raise self._row_error(f"{name} is not a list of numbers")
        if dtype != "float32" and array.size and array.dtype.kind == "f":
            raise self._row_error(f"{name} has fractions, but is declared {dtype}")
        if dtype == "float32":
            if not np.isfinite(array).all() or np.abs(array).max(initial=0) > np.finfo(np.float32).max:
                raise self._row_error(f"{name} has values that float32 cannot represent")
        elif array.size and (array.min() < np.iinfo(dtype).min or array.max() > np.iinfo(dtype).max):
            raise self._row_error(f"{name} has values that {dtype} cannot represent")
        return array.astype(dtype)

    def _row_error(self, what: str) -> DataError:
        return DataError(f"row {self._number}: {what}; correct the row")

    def _write_held_rows(self) -> None:
        if self._rows:
            lengths = np.array([len(next(iter(row.values()))) for row in self._rows], np.int64)
            batch = {name: (np.concatenate([row[name] for row in self._rows]), lengths) for name in self._fields}
            self._writer.append_batch(batch)
        self._rows, self._held = [], 0

    def close(self) -> CacheLedger:
        """Finishes the cache. Returns its Levanter ledger."""
        self._write_held_rows()
        ledger = self._writer.close(preprocessor=self._metadata)
        put_checksums(self._store, "", self._uploads.sha256())
        return ledger

    def __enter__(self) -> Self:
        """The writer itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the cache; if the block ended with an error, removes everything that was written."""
        if kind is None:
            self.close()
        else:
            self._uploads.abort()
            self._store.delete(self._uploads.objects)  # the objects that were complete already


def verify_cache(url: str, options: Mapping[str, str] | None = None) -> CacheLedger:
    """Verifies a cache from its bytes; see `gristmill.formats.levanter.checksums`.

    Args:
        url: the folder, or `s3://bucket/prefix`, of the cache.
        options: options of the bucket: endpoint, region.

    Returns:
        The cache's Levanter ledger.

    Raises:
        DataError: an object is missing or damaged.
    """
    return verify_checksums(open_store(url, options, foreign=True), "")


def _check_empty(store: Store, url: str) -> None:
    """Checks that a folder has no objects: old arrays must not lie beside new ones, whoever wrote them.

    Raises:
        RecipeError: the folder contains a finished cache, or something else.
    """
    found = {entry.path for entry in islice(store.list(""), _NAMED)}
    if not found:
        return
    if store.head(CHECKSUMS) is not None or store.head(LEDGER_NAME) is not None:
        raise RecipeError(f"{url}: contains a finished cache; a cache never changes: write to another folder")
    raise RecipeError(
        f"{url}: contains {', '.join(sorted(found))} but no finished cache: perhaps a killed writer left it;"
        " remove the folder, or write to another one"
    )


def _open_zarr_store(url: str, options: Mapping[str, str] | None) -> Store:
    if "://" not in url:
        Path(url).mkdir(parents=True, exist_ok=True)
    return open_store(url, options)
