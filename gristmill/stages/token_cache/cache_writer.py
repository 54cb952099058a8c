"""Direct caches: a token cache written row by row, by logic of one's own, that a trainer reads as it is.

with DirectCache("s3://bucket/caches/mine/train", {"input_ids": "int32", "loss_weights": "float32"}) as cache:
    cache.append({"input_ids": [1, 2, 3], "loss_weights": [1, 1, 0.5]})

It is consolidated and of the level that every Levanter reads. `sums.json` beside it has the sha256 of each object,
which `verify` proves; Levanter itself reads a lost object as zeros.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from gristmill.errors import DataError, RecipeError
from gristmill.formats.levanter.array_writer import ITEM_BYTES
from gristmill.formats.levanter.cache import CacheWriter
from gristmill.formats.levanter.cache_ledger import Ledger
from gristmill.formats.levanter.checksums import SUMS, prove, put_sums, summed
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.store.hashing import HashedUpload
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Store
from gristmill.stages.token_cache.consolidate import CLEVEL

BATCH = 1 << 20
"""Elements that are held before they are written."""

Row = Mapping[str, Sequence[float] | npt.NDArray[Any]]


class DirectCache:
    """Writes one split of a cache. What is not closed well leaves no ledger: it is no cache.

    Args:
        url: the folder, or `s3://bucket/prefix`, that becomes the cache: by Levanter's rule its name is the split's.
        fields: the type of each field, ids first. They are declared, never guessed from rows.
        vocab_size: ids must be below it; None: not checked.
        metadata: Levanter's `preprocessor_metadata`.
        options: of the bucket: endpoint, region.

    Raises:
        RecipeError: a field has no type that Levanter reads, or there is a finished cache already.
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
        self._store: Store = _made(url, options)
        if self._store.head(SUMS) is not None:
            raise RecipeError(f"{url}: there is a finished cache; a cache never changes: write to another folder")
        self._fields, self._vocab_size, self._metadata = dict(fields), vocab_size, metadata
        self._sums: dict[str, str] = {}
        self._writer = CacheWriter(self._open, self._fields, clevel=CLEVEL)
        self._rows: list[dict[str, npt.NDArray[Any]]] = []
        self._held = 0
        self._number = 0

    def _open(self, name: str) -> HashedUpload:
        return summed(self._store, name, name, self._sums)

    def append(self, row: Row) -> None:
        """Adds a row.

        Raises:
            DataError: it has other fields, fields of different lengths, values that its type cannot hold, or ids
                outside the vocabulary; names the row.
        """
        if set(row) != set(self._fields):
            raise self._error(f"it has the fields {sorted(row)}, the cache {sorted(self._fields)}")
        found = {name: self._values(name, row[name], dtype) for name, dtype in self._fields.items()}
        lengths = {name: len(values) for name, values in found.items()}
        if len(set(lengths.values())) > 1:
            raise self._error(f"its fields have different lengths: {lengths}")
        ids = next(iter(found.values()))
        if self._vocab_size is not None and len(ids) and not 0 <= ids.min() <= ids.max() < self._vocab_size:
            raise self._error(f"ids from {ids.min()} to {ids.max()}, the vocabulary has 0 to {self._vocab_size - 1}")
        self._rows.append(found)
        self._held += len(ids)
        self._number += 1
        if self._held >= BATCH:
            self._flush()

    def _values(self, name: str, values: object, dtype: DType) -> npt.NDArray[Any]:
        try:
            given = np.asarray(values)
        except ValueError as error:
            raise self._error(f"{name} is no row of numbers ({error})") from error
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iuf"):
            raise self._error(f"{name} is no row of numbers")
        if dtype != "float32" and given.size and given.dtype.kind == "f":
            raise self._error(f"{name} holds fractions, but is declared {dtype}")
        if dtype == "float32":
            if not np.isfinite(given).all() or np.abs(given).max(initial=0) > np.finfo(np.float32).max:
                raise self._error(f"{name} holds what float32 cannot")
        elif given.size and (given.min() < np.iinfo(dtype).min or given.max() > np.iinfo(dtype).max):
            raise self._error(f"{name} holds what {dtype} cannot")
        return given.astype(dtype)

    def _error(self, what: str) -> DataError:
        return DataError(f"row {self._number}: {what}; mend the row")

    def _flush(self) -> None:
        if self._rows:
            lengths = np.array([len(next(iter(row.values()))) for row in self._rows], np.int64)
            batch = {name: (np.concatenate([row[name] for row in self._rows]), lengths) for name in self._fields}
            self._writer.append_batch(batch)
        self._rows, self._held = [], 0

    def close(self) -> Ledger:
        """Finishes the cache; its Levanter ledger."""
        self._flush()
        ledger = self._writer.close(preprocessor=self._metadata)
        put_sums(self._store, "", self._sums)
        return ledger

    def __enter__(self) -> Self:
        """The cache itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it, or drops what was written if the block failed."""
        if kind is None:
            self.close()
        else:
            self._writer.abort()


def verify(url: str, options: Mapping[str, str] | None = None) -> Ledger:
    """Proves a cache from its bytes; see summed_objects.prove()."""
    return prove(open_store(url, options), "")


def _made(url: str, options: Mapping[str, str] | None) -> Store:
    if "://" not in url:
        Path(url).mkdir(parents=True, exist_ok=True)
    return open_store(url, options)
