"""Writes samples into a tar with fixed headers: the same samples give the same bytes, and the index comes with them.

Headers are those of ustar, with mode 0644, no owner and time 0. A name of more than 100 bytes or outside of ASCII, and
a size of 8 GiB or more, come in a PAX header.

Source: POSIX.1-2024, `pax`.
"""

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from gristmill.errors import DataError
from gristmill.formats.tar.keys import split_name
from gristmill.formats.tar.samples import Samples
from gristmill.formats.tar.tar_bytes import BLOCK

_LONGEST_NAME = 100
_LARGEST_SIZE = 8**11
_ENDS = bytes(2 * BLOCK)
_PADDING: Final = [bytes(-size % BLOCK) for size in range(BLOCK)]


def _header_template(kind: bytes) -> tuple[bytes, bytes, bytes, int]:
    """The parts of a header around name, size and sum, and the sum of their bytes with spaces for the sum."""
    before = b"0000644\0" + b"0000000\0" * 2
    between = b"\0" + b"00000000000\0"
    after = kind + bytes(100) + b"ustar\x0000" + bytes(64) + b"0000000\0" * 2 + bytes(155 + 12)
    return before, between, after, sum(before) + sum(between) + sum(after) + 8 * ord(" ")


_FILE, _EXTENDED = _header_template(b"0"), _header_template(b"x")


class TarWriter:
    """Writes samples into a tar, and collects their index.

    Args:
        write: function that takes the bytes of the tar, in order.

    Attributes:
        size: bytes that have been written so far.
        samples: samples that have been written so far.

    >>> pieces = []
    >>> writer = TarWriter(pieces.append)
    >>> writer.add("a", [("txt", b"one"), ("json", b"{}")])
    >>> writer.close()
    >>> writer.take_index().starts.tolist(), len(b"".join(pieces))
    ([0, 2048], 3072)
    """

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self.size = self.samples = 0
        self._keys: list[str] = []
        self._starts: list[int] = []
        self._parts: list[tuple[int, str, int, int]] = []
        self._first = 0
        self._last_key = ""

    def add(self, key: str, parts: Iterable[tuple[str, bytes]]) -> None:
        """Writes a sample.

        Args:
            key: key of the sample, such as `safe_key` gives it. It is to be unique in the dataset, which is not checked
                here; only the sample before must have another one.
            parts: the name and the content of each part, at least one.

        Raises:
            DataError: the sample has no part, or the same part twice; a name would give another key or part; or the key
                is that of the sample before. Nothing of the sample was written.
        """
        pieces: list[bytes] = []
        rows: list[tuple[int, str, int, int]] = []
        offset = self.size
        for part, content in parts:
            name = f"{key}.{part}"
            if split_name(name) != (key, part):
                raise DataError(f"{name!r:.200} does not give the sample key {key!r:.100} and the part {part!r:.100}")
            size = len(content)
            header = _headers_of_file(name, size)
            offset += len(header)
            rows.append((self.samples, part, offset, size))
            padding = _PADDING[size % BLOCK]
            offset += size + len(padding)
            pieces += (header, content, padding)
        if not rows or len({row[1] for row in rows}) < len(rows):
            raise DataError(f"sample {key!r:.100}: {'a part comes twice' if rows else 'it has no part'}")
        if self.samples and key == self._last_key:
            raise DataError(f"sample {key!r:.100} comes twice in a row; sample keys are unique in a dataset")
        self._write(b"".join(pieces))
        self._keys.append(key)
        self._starts.append(self.size)
        self._parts += rows
        self._last_key = key
        self.samples += 1
        self.size = offset

    def close(self) -> None:
        """Writes the end of the archive: two blocks of zeros. `size` stays where they begin."""
        self._write(_ENDS)

    def take_index(self) -> Samples:
        """The index of the samples since the last call; the writer forgets them."""
        numbers, names, offsets, sizes = zip(*self._parts, strict=True) if self._parts else ((), (), (), ())
        taken = Samples(
            first=self._first,
            keys=self._keys,
            starts=np.array([*self._starts, self.size], dtype=np.int64),
            part_samples=np.array(numbers, dtype=np.int64),
            part_names=list(names),
            part_offsets=np.array(offsets, dtype=np.int64),
            part_sizes=np.array(sizes, dtype=np.int64),
        )
        self._keys, self._starts, self._parts, self._first = [], [], [], self.samples
        return taken


def _headers_of_file(name: str, size: int) -> bytes:
    """The header of a file, with a PAX header before it if one is needed."""
    if len(name) <= _LONGEST_NAME and name.isascii() and size < _LARGEST_SIZE:
        return _fill_header(name.encode(), size, _FILE)
    raw = name.encode()
    records = b""
    if len(raw) > _LONGEST_NAME or not name.isascii():
        records += _pax_record(b"path", raw)
    if size >= _LARGEST_SIZE:
        records += _pax_record(b"size", str(size).encode())
    short = name.encode("ascii", "replace")[:_LONGEST_NAME]
    content = records + _PADDING[len(records) % BLOCK]
    return (
        _fill_header(b"PaxHeaders/extended", len(records), _EXTENDED)
        + content
        + _fill_header(short, size if size < _LARGEST_SIZE else 0, _FILE)
    )


def _fill_header(name: bytes, size: int, template: tuple[bytes, bytes, bytes, int]) -> bytes:
    before, between, after, total = template
    digits = b"%011o" % size
    total += sum(name) + sum(digits)
    return b"".join((name.ljust(_LONGEST_NAME, b"\0"), before, digits, between, b"%06o\0 " % total, after))


def _pax_record(key: bytes, value: bytes) -> bytes:
    """A PAX record; its length counts its own digits."""
    rest = len(key) + len(value) + 3
    length = rest + len(str(rest))
    length = rest + len(str(length))
    return b"%d %s=%s\n" % (length, key, value)
