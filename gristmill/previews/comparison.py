"""Compares two mixes: which documents only one of them keeps, by stream."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gristmill.lake.store.protocol import Store
from gristmill.previews.mix_preview import OpenedStream, ShownRow, example_rows_with_texts
from gristmill.previews.slice_preview import KEPT, SlicePreview, sizes_after_edits
from gristmill.previews.tally import NOTHING, Amount, ExampleRow, RowSizes
from gristmill.previews.token_ratio import TokenRatio
from gristmill.previews.words import mark_excerpt
from gristmill.text.units.drawn_numbers import random_row_numbers

Part = tuple[str, str, str]
"""Source, snapshot and shard. A shard has the same name in all versions of a source."""


@dataclass(frozen=True)
class StreamDifference:
    """What only one of two mixes keeps of a stream.

    Attributes:
        title: address of the stream.
        kept: amount that the stream keeps.
        alone: amount that no stream of the other mix keeps.
        ratio: ratio for estimates of tokens.
        rows: examples of the documents that only this mix keeps.
    """

    title: str
    kept: Amount
    alone: Amount
    ratio: TokenRatio
    rows: tuple[ShownRow, ...]


@dataclass
class _StreamCount:
    """The counts of a stream so far."""

    opened: OpenedStream
    kept: Amount = NOTHING
    alone: Amount = NOTHING
    examples: list[ExampleRow] = field(default_factory=list)


@dataclass(frozen=True)
class _KeptRows:
    """The rows of a shard that a stream keeps: their keys, sizes, and numbers in the shard."""

    keys: Any
    sizes: RowSizes
    rows: Any

    def count(self, counted: _StreamCount, others: Any, part: Part, examples: int) -> None:
        every = np.ones(len(self.rows), np.bool_)
        alone = every if others is None else ~pc.is_in(self.keys, value_set=others).to_numpy(zero_copy_only=False)
        counted.kept = counted.kept.add_amount(self.sizes.amount_of_rows(every))
        counted.alone = counted.alone.add_amount(self.sizes.amount_of_rows(alone))
        _, snapshot, shard = part
        rows = self.rows[alone]
        numbers = random_row_numbers(snapshot, shard, rows)
        first = np.argsort(numbers, kind="stable")[:examples].tolist()
        drawn = [ExampleRow(int(numbers[at]), snapshot, shard, int(rows[at])) for at in first]
        counted.examples = sorted([*counted.examples, *drawn])[:examples]


def compare_mixes(
    store: Store, ours: Sequence[OpenedStream], others: Sequence[OpenedStream], examples: int
) -> tuple[list[StreamDifference], list[StreamDifference]]:
    """What only the one mix keeps, and what only the other one, stream by stream.

    A document is the same if its source, snapshot, shard and id are the same; its version and its edits may differ.

    Args:
        store: the lake.
        ours: the streams of a mix, opened with `keyed=True`.
        others: opened streams of the other one.
        examples: rows of each stream that are shown, at most.

    Returns:
        The differences of the streams of the one mix, and of the other.

    Raises:
        DataError: what a build would raise.
        StoreError: the lake does not answer, or is being rebuilt.
    """
    counts = [[_StreamCount(opened) for opened in side] for side in (ours, others)]
    parts = sorted({part for side in (ours, others) for opened in side for part in _parts_of_streams(opened)})
    for part in parts:
        kept = [[_kept_rows_of_part(each.opened, part) for each in side] for side in counts]
        keys = [_join_keys([rows.keys for rows in side if rows is not None]) for side in kept]
        for side, rows, other in ((counts[0], kept[0], keys[1]), (counts[1], kept[1], keys[0])):
            for counted, found in zip(side, rows, strict=True):
                if found is not None:
                    found.count(counted, other, part, examples)
    first, second = ([_stream_difference(store, each) for each in side] for side in counts)
    return first, second


def lines_of_differences(name: str, differences: Sequence[StreamDifference]) -> Iterator[str]:
    """The lines that the command shows about what only one mix keeps.

    Args:
        name: name of the mix.
        differences: differences of its streams.
    """
    yield f"only {name} keeps:"
    for each in differences:
        tokens = each.ratio.estimate_tokens(each.alone)
        yield (
            f"  {each.title}: {each.alone.documents:,} of {each.kept.documents:,} documents,"
            f" {each.alone.bytes:,} bytes, {tokens:,} tokens"
        )
        for row in each.rows:
            yield f"    {row.where}  {row.id}"
            yield f"      | {mark_excerpt(row.excerpt, row.marks)}"


def _parts_of_streams(opened: OpenedStream) -> Iterator[Part]:
    for each in opened.slices:
        for shard in each.shards:
            yield each.step.source, each.step.snapshot, shard.name


def _kept_rows_of_part(opened: OpenedStream, part: Part) -> _KeptRows | None:
    source, snapshot, name = part
    for each in opened.slices:
        if (each.step.source, each.step.snapshot) == (source, snapshot) and any(s.name == name for s in each.shards):
            return _kept_rows_of_preview(each, name)
    return None


def _kept_rows_of_preview(preview: SlicePreview, name: str) -> _KeptRows:
    shard = next(each for each in preview.shards if each.name == name)
    keys, lengths, characters, rows = [], [], [], []
    for judged in preview.judged_batches(shard):
        chosen = np.flatnonzero(judged.decisions == 0)
        places = judged.batch.places.take(chosen)
        pairs = pc.binary_join_element_wise(places.column("source"), places.column("id"), "\0")
        sizes = sizes_after_edits(judged.batch)
        keys.append(pairs.combine_chunks())
        lengths.append(sizes.bytes[chosen])
        characters.append(sizes.characters[chosen])
        rows.append(chosen + judged.batch.first)
    empty = np.zeros(0, np.int64)
    sizes = RowSizes(np.concatenate([empty, *lengths]), np.concatenate([empty, *characters]))
    return _KeptRows(_join_keys(keys) if keys else pa.array([], pa.string()), sizes, np.concatenate([empty, *rows]))


def _join_keys(keys: Sequence[Any]) -> Any:
    """Keys as one array; None without any."""
    arrays = [each.combine_chunks() if isinstance(each, pa.ChunkedArray) else each for each in keys]
    return pa.concat_arrays(arrays) if arrays else None


def _stream_difference(store: Store, counted: _StreamCount) -> StreamDifference:
    opened = counted.opened
    rows = tuple(example_rows_with_texts(store, opened.slices, {KEPT: counted.examples}, ()))
    return StreamDifference(opened.title, counted.kept, counted.alone, opened.ratio, rows)
