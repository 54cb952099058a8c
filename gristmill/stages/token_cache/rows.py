"""What documents become in a token cache: rows of fields, and the trouble that some of them are in."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from gristmill.errors import DataError
from gristmill.recipes.row_format import OnTrouble
from gristmill.text.utf8 import ByteSizes

Values = npt.NDArray[Any]
RowLengths = npt.NDArray[np.int64]
"""Elements of each row."""

Fields = dict[str, tuple[Values, RowLengths]]
"""Of each field all rows' elements one after another, and each row's number of elements."""
MISSING = object()
SPECIAL = "special token in the text"


class Trouble(NamedTuple):
    """What is wrong with a row.

    Attributes:
        row: its number in the batch.
        reason: short and stable: it becomes a counter.
        detail: what was found, for the one who mends it.
        keepable: whether the row made of it may stay.
    """

    row: int
    reason: str
    detail: str
    keepable: bool = True


class CacheRows(NamedTuple):
    """The rows of a batch: one a document, also of those in trouble.

    Attributes:
        fields: the ids first.
        troubles: in any order.
        sizes: bytes of UTF-8 of each row's text.
    """

    fields: Fields
    troubles: Sequence[Trouble]
    sizes: ByteSizes


class RowEncoder(Protocol):
    """Encodes the rows of one format."""

    @property
    def row_type(self) -> Any:
        """The msgspec type of a document, as far as the format looks at it: with `id` and `source`."""

    @property
    def metadata(self) -> dict[str, Any]:
        """Levanter's `preprocessor_metadata`."""

    @property
    def engine(self) -> str:
        """Which engine encodes; "" if none does."""

    def __call__(self, documents: Sequence[Any]) -> CacheRows:
        """The rows of some documents."""


def field_of(document: Any, name: str) -> Any:
    """A field that a format names: `text`, or a key of `metadata`; MISSING if it is not there."""
    if name == "text":
        return document.text
    metadata = document.metadata
    return metadata.get(name, MISSING) if isinstance(metadata, dict) else MISSING


def words_of(value: Any) -> str:
    """What a value is, in words for a message."""
    return "missing" if value is MISSING else "null" if value is None else f"{type(value).__name__}"


class Settled(NamedTuple):
    """A batch after its troubles were dealt with.

    Attributes:
        fields: of the rows that stay.
        sizes: of the rows that stay.
        stays: a flag a document.
        dropped: rows by reason.
        kept: rows in trouble that stay, by reason.
    """

    fields: Fields
    sizes: ByteSizes
    stays: npt.NDArray[np.bool_]
    dropped: dict[str, int]
    kept: dict[str, int]


def settle(rows: CacheRows, count: int, policy: OnTrouble, path: str, first: int) -> Settled:
    """Deals with the troubles of a batch as the recipe says.

    Args:
        rows: as a RowEncoder gave them.
        count: documents in the batch.
        policy: `keep` keeps what can be kept and drops the rest.
        path: of the shard, for messages.
        first: number of the batch's first row in the shard.

    Raises:
        DataError: a row is in trouble and the policy is `raise`; names shard, row and mend.
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
        return Settled(rows.fields, rows.sizes, stays, dropped, kept)
    return Settled(chosen(rows.fields, stays), rows.sizes[stays], stays, dropped, kept)


def chosen(fields: Fields, flags: npt.NDArray[np.bool_]) -> Fields:
    """The flagged rows alone."""
    flagged: Fields = {}
    for name, (flat, lengths) in fields.items():
        flagged[name] = (flat[np.repeat(flags, lengths)], lengths[flags])
    return flagged
