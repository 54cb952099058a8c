"""What a lake has: one line for each finished partition, as text and as HTML."""

import html
from collections.abc import Iterator, Sequence

import msgspec

from gristmill.lake.address import Place, place
from gristmill.lake.asset_kinds import PARTITIONED, report_rank
from gristmill.lake.ledger.files import read_head
from gristmill.lake.ledger.walk import list_assets
from gristmill.lake.store.protocol import Store
from gristmill.reading.partitions import snapshots_of_asset
from gristmill.reports.sizes import size_in_words
from gristmill.threads import thread_pool

AT_ONCE = 16
"""Ledgers that are read at the same time: a bucket answers a request in about 20 ms."""

_HEADINGS = ("asset", "snapshot", "shards", "rows", "size", "tokens")


class ListedPartition(msgspec.Struct, frozen=True):
    """A partition of a lake.

    Attributes:
        asset: its address.
        snapshot: the partition key.
        finished: whether it has a ledger. If not, the numbers are 0.
        shards: number of shards; of a token cache: of parts.
        rows: number of rows.
        bytes: size of its objects.
        tokens: number of tokens; 0 if it is no token cache.
    """

    asset: str
    snapshot: str
    finished: bool
    shards: int
    rows: int
    bytes: int
    tokens: int

    @property
    def cells(self) -> tuple[str, ...]:
        """The line of a table."""
        if not self.finished:
            return self.asset, self.snapshot, "", "not finished", "", ""
        tokens = f"{self.tokens:,}" if self.tokens else ""
        return self.asset, self.snapshot, f"{self.shards:,}", f"{self.rows:,}", size_in_words(self.bytes), tokens


class LakeContents(tuple[ListedPartition, ...]):
    """The partitions of a lake, in the order in which they are made. Prints as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        lines = [_HEADINGS, *(each.cells for each in self)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if column < 2 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )

    def _repr_html_(self) -> str:
        """The table in a notebook."""
        head = "".join(f"<th>{heading}</th>" for heading in _HEADINGS)
        rows = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in each.cells)}</tr>" for each in self)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def lake_contents(store: Store, prefix: str = "") -> LakeContents:
    """The partitions of a lake. Reads the heads of their ledgers only.

    Args:
        store: the lake.
        prefix: only assets below it, such as `sources/wiki`.

    Raises:
        DataError: a ledger is wrong.
        StoreError: the lake does not answer.
    """
    below = prefix.strip("/")
    places = [each for each in _readable_places(store) if not below or f"{each.asset}/".startswith(f"{below}/")]
    places.sort(key=lambda each: (report_rank(each.asset), each.asset, each.snapshot))
    with thread_pool(AT_ONCE) as pool:
        return LakeContents(pool.map(lambda each: _list_partition(store, each), places))


def _readable_places(store: Store) -> Iterator[Place]:
    for kind in PARTITIONED:
        for asset in list_assets(store, kind):
            folders: Sequence[str] = [f"{asset}/{split}" for split in kind.splits] or [asset]
            keys = {key for folder in folders for key in snapshots_of_asset(store, folder)}
            yield from (place(asset, key) for key in sorted(keys))


def _list_partition(store: Store, where: Place) -> ListedPartition:
    head = read_head(store, where)
    totals = head.totals if head else {}
    return ListedPartition(
        where.asset,
        where.snapshot,
        head is not None,
        totals.get("shards", 0),
        totals.get("rows", 0),
        totals.get("bytes", 0),
        totals.get("tokens", 0),
    )
