"""What the extended headers of a tar say about the member behind them: PAX records, and GNU tar's long names."""

from collections.abc import Callable

from gristmill.errors import DataError


def damaged_header_error(tar: str, offset: int, reason: str) -> DataError:
    """The error of a header that is not valid.

    Args:
        tar: name of the tar.
        offset: offset of the header.
        reason: description of the fault.
    """
    return DataError(f"{tar}: damaged: the header at byte {offset}: {reason}; acquire it again")


class Extended:
    """What the extended headers before a member say about it.

    Attributes:
        start: place of the first of them; None without one.
        name: None if it is that of the member's own header.
        size: None if it is that of the member's own header.
        sparse: whether the member is a sparse file.
    """

    def __init__(self) -> None:
        self.start: int | None = None
        self.name: str | None = None
        self.size: int | None = None
        self.sparse = False

    def add(self, kind: bytes, content: bytes, tar: str, offset: int) -> None:
        """Takes in one extended header. What an earlier one says goes before what a later one says.

        Args:
            kind: type flag of the header, one byte.
            content: its content.
            tar: its name, for messages.
            offset: offset of the header in the tar.
        """
        if kind == b"L":
            name = decode_tar_name(content.partition(b"\0")[0], tar, offset)
            self.name = self.name if self.name is not None else name
        elif kind != b"K":
            self._add_records(_parse_pax_records(content, tar, offset), kind, tar, offset)

    def _add_records(self, records: dict[bytes, bytes], kind: bytes, tar: str, offset: int) -> None:
        known = [key for key in records if key in {b"path", b"size"} or key.startswith(b"GNU.sparse.")]
        if not known:
            return
        if kind == b"g":
            raise damaged_header_error(tar, offset, f"it gives all members the same {known[0].decode()}")
        self.sparse = self.sparse or any(key.startswith(b"GNU.sparse.") for key in known)
        if b"path" in records and self.name is None:
            self.name = decode_tar_name(records[b"path"], tar, offset).rstrip("/")
        if b"size" in records and self.size is None:
            if not records[b"size"].isdigit():
                raise damaged_header_error(tar, offset, f"its size is {records[b'size']!r:.40}")
            self.size = int(records[b"size"])


def pax_records(content: bytes, malformed: Callable[[int], DataError]) -> tuple[dict[bytes, bytes], int]:
    """The records of a PAX header: length in decimal digits, a space, key, =, value, line feed.

    Args:
        content: content of the header.
        malformed: function that gives the error of a record that is not valid, by its offset in the content.

    Returns:
        The value of each key, and the offset in bytes behind the last record: of the end, or of zeros.

    Raises:
        DataError: a record is not valid.
    """
    records: dict[bytes, bytes] = {}
    start = 0
    while start < len(content) and content[start]:
        digits = content[start : start + 20].partition(b" ")[0]
        length = int(digits) if digits.isdigit() else 0
        record = content[start : start + length]
        key, equals, value = record[len(digits) + 1 : -1].partition(b"=")
        if not (equals and key and len(record) == length and record.endswith(b"\n")):
            raise malformed(start)
        records[key] = value
        start += length
    return records, start


def _parse_pax_records(content: bytes, tar: str, offset: int) -> dict[bytes, bytes]:
    """The records of a PAX header. Only zeros that fill it up may follow them."""
    what = "a record of its extended header is malformed"
    records, start = pax_records(content, lambda at: damaged_header_error(tar, offset, f"{what}, at byte {at} of it"))
    if any(content[start:]) or (content and not start):
        raise damaged_header_error(
            tar, offset, f"its extended header has zeros in place of a record, at byte {start} of it"
        )
    return records


def decode_tar_name(raw: bytes, tar: str, offset: int) -> str:
    """A name as text.

    Args:
        raw: bytes of the name.
        tar: name of the tar, for messages.
        offset: offset of the header that has it, for messages.

    Raises:
        DataError: it is not UTF-8.
    """
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise DataError(
            f"{tar}: the member whose header is at byte {offset} has a name that is not UTF-8, {raw!r:.200}; rename it"
        ) from None
