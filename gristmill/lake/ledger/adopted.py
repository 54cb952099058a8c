"""Finds the file of a shard, and reads its rows: in the lake, or, if it was adopted, where other people keep it.

All readers of a partition's rows go through `shard_file`. An adopted shard's row of the ledger's table names its file
below a root. An object in the partition's folder says where the root is; it is not part of a fingerprint. This is the
only place that joins the two.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from gristmill.errors import DataError
from gristmill.lake.address import Place
from gristmill.lake.identity import PairDigest
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.batches import RowFeed, read_rows
from gristmill.lake.rows.row_blocks import BLOCK
from gristmill.lake.rows.shard_file import WHOLE, find_gzip_member, member_rows, read_blocks, split_rows
from gristmill.lake.store.adopted import AdoptedFiles, Root
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.protocol import Store

T = TypeVar("T")


def root_path(place: Place) -> str:
    """The path of the object that says where the adopted files of a partition are. No shard has such a name."""
    return f"{place.folder}root.json"


def read_root(store: Store, place: Place) -> Root | None:
    """The address of the folder or bucket with the adopted files of a partition; None if it has none.

    Raises:
        DataError: the object that says so is wrong.
    """
    tagged = store.read_tagged(root_path(place))
    return (
        decode_object(tagged[0], Root, root_path(place), "the address of a root", "adopt it again") if tagged else None
    )


def write_root(store: Store, place: Place, root: Root | None) -> None:
    """Records where the adopted files of a partition are, if that is new. None: the partition has no such files."""
    if root is None:
        return
    data = msgspec.json.encode(root, order="sorted")
    tagged = store.read_tagged(root_path(place))
    if tagged is None or tagged[0] != data:
        store.put(root_path(place), data)


@dataclass(frozen=True)
class ShardFile:
    """The file of a shard. Its rows are compared with the sha256 of the ledger's table, unless a reader says otherwise.

    Attributes:
        store: store of the file.
        path: path of the file in the store.
        shard: the shard's row of the ledger's table.
    """

    store: Store
    path: str
    shard: Shard

    def blocks(self, size: int = BLOCK, *, verified: bool = True) -> Iterator[bytes]:
        """The rows as blocks of complete lines; see read_blocks().

        Args:
            size: least size of a block in bytes.
            verified: whether the sha256 is compared. An error about it comes after the last block.
        """
        return read_blocks(self.store, self.path, self.shard.sha256 if verified else None, size)

    def rows(self, row_type: type[T], *, verified: bool = True) -> Iterator[tuple[int, list[T]]]:
        """The decoded rows of each block, and the number of the first of them; see read_rows().

        Args:
            row_type: type of the decoded rows.
            verified: whether the sha256 is compared. An error about it comes after the last block.
        """
        return read_rows(self.store, self.path, self.shard.sha256 if verified else None, row_type)

    def open_row_feed(self, *, verified: bool = True) -> RowFeed:
        """The rows, to be taken in steps of any size.

        Args:
            verified: whether the sha256 is compared. An error about it comes after the last row.
        """
        return RowFeed(self.store, self.path, self.shard.sha256 if verified else None)

    def check_ids(self, found: PairDigest) -> None:
        """Checks that the rows that were read are those that the ledger names. A sha256 that fits does not prove it.

        Args:
            found: digest of the (source, id) of all rows, as they were read.

        Raises:
            DataError: the number of rows is another, or the ids or their order are.
        """
        path, rows = self.path, self.shard.rows
        if found.rows != rows:
            raise DataError(f"{path}: {rows} documents in its ledger, but {found.rows} were read; make them again")
        if found.hexdigest() != self.shard.ids:
            raise DataError(
                f"{path}: its {rows} documents have other ids, or another order, than its ledger says; make them again"
            )

    def has_small_members(self, row: int) -> bool:
        """Whether the rows around a row can be read alone.

        A file that somebody else wrote may be one large gzip member, or have another packing.

        Args:
            row: number of the row in the shard.
        """
        start, end, _ = find_gzip_member(self.shard.members, self.shard.bytes, row)
        return self.path.endswith(".gz") and (end - start <= WHOLE or len(self.shard.members) > 1)

    def rows_around(self, row: int) -> tuple[int, list[bytes]]:
        """The number of the first of some rows, and these rows without line feeds. One of them is `row`.

        They are the rows of one gzip member; of a file without small members, those of a block. No rows: the file ends
        before the row.

        Args:
            row: number of the row in the shard.

        Raises:
            StoreError: the file has no such member: it was replaced since its table was read.
        """
        if self.has_small_members(row):
            members, size = self.shard.members, self.shard.bytes
            return find_gzip_member(members, size, row)[2], member_rows(self.store, self.path, members, size, row)
        first = 0
        for block in self.blocks(verified=False):
            rows = split_rows(block)
            if row < first + len(rows):
                return first, rows
            first += len(rows)
        return first, []


def open_shard(store: Store, place: Place, shard: Shard, *, sized: bool = True) -> ShardFile:
    """The file of a shard.

    Args:
        store: the lake.
        place: the partition.
        shard: the shard's row of the ledger's table.
        sized: whether an adopted file of another size must not be read. An audit reads whatever is there.

    Raises:
        DataError: it is an adopted file, and the lake does not say where its root is.
    """
    if not shard.at:
        return ShardFile(store, place.shard(shard.name), shard)
    root = read_root(store, place)
    if root is None:
        raise DataError(
            f"{root_path(place)}: there is no such object, so the file {shard.at} is not found; adopt it again"
        )
    return ShardFile(AdoptedFiles(root, shard.bytes if sized else None), f"{root.url}/{shard.at}", shard)
