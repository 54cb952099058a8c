"""The rows of a token cache that documents become, and the errors of rows."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from gristmill.errors import DataError
from gristmill.recipes.row_format import OnTrouble
from gristmill.text.utf8 import ByteSizes

Values = npt.NDArray[Any]
RowLengths = npt.NDArray[np.int64]
"""(rows,) int64: the number of elements of each row."""

Fields = dict[str, tuple[Values, RowLengths]]
"""For each field: the elements of all rows, concatenated, and the number of elements of each row."""
MISSING = object()
"""Stands for a field that a document does not have; None stands for null."""
SPECIAL = "special token in the text"
"""The reason counted for texts that contain a special token which the recipe refuses."""

NORMALIZED = "the tokenizer's normalizer makes one of other characters"
"""What is wrong with a text that becomes a special token, although it has no such string."""


class RowError(NamedTuple):
    """An error of a row.

    Attributes:
        row: the row's number in the batch.
        reason: short and stable, because the ledger counts rows by it.
        detail: description of the fault, for the person who corrects it.
        keepable: whether the row is usable, so that the policy `keep` keeps it.
    """

    row: int
    reason: str
    detail: str
    keepable: bool = True


class CacheRows(NamedTuple):
    """The rows of a batch: one for each document, even if the document has an error.

    Attributes:
        fields: the fields of all rows, the token ids first.
        troubles: the errors, in any order.
        sizes: (rows,): size of each row's text in bytes of UTF-8.
    """

    fields: Fields
    troubles: Sequence[RowError]
    sizes: ByteSizes


class RowEncoder(Protocol):
    """Encodes the rows of one format."""

    @property
    def row_type(self) -> Any:
        """The msgspec type of a document, with `id`, `source` and the fields that the format reads."""

    @property
    def metadata(self) -> dict[str, Any]:
        """The mapping `preprocessor_metadata` of Levanter's ledger."""

    @property
    def engine(self) -> str:
        """The name of the engine that encodes; "" if the format needs none."""

    def __call__(self, documents: Sequence[Any]) -> CacheRows:
        """Encodes a batch of documents."""


def document_field(document: Any, name: str) -> Any:
    """The value of a field that a format names: `text`, or a key of `metadata`. MISSING if there is no such field."""
    if name == "text":
        return document.text
    metadata = document.metadata
    return metadata.get(name, MISSING) if isinstance(metadata, dict) else MISSING


def type_in_words(value: Any) -> str:
    """The type of a value, in words for a message."""
    return "missing" if value is MISSING else "null" if value is None else f"{type(value).__name__}"


class KeptRows(NamedTuple):
    """A batch to which the policy was applied.

    Attributes:
        fields: fields of the kept rows.
        sizes: sizes of the kept rows, in bytes of UTF-8.
        stays: (documents,) bool: whether the document's row was kept.
        dropped: number of dropped rows, by reason.
        kept: number of rows that were kept although they have an error, by reason.
    """

    fields: Fields
    sizes: ByteSizes
    stays: npt.NDArray[np.bool_]
    dropped: dict[str, int]
    kept: dict[str, int]


def apply_error_policy(rows: CacheRows, count: int, policy: OnTrouble, path: str, first: int) -> KeptRows:
    """Applies the recipe's policy to the rows with errors.

    Args:
        rows: the rows from a RowEncoder.
        count: number of documents in the batch.
        policy: `raise`, `drop`, or `keep`, which keeps usable rows and drops the others.
        path: path of the shard, for messages.
        first: number of the batch's first row in the shard.

    Returns:
        The rows that stay, and the numbers of those that were dropped or kept with errors.

    Raises:
        DataError: a row has an error and the policy is `raise`; the message names shard, row and remedy.
    """
    stays = np.ones(count, np.bool_)
    dropped: dict[str, int] = {}
    kept: dict[str, int] = {}
    for trouble in sorted(rows.troubles):
        if policy == "raise":
            raise DataError(
                f"{path}: row {first + trouble.row}: {trouble.reason}: {trouble.detail}; mend the row, or give the"
                " stream's format on_trouble='drop' or 'keep'"
            )
        stay = policy == "keep" and trouble.keepable
        counter = kept if stay else dropped
        counter[trouble.reason] = counter.get(trouble.reason, 0) + 1
        stays[trouble.row] &= stay
    if stays.all():
        return KeptRows(rows.fields, rows.sizes, stays, dropped, kept)
    return KeptRows(choose_rows(rows.fields, stays), rows.sizes[stays], stays, dropped, kept)


def all_dropped_message(path: str, rows: int, dropped: Mapping[str, int]) -> str:
    """The words for a shard of which the policy leaves nothing: rather the format is wrong than every row.

    Args:
        path: path of the shard.
        rows: number of its rows.
        dropped: number of dropped rows, by reason.
    """
    reasons = ", ".join(f"{number:,} for {reason!r}" for reason, number in sorted(dropped.items()))
    return (
        f"{path}: all {rows:,} rows have an error and would be dropped ({reasons}); mend the stream's format, such as"
        " its chat template (on_trouble='raise' shows the first error), or drop such rows by a rule of the stream"
    )


def choose_rows(fields: Fields, flags: npt.NDArray[np.bool_]) -> Fields:
    """The fields of the rows whose flag is set, shape (n,) each."""
    flagged: Fields = {}
    for name, (flat, lengths) in fields.items():
        flagged[name] = (flat[np.repeat(flags, lengths)], lengths[flags])
    return flagged
