"""The grinder of carrying: it reads a shard of two versions and of the sets beside it, and writes the carried set."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from gristmill.errors import MalformedRow, Misaligned
from gristmill.execution.attribute_output import AttributeOutput
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.shard_grinder import ShardGrinder
from gristmill.execution.work import Item, Outcome
from gristmill.lake.address import Place, attributes_beside
from gristmill.lake.identity import IdDigest, Pair
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.rows.attribute import AttributeRow, encode_row, exact_spans, parse_rows
from gristmill.lake.rows.batches import TextRow, check_same_ids
from gristmill.lake.store.protocol import Store
from gristmill.recipes.edits.carried import carried_name
from gristmill.recipes.rules import Column
from gristmill.recipes.selection import label_of_column, set_of_column
from gristmill.stages.mixing.carrying.carrier import Carrier, CarrySpec, TextDiffers
from gristmill.stages.mixing.columns.chosen_labels import read_labels
from gristmill.stages.mixing.edits.stretches import Marked, SpanOutside

_AGAIN = "make the attribute set again: it is of other texts"


class CarryingSpec(OneAssetSpec, frozen=True):
    """What all shards share.

    Attributes:
        name: name of the set that is carried.
        before: the documents that it belongs to.
        after: the documents of the next version.
        carry: description of what is carried.
    """

    name: str
    before: Place
    after: Place
    carry: CarrySpec


class CarryingItem(msgspec.Struct, frozen=True):
    """One shard: of both versions, and of each set that is read, by the set's name; and what it is made from."""

    before: Shard
    after: Shard
    sets: Mapping[str, Shard]
    inputs: tuple[Input, ...]


class _CarriedOutput(AttributeOutput):
    """The shard of the carried set while it is written."""

    def __init__(self, store: Store, spec: CarryingSpec, name: str, inputs: tuple[Input, ...]) -> None:
        self._pairs, self._prefix = IdDigest(), f"{carried_name(spec.name)}__"
        super().__init__(store, spec, name, inputs, self._pairs.hexdigest)

    def add(self, rows: Sequence[AttributeRow]) -> None:
        lines = [
            encode_row(row.id, row.source, {self._prefix + name: exact_spans(s) for name, s in row.labels.items()})
            for row in rows
        ]
        self.write(b"".join(line + b"\n" for line in lines))
        self._pairs.update([(row.source, row.id) for row in rows])


class CarryingGrinder(ShardGrinder[CarryingSpec, CarryingItem]):
    """Grinds shards of one carried set."""

    def grind(self, item: Item, body: CarryingItem) -> Outcome:
        output = _CarriedOutput(self._store, self._spec, item.name, body.inputs)
        return self.grind_shard(output, lambda: self._carry_shard_labels(body, output))

    def _carry_shard_labels(self, body: CarryingItem, output: _CarriedOutput) -> None:
        carrier = Carrier(self._spec.carry)
        file = open_shard(self._store, self._spec.before, body.before)
        path = file.path
        sets = _SetsBeside(self._store, self._spec, body, [edit.column for edit in carrier.edits])
        kept = _KeptTexts(self._store, self._spec.after, body.after)
        for first, rows in file.rows(TextRow):
            labels, marked = sets.next_row_labels(rows, path, first)
            found: list[AttributeRow] = []
            for number, row in enumerate(rows):
                text = kept.next_text_of_pair(row.pair)
                if text is None:
                    continue
                try:
                    carried = carrier.carry_labels(
                        row.text, text, [each[number] for each in marked], labels[number].labels
                    )
                except SpanOutside as error:
                    raise MalformedRow(path, first + number, str(error), _AGAIN) from error
                except TextDiffers as error:
                    again = f"make {self._spec.after.asset} again"
                    raise MalformedRow(kept.path, kept.row - 1, str(error), again) from error
                found.append(AttributeRow(row.id, row.source, carried))
            output.add(found)
        sets.finish(path)
        kept.finish(path)
        output.counts = carrier.counts


class _KeptTexts:
    """The rows of the next version, taken one by one in the order of the version before.

    Attributes:
        path: of their shard.
        row: number of the row that comes next.
    """

    def __init__(self, store: Store, place: Place, shard: Shard) -> None:
        file = open_shard(store, place, shard)
        self.path = file.path
        self._rows: Iterator[TextRow] = (row for _, rows in file.rows(TextRow) for row in rows)
        self._next = next(self._rows, None)
        self.row = 0

    def next_text_of_pair(self, pair: Pair) -> str | None:
        """The text of the next row, if it is the one of this pair; None: the row of this pair was not kept."""
        if self._next is None or self._next.pair != pair:
            return None
        text = self._next.text
        self._next = next(self._rows, None)
        self.row += 1
        return text

    def finish(self, before: str) -> None:
        """Checks that all rows were found.

        Raises:
            Misaligned: a row is not in the version before, or not in this order.
        """
        if self._next is not None:
            raise Misaligned(
                f"{self.path}: row {self.row}: id {self._next.id!r} (source {self._next.source!r}) is not in {before}"
                " after the row before it; make this version again"
            )


class _SetsBeside:
    """The rows of the sets of the version before: the one that is carried, and those that have the spans of edits."""

    def __init__(self, store: Store, spec: CarryingSpec, body: CarryingItem, columns: Sequence[Column]) -> None:
        self._name, self._columns = spec.name, columns
        self._feeds = {
            name: open_shard(store, attributes_beside(spec.before, name), shard).open_row_feed()
            for name, shard in sorted(body.sets.items())
        }

    def next_row_labels(
        self, rows: Sequence[TextRow], path: str, first: int
    ) -> tuple[Sequence[AttributeRow], list[Sequence[Marked | None]]]:
        """The labels of each of the next rows, and for each edit the spans of each row.

        Raises:
            DataError: a set does not have the rows of the documents.
        """
        pairs, lengths = [row.pair for row in rows], [len(row.text) for row in rows]
        labels: Sequence[AttributeRow] = []
        spans: dict[str, Sequence[Marked | None]] = {}
        for name, feed in self._feeds.items():
            lines = feed.next_rows(len(rows), path)
            wanted = tuple(
                sorted({label_of_column(column) for column in self._columns if set_of_column(column) == name})
            )
            theirs, found = read_labels(lines, name, wanted, feed.path, first, lengths)
            check_same_ids(pairs, theirs, path, feed.path, first)
            spans |= {f"{name}__{label}": each for label, each in found.items()}
            if name == self._name:
                labels = parse_rows(lines, name, feed.path, first, lengths)
        return labels, [spans[column.path] for column in self._columns]

    def finish(self, path: str) -> None:
        """Checks that the sets have no more rows than the documents.

        Raises:
            Misaligned: one has.
        """
        for feed in self._feeds.values():
            feed.finish(path)


grinder = CarryingGrinder
