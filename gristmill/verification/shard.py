"""ShardProof: reads a shard of rows once, and compares its bytes with the ledger's row."""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import pairwise

import xxhash

from gristmill.errors import DataError
from gristmill.execution.finding import Finding, differs
from gristmill.lake.ledger.model import Quarantine, Shard
from gristmill.lake.rows.row_blocks import ROW_LIMIT, blocks
from gristmill.lake.rows.shard_file import MEMBER, unpacked, unpacked_whole
from gristmill.lake.store.hashing import sha256_of
from gristmill.lake.store.protocol import Store

MEND = "restore this object, or make its shard again"

Members = Sequence[tuple[int, int]]


def prove_object(store: Store, path: str, sha256: str, size: int | None = None) -> Iterator[Finding]:
    """Findings unless an object exists, and has the size and sha256 that its ledger names."""
    entry = store.head(path)
    if entry is None:
        yield Finding(path, None, "there is no such object, but the ledger names it", MEND)
        return
    if size is not None and entry.size != size:
        yield Finding(path, None, differs("the object's bytes are", entry.size, size), MEND)
        return
    computed = sha256_of(store, path)
    if computed != sha256:
        yield Finding(path, None, differs("its sha256 is", computed, sha256), MEND)


class ShardProof:
    """Reads one shard. `findings` is complete when `blocks()` has ended.

    Args:
        store: the lake.
        path: path of the object.
        recorded: the ledger's record of the object.

    Attributes:
        path: path of the object.
        findings: differences between the object's bytes and the ledger, the gravest first.
        whole: whether all rows could be read.
    """

    def __init__(self, store: Store, path: str, recorded: Shard | Quarantine) -> None:
        self._store, self._recorded, self.path = store, recorded, path
        self._members: Members = recorded.members if isinstance(recorded, Shard) else ()
        self._sha256 = hashlib.sha256()
        self._content = xxhash.xxh3_128()
        self._rows = self._length = self._size = 0
        self._trouble: list[Finding] = []
        self.findings: list[Finding] = []
        self.whole = False

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Blocks of whole lines, each with the number of its first row, up to the end or to the first damage.

        Raises:
            StoreError: the lake does not answer.
        """
        if self._store.head(self.path) is None:
            self.findings = [Finding(self.path, None, "there is no such object, but the ledger names it", MEND)]
            return
        pieces = self._hashed()
        try:
            for plain in self._plain(pieces):
                first = self._rows
                self._rows += plain.count(b"\n")
                self._length += len(plain)
                self._content.update(plain)
                yield first, plain
            self.whole = True
        except DataError as error:
            what = str(error).removeprefix(f"{self.path}: ")
            self._trouble.append(Finding(self.path, self._rows, what, MEND))
        for _ in pieces:  # hash the rest too, so that the object's sha256 can be compared
            pass
        self.findings = [*self._of_object(), *self._of_content()]

    def _hashed(self) -> Iterator[bytes]:
        for piece in self._store.stream(self.path):
            self._sha256.update(piece)
            self._size += len(piece)
            yield piece

    def _plain(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        offsets = [offset for offset, _ in self._members]
        if not offsets or offsets[0] != 0 or any(b <= a for a, b in pairwise(offsets)):
            if offsets:
                self._trouble.append(Finding(self.path, None, "the members' offsets in its ledger do not rise", MEND))
            yield from blocks(unpacked(pieces, self.path), self.path)
            return
        for number, packed in enumerate(_cut(pieces, offsets)):
            first = self._members[number][1]
            if first != self._rows:
                what = f"the gzip member at byte {offsets[number]} begins with row {self._rows}, not {first}"
                self._trouble.append(Finding(self.path, self._rows, what, MEND))
            plain = unpacked_whole(packed, self.path, MEMBER + ROW_LIMIT)
            if plain and not plain.endswith(b"\n"):
                raise DataError(f"the gzip member at byte {offsets[number]} does not end with a row")
            if plain:
                yield plain

    def _of_object(self) -> Iterator[Finding]:
        recorded = self._recorded
        row = self._trouble[0].row if self._trouble else None
        if self._size != recorded.bytes:
            yield Finding(self.path, row, differs("the object's bytes are", self._size, recorded.bytes), MEND)
        if self._sha256.hexdigest() != recorded.sha256:
            yield Finding(self.path, row, differs("its sha256 is", self._sha256.hexdigest(), recorded.sha256), MEND)

    def _of_content(self) -> Iterator[Finding]:
        yield from self._trouble
        if not self.whole:
            return
        recorded = self._recorded
        if self._rows != recorded.rows:
            yield Finding(self.path, None, differs("its rows are", self._rows, recorded.rows), MEND)
        if isinstance(recorded, Shard) and self._length != recorded.length:
            yield Finding(self.path, None, differs("its rows' bytes are", self._length, recorded.length), MEND)
        if isinstance(recorded, Shard) and self._content.hexdigest() != recorded.content:
            yield Finding(
                self.path, None, differs("its content digest is", self._content.hexdigest(), recorded.content), MEND
            )


def _cut(pieces: Iterator[bytes], offsets: Sequence[int]) -> Iterator[bytes]:
    """Cuts a stream at these offsets; the first offset is 0.

    Raises:
        DataError: the stream ends before the last offset.
    """
    pending: list[bytes] = []
    start = length = 0  # offset of the first pending byte, and number of pending bytes
    ends = iter([*offsets[1:], None])
    end = next(ends)
    for piece in pieces:
        pending.append(piece)
        length += len(piece)
        while end is not None and start + length >= end:
            data = b"".join(pending)
            yield data[: end - start]
            pending, length, start = [data[end - start :]], len(data) - (end - start), end
            end = next(ends)
    if end is not None:
        raise DataError(f"the object ends at byte {start + length}, but a gzip member should begin at byte {end}")
    yield b"".join(pending)
