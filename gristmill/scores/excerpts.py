"""Reads single rows for people: a document, its spans, and an excerpt with the spans in it."""

from collections.abc import Sequence
from typing import Any

import msgspec

from gristmill.lake.address import Place
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.attribute import parse_rows
from gristmill.lake.rows.batches import TextRow, decode_rows
from gristmill.lake.store.protocol import Store

EXCERPT = 300
"""Code points of an excerpt."""


def _read_document_line(store: Store, partition: Place, shard: Shard, row: int) -> tuple[str, bytes]:
    file = open_shard(store, partition, shard)
    first, rows = file.rows_around(row)
    return file.path, rows[row - first]


def read_document_at(store: Store, documents: Place, shard: Shard, row: int) -> TextRow:
    """A document.

    Args:
        store: the lake.
        documents: its partition.
        shard: its shard, as the ledger's table has it.
        row: its number there, from 0.
    """
    path, line = _read_document_line(store, documents, shard, row)
    return decode_rows(msgspec.json.Decoder(TextRow), line + b"\n", path, row)[0]


def read_label_spans(store: Store, partition: Place, shard: Shard, row: int, label: str) -> Sequence[Any]:
    """The spans of a label; none if the row lacks it.

    Args:
        store: the lake.
        partition: partition of the set.
        shard: the set's shard.
        row: number of the row there, from 0.
        label: its name, without the set's.
    """
    path, line = _read_document_line(store, partition, shard, row)
    [found] = parse_rows([line], names_in_asset_address(partition.asset)["set"], path, row)
    return found.labels.get(label, [])


def excerpt_around_spans(
    text: str, spans: Sequence[Any]
) -> tuple[str, tuple[int, int] | None, tuple[tuple[int, int], ...]]:
    """An excerpt of a text: its beginning, or what is around the first span.

    Returns:
        The excerpt, the place of the first span in it (None without one), and those of the others.
    """
    if not spans:
        return text[:EXCERPT], None, ()
    start, end, _ = spans[0]
    begin = max(0, start - EXCERPT // 4)
    excerpt = text[begin : begin + EXCERPT]
    first = (start - begin, min(end - begin, len(excerpt)))
    return excerpt, first, tuple(_span_stretches(spans[1:], begin, len(excerpt), first))


def _span_stretches(spans: Sequence[Any], begin: int, size: int, first: tuple[int, int]) -> list[tuple[int, int]]:
    """The stretches of an excerpt in spans, beside the first. Spans that touch stay apart."""
    places = sorted({(max(start - begin, 0), min(end - begin, size)) for start, end, _ in spans})
    found: list[tuple[int, int]] = []
    at = 0
    for start, end in places:
        free = max(start, at)
        for piece in ((free, min(end, first[0])), (max(free, first[1]), end)):
            if piece[0] < piece[1]:
                found.append(piece)
                at = piece[1]
    return found
