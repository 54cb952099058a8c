"""Feeds: the rows of a shard in blocks, and the rows of attribute sets that belong to them, in the same order.

A set's shard has one row for each row of its documents' shard. A mix's shard has some of these rows. So the rows of a
set are found by going forward only; the ids of both rows are compared, and a row is never searched by its key.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from gristmill.errors import MalformedRow, Misaligned, StoreError
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.adopted import ShardFile
from gristmill.lake.rows.shard_file import split_rows
from gristmill.reading.document_arrays import Row, RowLines, decode_rows

MEND = "make this attribute set again"


def read_shard_lines(file: ShardFile, *, verified: bool) -> Iterator[RowLines]:
    """All rows of a shard, block by block.

    Args:
        file: the shard's file.
        verified: whether its sha256 is compared with the ledger; it can be raised after the last block only.

    Raises:
        DataError: the file is damaged.
        StoreError: it is not the shard that the ledger names.
    """
    first = 0
    for block in file.blocks(verified=verified):
        held = [split_rows(block)]
        del block
        count = len(held[0])
        yield RowLines(file.path, range(first, first + count), held.pop())
        first += count
    if first != file.shard.rows:
        raise StoreError(
            f"{file.path}: {first} rows, but its ledger has {file.shard.rows}: it is being rebuilt, or was changed by"
            " hand; try again, or make it again"
        )


def read_picked_lines(file: ShardFile, numbers: Sequence[int]) -> Iterator[RowLines]:
    """Some rows of a shard, one gzip member after another.

    Args:
        file: the shard's file.
        numbers: the numbers of the rows, ascending.

    Returns:
        Rows of one gzip member after another.

    Raises:
        StoreError: the shard has no such row: it was replaced.
    """
    waiting = list(numbers)
    while waiting:
        first, rows = file.rows_around(waiting[0])
        here = [number for number in waiting if number < first + len(rows)]
        if not here:
            raise StoreError(f"{file.path}: has no row {waiting[0]}: the shard is being rebuilt; try again")
        waiting = waiting[len(here) :]
        yield RowLines(file.path, here, [rows[number - first] for number in here])


class LabelFeed(Protocol):
    """The rows of an attribute set for documents, which are given in order."""

    def labels_of(self, pairs: Sequence[Pair], documents: RowLines) -> tuple[RowLines, list[Row]]:
        """The set's rows of documents.

        Args:
            pairs: (source, id) of each document.
            documents: their rows.

        Raises:
            Misaligned: the set has no such row where it should be.
        """

    def finish(self, beside: str) -> None:
        """Checks what can be checked when all documents were taken; `beside` is the path of their shard."""


class AlignedFeed:
    """A set beside its documents: row n of the set is of row n of the documents."""

    def __init__(self, file: ShardFile, *, verified: bool) -> None:
        self._feed = file.open_row_feed(verified=verified)

    def labels_of(self, pairs: Sequence[Pair], documents: RowLines) -> tuple[RowLines, list[Row]]:
        first = self._feed.row
        lines = self._feed.next_rows(len(pairs), documents.path)
        held = RowLines(self._feed.path, range(first, first + len(lines)), lines)
        return held, _check_same_ids(decode_rows(held), pairs, held, documents)

    def finish(self, beside: str) -> None:
        self._feed.finish(beside)


class PickedFeed:
    """A set beside its documents, of which only some rows are read."""

    def __init__(self, file: ShardFile) -> None:
        self._file = file

    def labels_of(self, pairs: Sequence[Pair], documents: RowLines) -> tuple[RowLines, list[Row]]:
        lines = [line for some in read_picked_lines(self._file, documents.numbers) for line in some.lines]
        held = RowLines(self._file.path, documents.numbers, lines)
        return held, _check_same_ids(decode_rows(held), pairs, held, documents)

    def finish(self, beside: str) -> None:
        """Nothing is left to check."""


class ForwardFeed:
    """A set of the documents that a mix was selected from. The mix's rows are some of them, in the same order."""

    def __init__(self, file: ShardFile, *, verified: bool) -> None:
        self._path = file.path
        self._rows = _one_by_one(read_shard_lines(file, verified=verified))

    def labels_of(self, pairs: Sequence[Pair], documents: RowLines) -> tuple[RowLines, list[Row]]:
        lines: list[bytes] = []
        rows: list[Row] = []
        numbers: list[int] = []
        for wanted, document in zip(pairs, documents.numbers, strict=True):
            for number, line, row in self._rows:
                if pair_of_row(row, self._path, number, wanted[0]) == wanted:
                    lines.append(line)
                    rows.append(row)
                    numbers.append(number)
                    break
            else:
                raise Misaligned(
                    f"{documents.path}: row {document}: id {wanted[1]!r} (source {wanted[0]!r}) has no row in"
                    f" {self._path}, or not in this order; {MEND}, then the mix"
                )
        return RowLines(self._path, numbers, lines), rows

    def finish(self, beside: str) -> None:  # noqa: ARG002 - as in LabelFeed
        for _ in self._rows:  # to the end, so that its sha256 is compared
            pass


def _one_by_one(blocks: Iterable[RowLines]) -> Iterator[tuple[int, bytes, Row]]:
    for held in blocks:
        yield from zip(held.numbers, held.lines, decode_rows(held), strict=True)


def pair_of_row(row: Row, path: str, number: int, source: str = "") -> Pair:
    """The (source, id) of a row.

    Args:
        row: the parsed row.
        path: path of its shard, for the message.
        number: number of the row, for the message.
        source: name that stands for a source that the row lacks, as rows of Dolma's do.

    Raises:
        MalformedRow: the row has no string id, or its source is no string.
    """
    id_ = row.get("id")
    pair = (row.get("source") or source, str(id_) if type(id_) is int else id_)
    if type(pair[0]) is not str or type(pair[1]) is not str:
        raise MalformedRow(path, number, 'no string "id", or "source" is not a string')
    return pair[0], pair[1]


def _check_same_ids(rows: list[Row], pairs: Sequence[Pair], held: RowLines, documents: RowLines) -> list[Row]:
    """The rows, after their ids were compared with those of the documents."""
    for row, number, pair in zip(rows, held.numbers, pairs, strict=True):
        if pair_of_row(row, held.path, number, pair[0]) != pair:
            raise Misaligned(
                f"{held.path}: row {number}: id {row['id']!r} (source {row.get('source')!r}), but {documents.path} has"
                f" {pair[1]!r} (source {pair[0]!r}) there; {MEND}"
            )
    return rows
