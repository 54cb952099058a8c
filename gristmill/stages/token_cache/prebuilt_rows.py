"""Prebuilt rows: token ids and loss weights are taken unchanged from a document's metadata."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from gristmill.recipes.row_format import Prebuilt
from gristmill.stages.token_cache.rows import CacheRows, Fields, RowError, Values, document_field, type_in_words
from gristmill.text.utf8 import utf8_sizes


class _Built(msgspec.Struct):
    id: str
    source: str
    text: str
    metadata: dict[str, Any] | None = None


class PrebuiltRows:
    """Copies ids and weights. Each id must be at least 0 and less than `vocab_size`."""

    row_type = _Built
    engine = ""

    def __init__(self, declared: Prebuilt, vocab_size: int) -> None:
        self._declared, self._vocab_size = declared, vocab_size
        self.metadata = {
            "input_ids_key": declared.input_ids_key,
            "loss_weights_key": declared.loss_weights_key,
        }

    def __call__(self, documents: Sequence[Any]) -> CacheRows:
        """See RowEncoder."""
        declared = self._declared
        rows: dict[str, list[Values]] = {name: [] for name in declared.dtypes}
        troubles: list[RowError] = []
        for number, document in enumerate(documents):
            ids, trouble = self._row_token_ids(document, number)
            rows[declared.input_ids_key].append(ids)
            if declared.loss_weights_key is not None:
                weights, other = self._row_loss_weights(document, number, declared.loss_weights_key, len(ids))
                rows[declared.loss_weights_key].append(weights)
                trouble = trouble if trouble and not trouble.keepable else other or trouble
            if trouble:
                troubles.append(trouble)
        fields: Fields = {}
        for name, parts in rows.items():
            flat = np.concatenate(parts) if parts else np.empty(0, declared.dtypes[name])
            fields[name] = (flat, np.fromiter(map(len, parts), np.int64, len(parts)))
        return CacheRows(fields, troubles, utf8_sizes([document.text for document in documents]))

    def _row_token_ids(self, document: Any, number: int) -> tuple[Values, RowError | None]:
        key, nothing = self._declared.input_ids_key, np.empty(0, np.int32)
        values = document_field(document, key)
        if not isinstance(values, list):
            return nothing, RowError(
                number, "no token ids", f"metadata.{key} is {type_in_words(values)}, not a list", keepable=False
            )
        if not values:
            return nothing, RowError(number, "no token ids", f"metadata.{key} is empty", keepable=False)
        if set(map(type, values)) != {int}:
            return nothing, RowError(
                number, "token ids are not integers", f"metadata.{key} holds more than integers", keepable=False
            )
        low, high = min(values), max(values)
        if low < 0 or high >= self._vocab_size:
            what = f"metadata.{key} has ids from {low} to {high}, but the vocabulary has 0 to {self._vocab_size - 1}"
            return nothing, RowError(number, "token ids outside the vocabulary", what, keepable=False)
        ids = np.array(values, np.int32)
        length = self._declared.length
        if length is not None and len(ids) != length:
            return ids, RowError(
                number,
                "wrong number of token ids",
                f"metadata.{key} has {len(ids)} ids, but the format requires {length}",
            )
        return ids, None

    def _row_loss_weights(self, document: Any, number: int, key: str, count: int) -> tuple[Values, RowError | None]:
        nothing = np.zeros(count, np.float32)
        values = document_field(document, key)
        if not isinstance(values, list) or not set(map(type, values)) <= {int, float}:
            what = f"metadata.{key} is {type_in_words(values)}, not a list of numbers"
            return nothing, RowError(number, "no loss weights", what, keepable=False)
        if len(values) != count:
            what = f"metadata.{key} has {len(values)} weights for {count} ids"
            return nothing, RowError(number, "wrong number of loss weights", what, keepable=False)
        largest = float(np.finfo(np.float32).max)
        if not all(-largest <= value <= largest for value in values):  # as Python's: an int may exceed every float
            return nothing, RowError(
                number, "loss weights out of range", f"metadata.{key} exceeds float32", keepable=False
            )
        return np.array(values, np.float32), None
