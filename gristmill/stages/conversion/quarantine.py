"""The quarantine of a shard: the rows that were refused, and the rule when they are too many."""

import orjson

from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import Place
from gristmill.lake.ledger.model import Quarantine
from gristmill.lake.rows.row_blocks import HEAD
from gristmill.lake.rows.shard_file import ShardWriter
from gristmill.lake.store.protocol import ObjectVersion, Store
from gristmill.recipes.raw_object import Refused

ALWAYS_ALLOWED = 10
"""Number of refused rows that never make a shard fail by their number, if it keeps any row."""
ALWAYS_ALLOWED_BYTES = 64 << 10
"""Size of all refused rows that never makes a shard fail by their bytes, if it keeps any row."""
_NAMED = 3


class QuarantineWriter:
    """Writes the refused rows of a shard, and counts them. Without refused rows, there is no quarantine file.

    Args:
        store: the lake.
        place: the partition.
        name: of the shard.

    Attributes:
        reasons: number of refused rows, by reason.
    """

    def __init__(self, store: Store, place: Place, name: str) -> None:
        self._store, self._place, self._name = store, place, name
        self._writer: ShardWriter | None = None
        self.reasons: dict[str, int] = {}
        self._bytes = 0
        self._first: list[str] = []
        self._old_mac = ""

    def add(self, row: Refused) -> None:
        """Writes a refused row: its reason, its place, and at most 1 MiB of its bytes.

        Raises:
            RecipeError: the converter gave the row fields of other types.
        """
        fields: tuple[object, ...] = row
        if not (isinstance(fields[0], str) and isinstance(fields[1], str) and isinstance(fields[2], bytes)):
            raise RecipeError(
                f"shard {self._name}: a Refused row is (reason: str, where: str, raw: bytes), not {row!r:.200}"
            )
        if self._writer is None:
            self._writer = ShardWriter(self._store, self._place.quarantine(self._name))
        self.reasons[row.reason] = self.reasons.get(row.reason, 0) + 1
        self._bytes += row.size or len(row.raw)
        if len(self._first) < _NAMED:
            self._first.append(f"{row.where}: {row.reason}")
        head = row.raw[:HEAD]
        if not self._old_mac and b"\r" in head.strip() and b"\n" not in head:
            self._old_mac = row.where
        line = orjson.dumps({"reason": row.reason, "raw": head.decode("utf-8", "backslashreplace"), "where": row.where})
        self._writer.write(line + b"\n")

    def check(self, limit: float, kept: int, kept_bytes: int) -> None:
        """Checks that not too much was refused.

        Args:
            limit: the source's quarantine_limit, a share of rows and of bytes; from 1.0 on, everything passes.
            kept: number of rows that were not refused.
            kept_bytes: their size.

        Raises:
            DataError: no row was kept, or too many rows or too many of their bytes were refused.
        """
        refused = sum(self.reasons.values())
        rows, size = refused + kept, self._bytes + kept_bytes
        if not refused or limit >= 1:
            return
        if not kept:
            what = f"all of its {refused} rows refused, so nothing would be left of it"
        elif refused > ALWAYS_ALLOWED and refused > limit * rows:
            what = f"{refused} of {rows} rows refused, more than the source's quarantine_limit of {limit:.2%}"
        elif self._bytes > ALWAYS_ALLOWED_BYTES and self._bytes > limit * size:
            what = f"{self._bytes} of {size} bytes refused, more than the source's quarantine_limit of {limit:.2%}"
        else:
            return
        counted = ", ".join(f"{reason}: {n}" for reason, n in sorted(self.reasons.items()))
        mend = "Mend the raw data or the converter, or raise the limit"
        if self._old_mac:
            mend = (
                f"{self._old_mac} holds carriage returns where line feeds are expected, as old Mac files do: rewrite"
                " the unpacked file with `tr '\\r' '\\n'`"
            )
        raise DataError(
            f"{self._place.asset} ({self._place.snapshot}): shard {self._name}: {what} ({counted}); the first:"
            f" {'; '.join(self._first)}. {mend}"
        )

    def close(self, stamps: dict[str, ObjectVersion]) -> Quarantine | None:
        """Publishes the file, and adds its stamp to `stamps`; None if no row was refused."""
        if self._writer is None:
            return None
        refused = self._writer.close()
        stamps[self._place.quarantine(self._name)] = refused.version
        return Quarantine(refused.rows, refused.bytes, refused.sha256)

    def abort(self) -> None:
        """Ends the upload without leaving an object."""
        if self._writer is not None:
            self._writer.abort()
