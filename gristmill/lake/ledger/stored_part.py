"""The record of a part: the field `extra` of its row in a ledger's table. Each kind of part adds fields of its own.

A part is several objects in folders that are never changed once they are written.
"""

from typing import Any, ClassVar, Self

import msgspec

from gristmill.errors import DataError
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.json_object import Integer


class StoredPart(msgspec.Struct, frozen=True):
    """What all parts record.

    Attributes:
        objects: (sha256, size in bytes) of each object, by its path in the lake.
    """

    says: ClassVar[str] = "which files it has"
    """What the record says, for the error message."""
    mend: ClassVar[str] = "make this partition again"
    """What a person can do about a row without a record."""

    objects: dict[str, tuple[str, Integer]]

    @classmethod
    def decode_from_row(cls, row: Shard, table: str) -> Self:
        """The record of a part, decoded from its row.

        Args:
            row: row of the part.
            table: path of the table, for the error message.

        Raises:
            DataError: the row has no such record.
        """
        try:
            return msgspec.convert(row.extra, cls)
        except msgspec.ValidationError as error:
            raise DataError(
                f"{table}: part {row.name}: its row does not say {cls.says} ({error}); {cls.mend}"
            ) from error

    @property
    def bytes(self) -> int:
        """The total size of all objects, in bytes."""
        return sum(size for _, size in self.objects.values())

    @property
    def sha256(self) -> str:
        """One digest over the paths and digests of all objects."""
        return digest_of([[path, sha256] for path, (sha256, _) in sorted(self.objects.items())])

    def as_extra(self) -> dict[str, Any]:
        """The record as JSON values, for the field `extra` of the row."""
        extra: dict[str, Any] = msgspec.to_builtins(self)
        return extra
