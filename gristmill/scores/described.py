"""Described: the statistics of an attribute set, added up from its shards. Shards that did not change are not read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gristmill.lake.address import Place
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.label_values import declaration_of_label
from gristmill.lake.store.protocol import Store
from gristmill.scores.column_file import open_columns
from gristmill.scores.label_columns import ColumnsHead, make_columns
from gristmill.scores.statistics import LabelStatistics, sum_statistics
from gristmill.threads import thread_pool

MOST_SHOWN = 24
"""Labels that people are shown; of a set with more, those that most rows have."""

AT_ONCE = 16


@dataclass(frozen=True)
class Described:
    """The statistics of a partition of an attribute set.

    Attributes:
        place: the partition.
        rows: its rows.
        labels: all labels, sorted by name.
        read: shards that were read, because their columns were missing or stale.
        left_out: labels without statistics: a shard had too many.
        undeclared: labels whose kind no tagger declares: they count as spans, though they may be scores.
    """

    place: Place
    rows: int
    labels: tuple[LabelStatistics, ...]
    read: int
    left_out: int
    undeclared: frozenset[str] = frozenset()

    @property
    def shown_labels(self) -> list[LabelStatistics]:
        """The labels that people are shown, sorted by name."""
        frequent = sorted(self.labels, key=lambda label: (-label.rows, label.name))[:MOST_SHOWN]
        return sorted(frequent, key=lambda label: label.name)


def describe_set(store: Store, partition: Place, shards: Sequence[Shard], kinds: Mapping[str, str] | None) -> Described:
    """Adds up the statistics of an attribute set, and writes the columns that are missing or stale.

    Args:
        store: the lake.
        partition: partition of the set.
        shards: the rows of its ledger's table.
        kinds: kinds of labels, as their tagger declares them; None: none is declared.

    Returns:
        The statistics of the set's labels.

    Raises:
        DataError: a row is wrong.
        StoreError: a shard is not the one that its ledger names, or the lake does not answer.
    """
    heads: list[ColumnsHead] = []
    read = 0
    found = list(column_heads(store, partition, shards))
    kinds = known_kinds(found, kinds)
    for shard, head in zip(shards, found, strict=True):
        right = head is not None and has_kinds(head, kinds)
        read += not right
        lists = head.lists if head else ()
        heads.append(head if head and right else make_columns(store, partition, shard, kinds, lists=lists))
    return _describe_partition(partition, shards, heads, read, kinds)


def known_kinds(heads: Iterable[ColumnsHead | None], kinds: Mapping[str, str] | None) -> Mapping[str, str] | None:
    """The kinds of labels: as their tagger declares them, or else those that columns have. Who made these knew it.

    Args:
        heads: the heads of the columns files of a set.
        kinds: kinds of labels, by name or pattern, as for has_kinds().
    """
    if kinds is not None:
        return kinds
    labels = (label for head in heads if head for label in head.kinds.items())
    return {name: kind for name, kind in labels if kind == "score"} or None


def has_kinds(head: ColumnsHead, kinds: Mapping[str, str] | None) -> bool:
    """Whether columns have the kinds that a tagger declares. Who made them may not have had its shelf.

    Args:
        head: the head of the columns file.
        kinds: the kind of each label, as its tagger declares it; None: the tagger is not known, so any kind is right.
    """
    return kinds is None or all(
        (declaration_of_label(label, kinds) == "score") == (kind == "score") for label, kind in head.kinds.items()
    )


def read_described_set(
    store: Store, partition: Place, shards: Sequence[Shard], kinds: Mapping[str, str] | None = None
) -> Described | None:
    """The statistics of an attribute set whose shards all have their columns, of the same kinds; else None.

    Nothing is written.

    Args:
        store: the lake.
        partition: partition of the set.
        shards: the rows of its ledger's table.
        kinds: kinds of the labels, as their tagger declares them. Columns of other kinds count as they are.

    Raises:
        StoreError: the lake does not answer.
    """
    heads = heads_of_one_kind(column_heads(store, partition, shards))
    return None if heads is None else _describe_partition(partition, shards, heads, 0, kinds)


def heads_of_one_kind(found: Iterable[ColumnsHead | None]) -> list[ColumnsHead] | None:
    """The heads, if all are there, and no label is a score in one and spans in another; else None.

    Args:
        found: the head of each shard's columns; None where they are missing or stale.
    """
    heads = list(found)
    kinds = known_kinds(heads, None)
    right = [head for head in heads if head is not None and has_kinds(head, kinds)]
    return right if len(right) == len(heads) else None


def _describe_partition(
    partition: Place,
    shards: Sequence[Shard],
    heads: Sequence[ColumnsHead],
    read: int,
    kinds: Mapping[str, str] | None,
) -> Described:
    parts: dict[str, list[LabelStatistics]] = {}
    for head in heads:
        for each in head.statistics:
            parts.setdefault(each.name, []).append(each)
    labels = tuple(sum_statistics(parts[name]) for name in sorted(parts))
    unknown = {
        label.name
        for label in labels
        if label.kind == "spans" and declaration_of_label(label.name, kinds or {}) is None
    }
    left_out = sum(head.left_out for head in heads)
    return Described(partition, sum(s.rows for s in shards), labels, read, left_out, frozenset(unknown))


def column_heads(store: Store, partition: Place, shards: Sequence[Shard]) -> Iterator[ColumnsHead | None]:
    """The heads of the columns of each shard; None where they are missing or stale.

    Raises:
        StoreError: the lake does not answer.
    """

    def head(shard: Shard) -> ColumnsHead | None:
        columns = open_columns(store, partition, shard)
        return columns.head if columns else None

    with thread_pool(AT_ONCE) as pool:
        yield from pool.map(head, shards)
