"""ShardProof: reads a shard of rows once, and compares its bytes with the ledger's row; and what that leaves."""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.execution.finding import Finding, difference_in_words
from gristmill.lake.ledger.model import Quarantine, Shard
from gristmill.lake.rows.row_blocks import ROW_LIMIT
from gristmill.lake.rows.shard_file import unpack_pieces
from gristmill.lake.rows.unpacking import RAW_MEND, unpack_gzip
from gristmill.lake.store.protocol import Entry, Store

Members = Sequence[tuple[int, int]]

_MOST = 1 << 22
"""Rows whose lengths are kept: 16 MiB. Sets of further shards are compared with the documents themselves."""


class ShardProof:
    """Reads one shard. `findings` is complete when `blocks()` has ended.

    The object is read as a plain stream. So its rows can be named even if it is not the object that the ledger
    describes. The offsets of the gzip members in the ledger are compared with those of the stream.

    Args:
        store: the lake.
        path: path of the object.
        recorded: the ledger's record of the object.

    Attributes:
        path: path of the object.
        findings: differences between the object's bytes and the ledger; one that names a row comes first.
        whole: whether all rows could be read.
    """

    def __init__(self, store: Store, path: str, recorded: Shard | Quarantine) -> None:
        self._store, self._recorded, self.path = store, recorded, path
        self._adopted = isinstance(recorded, Shard) and bool(recorded.at)
        self._begins: list[int] = []
        self._members: list[tuple[int, int]] = []
        self._sha256 = hashlib.sha256()
        self._content = xxhash.xxh3_128()
        self._rows = self._length = self._size = 0
        self._ended = False
        self._trouble: list[Finding] = []
        self.findings: list[Finding] = []
        self.whole = False

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """The blocks of whole lines, each with the number of its first row, up to the end or to the first damage.

        Raises:
            StoreError: the lake does not answer.
        """
        if self._store.head(self.path) is None:
            self.findings = [Finding(self.path, None, "there is no such object, but the ledger names it")]
            return
        pieces = self._hash_pieces()
        try:
            gzip = self.path.lower().endswith(".gz")
            plain = unpack_gzip(pieces, self.path, self._begins) if gzip else unpack_pieces(pieces, self.path)
            yield from self._whole_lines(plain)
            self.whole = True
        except DataError as error:
            what = str(error).removeprefix(f"{self.path}: ").removesuffix(f"; {RAW_MEND}")
            self._trouble.append(Finding(self.path, self._first_unproven_row(), what))
        for _ in pieces:  # hash the rest too, so that the object's sha256 can be compared
            pass
        self.findings = [*self._trouble, *(self._object_findings() if self._ended else ()), *self._content_findings()]

    def _hash_pieces(self) -> Iterator[bytes]:
        for piece in self._store.stream(self.path):
            self._sha256.update(piece)
            self._size += len(piece)
            yield piece
        self._ended = True

    def _whole_lines(self, pieces: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
        """Whole lines with the number of the first; notes the first row of each gzip member.

        Raises:
            DataError: the object is damaged, its last row does not end, or a row is too long.
        """
        rest: list[bytes] = []  # of a row that has not ended
        length = 0
        for plain in pieces:
            if rest and len(self._begins) > len(self._members) and not self._trouble and not self._adopted:
                what = f"the gzip member at byte {self._begins[-1]} begins inside this row"
                self._trouble.append(Finding(self.path, self._rows, what))
            self._members += [(begin, self._rows) for begin in self._begins[len(self._members) :]]
            self._length += len(plain)
            self._content.update(plain)
            end = plain.rfind(b"\n") + 1
            length = length + len(plain) if not end else len(plain) - end
            if length > ROW_LIMIT:
                raise DataError(f"row {self._rows} has more than {ROW_LIMIT} bytes, and a row has at most as many")
            if not end:
                rest.append(plain)
                continue
            block = b"".join([*rest, plain[:end]])
            rest = [plain[end:]] if end < len(plain) else []
            first = self._rows
            self._rows += block.count(b"\n")
            yield first, block
        self._members += [(begin, self._rows) for begin in self._begins[len(self._members) :]]
        if rest and not self._adopted:
            raise DataError("the last row does not end with a line feed")
        if rest:
            self._rows += 1
            yield self._rows - 1, b"".join([*rest, b"\n"])

    def _first_unproven_row(self) -> int:
        """The first row that may be damaged: gzip proves the bytes of a member at its end only."""
        return self._members[-1][1] if len(self._members) == len(self._begins) and self._members else self._rows

    def _object_findings(self) -> Iterator[Finding]:
        recorded = self._recorded
        if self._size != recorded.bytes:
            yield Finding(self.path, None, difference_in_words("the object's bytes are", self._size, recorded.bytes))
        if self._sha256.hexdigest() != recorded.sha256:
            yield Finding(
                self.path, None, difference_in_words("its sha256 is", self._sha256.hexdigest(), recorded.sha256)
            )
        elif (
            isinstance(recorded, Shard) and self.whole and not recorded.at and recorded.members != tuple(self._members)
        ):
            yield Finding(self.path, None, _gzip_member_difference(self._members, recorded.members))

    def _content_findings(self) -> Iterator[Finding]:
        if not self.whole:
            return
        recorded = self._recorded
        if self._rows != recorded.rows:
            yield Finding(self.path, None, difference_in_words("its rows are", self._rows, recorded.rows))
        if isinstance(recorded, Shard) and self._length != recorded.length:
            yield Finding(self.path, None, difference_in_words("its rows' bytes are", self._length, recorded.length))
        if isinstance(recorded, Shard) and self._content.hexdigest() != recorded.content:
            yield Finding(
                self.path,
                None,
                difference_in_words("its content digest is", self._content.hexdigest(), recorded.content),
            )


def _gzip_member_difference(found: Members, recorded: Members) -> str:
    """The first difference between the gzip members of an object and those in its ledger, which differ."""
    pairs = zip_longest(found, recorded)
    number, (here, there) = next((number, pair) for number, pair in enumerate(pairs) if pair[0] != pair[1])
    return difference_in_words(f"its gzip member {number}", _member_start(here), _member_start(there))


def _member_start(member: tuple[int, int] | None) -> str:
    return f"begins at byte {member[0]} with row {member[1]}" if member else "does not exist"


class KnownShard(NamedTuple):
    """What is kept of a shard of documents.

    Attributes:
        ids: the digest of its pairs, in their order.
        lengths: lengths of the texts, in code points.
    """

    ids: str
    lengths: NDArray[np.uint32]


class ReadDocuments:
    """The ids of the shards of one dataset version, as a digest, and the lengths of their texts.

    They belong to one state of an object, as the store shows it: an object that was replaced since is not known.
    """

    def __init__(self) -> None:
        self._asset, self._rows = "", 0
        self._shards: dict[tuple[str, Entry], KnownShard] = {}

    def keep_shard_reading(
        self, store: Store, asset: str, entry: Entry | None, ids: str, lengths: Sequence[int]
    ) -> None:
        """Keeps what was read of a shard, and forgets those of other assets.

        Args:
            store: the store that has the shard.
            asset: address of the documents.
            entry: entry of the shard, from before it was read; None if there was none.
            ids: the digest of its pairs.
            lengths: lengths of its texts, in code points.
        """
        if asset != self._asset:
            self._asset, self._rows, self._shards = asset, 0, {}
        if entry is not None and self._rows + len(lengths) <= _MOST:
            self._rows += len(lengths)
            self._shards[store.url, entry] = KnownShard(ids, np.array(lengths, np.uint32))

    def known_shard(self, store: Store, path: str) -> KnownShard | None:
        """The lengths and digests that were kept of a shard; None if that is nothing, or if the shard has been replaced
        since.
        """
        entry = store.head(path) if self._shards else None
        return self._shards.get((store.url, entry)) if entry else None
