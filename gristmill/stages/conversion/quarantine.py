"""The quarantine of a shard: the rows that were refused, and the rule when they are too many.

Rows that are left out by their kind are only counted: they are not kept, and the rule ignores them.
"""

import re

import msgspec

from gristmill.errors import RecipeError, RefusedReason, TooManyRefused, escape_controls, escape_surrogates
from gristmill.lake.address import Place
from gristmill.lake.ledger.model import Quarantine
from gristmill.lake.rows.quarantined import QuarantinedRow
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.lake.rows.row_blocks import HEAD
from gristmill.lake.rows.shard_file import ShardWriter
from gristmill.lake.store.protocol import ObjectVersion, Store
from gristmill.recipes.raw_object import LeftOut, Refused

ALWAYS_ALLOWED = 10
"""Number of refused rows that never make a shard fail by their number, if it keeps any row."""
ALWAYS_ALLOWED_BYTES = 64 << 10
"""Size of all refused rows that never makes a shard fail by their bytes, if it keeps any row."""
_NAMED = 3
LONGEST_ID = 1000
"""Characters that the quarantine keeps of an id."""
_ROW = re.compile(r"\s*row (\d{1,18})\b")


class QuarantineWriter:
    """Writes the refused rows of a shard, and counts them. Without refused rows, there is no quarantine file.

    Args:
        store: the lake.
        place: the partition.
        name: name of the shard.

    Attributes:
        reasons: number of refused rows, by reason.
        left_out: number of rows that are left out by their kind, by reason.
    """

    def __init__(self, store: Store, place: Place, name: str) -> None:
        self._store, self._place, self._name = store, place, name
        self._writer: ShardWriter | None = None
        self.reasons: dict[str, int] = {}
        self.left_out: dict[str, int] = {}
        self._bytes = 0
        self._first: list[str] = []
        self._places: dict[str, str] = {}
        self._old_mac = ""

    def add(self, row: Refused, file: str = "", raw_span: RawSpan | None = None) -> None:
        """Writes a refused row: its reason, its place, and at most 1 MiB of its bytes.

        Args:
            row: the row.
            file: name of its raw object below the snapshot.
            raw_span: place of the row, if the reader says it.

        Raises:
            RecipeError: the converter gave the row fields of other types.
        """
        fields: tuple[object, ...] = row
        if not (isinstance(fields[0], str) and isinstance(fields[1], str) and isinstance(fields[2], bytes)):
            raise RecipeError(
                f"shard {self._name}: a Refused row is (reason: str, where: str, raw: bytes), not {row!r:.200}"
            )
        if self._writer is None:
            self._writer = ShardWriter(self._store, self._place.quarantine_path(self._name))
        self.reasons[row.reason] = self.reasons.get(row.reason, 0) + 1
        self._bytes += row.size or len(row.raw)
        if len(self._first) < _NAMED:
            self._first.append(escape_controls(f"{row.where}: {row.reason}"))  # with names of the data
        head = row.raw[:HEAD]
        if not self._old_mac and b"\r" in head.strip() and b"\n" not in head:
            self._old_mac = escape_controls(row.where)
        written = quarantined_row(row, file, raw_span)
        self._places.setdefault(row.reason, written.place)
        self._writer.write(msgspec.json.encode(written) + b"\n")

    def leave_out(self, rows: LeftOut) -> None:
        """Counts rows that are left out.

        Raises:
            RecipeError: the converter gave fields of other types, or no record.
        """
        fields: tuple[object, ...] = rows
        if not (isinstance(fields[0], str) and isinstance(fields[1], int) and rows.reason and rows.records > 0):
            raise RecipeError(
                f"shard {self._name}: a LeftOut is (reason: str, records: int), with at least 1 record, not"
                f" {rows!r:.200}"
            )
        self.left_out[rows.reason] = self.left_out.get(rows.reason, 0) + rows.records

    def check(self, limit: float, kept: int, kept_bytes: int) -> None:
        """Checks that not too much was refused.

        Args:
            limit: the source's quarantine_limit, a share of rows and of bytes; from 1.0 on, everything passes.
            kept: number of rows that were not refused.
            kept_bytes: their size.

        Raises:
            TooManyRefused: no row was kept, or too many rows or too many of their bytes were refused.
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
        other = "" if kept else "; or leave the file out by `select` of the source, if it is no data"
        mend = f"Mend the raw data or the converter, or raise the limit{other}"
        if any(reason.startswith("no field ") for reason in self.reasons):
            mend = (
                "If other fields hold the id and the text, name them in the recipe: id_key='...',"
                " format=Text(text_key='...') (of EnergonLines text=('...',)); id_key=None makes ids of file and row"
                f" number. Else mend the raw data{other}"
            )
        if self._old_mac:
            mend = (
                f"{self._old_mac} holds carriage returns where line feeds are expected, as old Mac files do: rewrite"
                " the unpacked file with `tr '\\r' '\\n'`"
            )
        reasons = [RefusedReason(reason, n, self._places[reason]) for reason, n in sorted(self.reasons.items())]
        raise TooManyRefused(
            f"{self._place.asset} ({self._place.snapshot}): shard {self._name}: {what} ({counted}); the first:"
            f" {'; '.join(self._first)}. {mend}",
            reasons,
        )

    def close(self, stamps: dict[str, ObjectVersion]) -> Quarantine | None:
        """Publishes the file, and adds its stamp to `stamps`; None if no row was refused.

        Returns:
            The size and digest of the file; None if no row was refused.
        """
        if self._writer is None:
            return None
        refused = self._writer.close()
        stamps[self._place.quarantine_path(self._name)] = refused.version
        return Quarantine(refused.rows, refused.bytes, refused.sha256)

    def abort(self) -> None:
        """Ends the upload without leaving an object."""
        if self._writer is not None:
            self._writer.abort()


def quarantined_row(row: Refused, file: str, raw_span: RawSpan | None) -> QuarantinedRow:
    """A refused row as the quarantine keeps it. What it does not say about its place is taken from its reader's span.

    Args:
        row: the row.
        file: name of its raw object below the snapshot.
        raw_span: place of the row, as its reader says.
    """
    number, offset = row.row, row.offset
    if number is None and file and row.where.startswith(file):
        said = _ROW.match(row.where, len(file))
        number = int(said[1]) if said else None
    if raw_span is not None and file.endswith(".parquet"):  # its spans count rows
        number = raw_span.start if number is None else number
    elif raw_span is not None and offset is None:
        offset = raw_span.start
    member = row.member or (raw_span.member if raw_span else "")
    return QuarantinedRow(
        reason=escape_surrogates(row.reason),
        raw=row.raw[:HEAD].decode("utf-8", "backslashreplace"),
        where=escape_surrogates(row.where),
        file=file,
        row=number,
        id=escape_surrogates(row.id[:LONGEST_ID]),
        offset=offset,
        member=escape_surrogates(member),
    )
