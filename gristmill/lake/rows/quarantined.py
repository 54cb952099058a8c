"""A row of the quarantine: what was refused, why, and where it is in the raw data."""

from collections.abc import Iterable

import msgspec

from gristmill.errors import shorten

_SHOWN = 120


class QuarantinedRow(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A row that was refused. Older lakes have rows with the first three fields alone.

    Attributes:
        reason: short and stable.
        raw: the row's first bytes.
        where: the row's place in words.
        file: the raw object, below its snapshot.
        row: number of the row in the file, counted from 0.
        id: the record's id, if it has one.
        offset: the row's first byte in the file, unpacked; or in the member.
        member: the file inside an archive.
    """

    reason: str
    raw: str
    where: str
    file: str = ""
    row: int | None = None
    id: str = ""
    offset: int | None = None
    member: str = ""

    @property
    def place(self) -> str:
        """The row's place in words: file, member, row number, id and byte, as far as they are known.

        >>> QuarantinedRow("no id", "{}", "", file="a.tar", row=3, offset=120, member="b.jsonl").place
        'a.tar, member b.jsonl, row 3, byte 120'
        """
        words = [shorten(self.file, _SHOWN)] if self.file else []
        if self.member:
            words.append(f"member {shorten(self.member, _SHOWN)}")
        if self.row is not None:
            words.append(f"row {self.row}")
        if self.id:
            words.append(f"id {shorten(self.id, _SHOWN)}")
        if self.offset is not None:
            words.append(f"byte {self.offset}")
        return ", ".join(words)


def first_of_each_reason(rows: Iterable[QuarantinedRow], reasons: Iterable[str]) -> dict[str, QuarantinedRow]:
    """The first row of each of some reasons. It reads no row after the last of them.

    Args:
        rows: rows of a quarantine.
        reasons: the reasons.
    """
    missing = set(reasons)
    found: dict[str, QuarantinedRow] = {}
    for row in rows if missing else ():
        if row.reason in missing:
            missing.remove(row.reason)
            found[row.reason] = row
            if not missing:
                break
    return found
