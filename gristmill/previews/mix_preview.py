"""MixPreview: what a mix, or a version of a source, keeps and drops, stream by stream, before it is built."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gristmill.lake.address import Place, attributes_beside, documents_asset, ledger_folder
from gristmill.lake.ledger.files import list_ledgers
from gristmill.lake.rows.blocklists.blocklist import listed_pairs
from gristmill.lake.store.protocol import Store
from gristmill.previews.row_batches import Kinds, NeededBytes
from gristmill.previews.slice_preview import SlicePreview
from gristmill.previews.tally import Amount, ExampleRow, SliceTally
from gristmill.previews.token_ratio import TokenRatio
from gristmill.recipes.selection import Selection, label_of_column, set_of_column
from gristmill.recipes.source import Source
from gristmill.scores.excerpts import excerpt_around_spans, read_document_at, read_label_spans
from gristmill.stages.mixing.step import MixingStep
from gristmill.text.natural_order import newest_snapshot


@dataclass(frozen=True)
class ShownRow:
    """A row as people are shown it.

    Attributes:
        reason: reason why it is dropped; empty if it is kept.
        where: snapshot, shard and row.
        id: id of the document.
        excerpt: part of its text.
        marks: begin and end of the stretches of the excerpt that spans cover, in order.
    """

    reason: str
    where: str
    id: str
    excerpt: str
    marks: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class StreamPreview:
    """The preview of one stream.

    Attributes:
        title: address of what would be made.
        selection: selection that was judged.
        snapshots: keys of the snapshots that were judged.
        reasons: all reasons for which rows are dropped, in the order of evaluation.
        tally: the counts.
        ratio: ratio for estimates of tokens.
        rows: examples.
    """

    title: str
    selection: Selection
    snapshots: tuple[str, ...]
    reasons: tuple[str, ...]
    tally: SliceTally
    ratio: TokenRatio
    rows: tuple[ShownRow, ...]

    def estimate_tokens(self, amount: Amount) -> int:
        """The estimate of tokens for some documents.

        Where the mix writes other lines than it reads, bytes that are read say nothing of tokens: then documents have
        as many for each code point as those that are kept.
        """
        kept = self.tally.kept
        if amount == kept or not self._by_kept:
            return self.ratio.estimate_tokens(amount)
        return round(amount.characters * self.ratio.estimate_tokens(kept) / kept.characters)

    @property
    def estimate_in_words(self) -> str:
        """The way in which tokens are estimated, in words."""
        return f"{self.ratio}; others by their characters, as those that are kept" if self._by_kept else f"{self.ratio}"

    @property
    def _by_kept(self) -> bool:
        return self.selection.changes_rows and self.tally.kept.characters > 0


@dataclass(frozen=True)
class OpenedStream:
    """A stream whose slices are ready to be judged.

    Attributes:
        title: address of what would be made.
        ratio: ratio for estimates of tokens.
        slices: one for each snapshot.
    """

    title: str
    ratio: TokenRatio
    slices: tuple[SlicePreview, ...]

    def needed(self) -> NeededBytes:
        """The bytes that must be read."""
        each = [one.needed() for one in self.slices]
        return NeededBytes(sum(one.columns for one in each), sum(one.text for one in each))


def open_stream(
    store: Store, steps: Sequence[MixingStep], kinds: Kinds, ratio: TokenRatio, *, keyed: bool = False
) -> OpenedStream:
    """Opens a stream.

    Args:
        store: the lake.
        steps: one for each snapshot; at least one.
        kinds: kinds of the labels of its sets.
        ratio: ratio for estimates of tokens.
        keyed: whether it is compared with another stream: then sources and ids are read.

    Returns:
        The stream, with its slices.

    Raises:
        DataError: the documents or a set of a snapshot are not finished, or do not match.
    """
    return OpenedStream(steps[0].asset, ratio, tuple(SlicePreview(store, step, kinds, keyed=keyed) for step in steps))


def preview_stream(store: Store, opened: OpenedStream, examples: int) -> StreamPreview:
    """Judges the rows of a stream.

    Args:
        store: the lake.
        opened: the stream.
        examples: rows of each reason that are shown, at most.

    Returns:
        The preview: what is kept, and what is dropped by which reason.

    Raises:
        DataError: what the build would raise.
        StoreError: the lake does not answer, or is being rebuilt.
    """
    tally = SliceTally()
    for each in opened.slices:
        tally = tally.add_tally(each.tally_rows(examples), examples)
    first = opened.slices[0]
    reasons = (*first.reasons, *sorted(tally.dropped.keys() - set(first.reasons)))  # edits have reasons of their own
    snapshots = tuple(each.step.snapshot for each in opened.slices)
    rows = tuple(example_rows_with_texts(store, opened.slices, tally.examples, reasons))
    return StreamPreview(opened.title, first.step.selection, snapshots, reasons, tally, opened.ratio, rows)


def previewed_snapshots(store: Store, source: Source, version: str, *, every: bool = False) -> list[str]:
    """The finished snapshots that the index of a mix would take, sorted.

    Args:
        store: the lake.
        source: source of the documents.
        version: the version that is read.
        every: whether all finished ones are named, also editions that a newer one replaces.
    """
    asset = documents_asset(source.name, version)
    found = sorted(each.snapshot for each in list_ledgers(store, ledger_folder(asset)) if each.asset == asset)
    return [newest_snapshot(found)] if found and source.snapshots == "replace" and not every else found


def example_rows_with_texts(
    store: Store, slices: Sequence[SlicePreview], examples: Mapping[str, Sequence[ExampleRow]], reasons: Sequence[str]
) -> Iterator[ShownRow]:
    """Examples with their texts. A document that any blocklist of the lake names is left out.

    Args:
        store: the lake.
        slices: slices of a stream.
        examples: rows of the stream, by reason.
        reasons: reasons in the order in which they are shown, after the rows that are kept.

    Returns:
        The rows, by reason; the kept ones first.
    """
    by_snapshot = {each.step.snapshot: each for each in slices}
    blocked = listed_pairs(store) if examples else set()
    for reason in ("", *reasons):
        for _, snapshot, shard, row in examples.get(reason, ()):
            part = by_snapshot[snapshot]
            held = next(each for each in part.shards if each.name == shard)
            document = read_document_at(store, part.step.documents, held, row)
            if document.pair in blocked:
                continue
            spans = _spans_of_columns(store, part, part.step.documents, shard, row)
            excerpt, first, others = excerpt_around_spans(document.text, spans)
            marks = tuple(sorted([*([first] if first else []), *others]))
            yield ShownRow(reason, f"{snapshot} {shard} row {row}", document.pair[1], excerpt, marks)


def _spans_of_columns(
    store: Store, part: SlicePreview, documents: Place, shard: str, row: int
) -> list[tuple[int, int, float]]:
    """The spans of all columns that read spans, sorted."""
    found: list[tuple[int, int, float]] = []
    for column in part.step.selection.read_columns:
        if column.type == "spans":
            name = set_of_column(column)
            beside = part.attribute_shards(shard)[name]
            found += read_label_spans(store, attributes_beside(documents, name), beside, row, label_of_column(column))
    return sorted(span for span in found if span[0] < span[1])
