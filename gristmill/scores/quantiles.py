"""The quantiles of a set's labels, from the statistics in its columns. No shard is read whose columns are there."""

from collections.abc import Mapping, Sequence

from gristmill.lake.address import Place
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.protocol import Store
from gristmill.scores.described import MOST_SHOWN, column_heads, has_kinds, heads_of_one_kind, known_kinds
from gristmill.scores.label_columns import make_columns
from gristmill.scores.statistics import LabelStatistics, sum_statistics

SAMPLED = 64
"""Most shards of a partition whose columns are read: of more, as many that lie evenly among them."""
FREQUENT = 100
"""A label counts if at least one of so many rows has it: the quantiles of a few rows are chance."""


def label_quantiles(
    store: Store, partition: Place, shards: Sequence[Shard], shares: Sequence[float], labels: Sequence[str] = ()
) -> dict[str, tuple[float, ...]] | None:
    """The quantiles of each label of a set.

    Args:
        store: the lake.
        partition: partition of the set.
        shards: the rows of its ledger's table.
        shares: shares of the rows that are at or below each quantile, from 0 to 1.
        labels: names of labels that are wanted however rare they are.

    Returns:
        By label; None if a shard that is looked at has no columns, or has them of other kinds than another.

    Raises:
        StoreError: the lake does not answer.
    """
    heads = heads_of_one_kind(column_heads(store, partition, sampled_shards(shards)))
    if heads is None:
        return None
    parts: dict[str, list[LabelStatistics]] = {}
    for head in heads:
        for each in head.statistics:
            parts.setdefault(each.name, []).append(each)
    rows = sum(shard.rows for shard in sampled_shards(shards))
    found = sorted((sum_statistics(each) for each in parts.values()), key=lambda label: (-label.rows, label.name))
    frequent = {label.name for label in found[:MOST_SHOWN] if label.rows * FREQUENT >= rows} | set(labels)
    chosen = [label for label in found if label.name in frequent and label.rows]
    return {label.name: tuple(label.quantile(share) for share in shares) for label in chosen}


def describe_sampled(store: Store, partition: Place, shards: Sequence[Shard], kinds: Mapping[str, str] | None) -> None:
    """Writes the columns that label_quantiles() looks at, where they are missing or stale.

    Args:
        store: the lake.
        partition: partition of the set.
        shards: the rows of its ledger's table.
        kinds: kinds of labels, as their tagger declares them; None: none is declared.

    Raises:
        DataError: a row is wrong.
        StoreError: a shard is not the one that its ledger names, or the lake does not answer.
    """
    chosen = sampled_shards(shards)
    heads = list(column_heads(store, partition, chosen))
    kinds = known_kinds(heads, kinds)
    for shard, head in zip(chosen, heads, strict=True):
        if head is None or not has_kinds(head, kinds):
            make_columns(store, partition, shard, kinds, lists=head.lists if head else ())


def sampled_shards(shards: Sequence[Shard]) -> Sequence[Shard]:
    """The shards that are looked at: all, or SAMPLED of them."""
    if len(shards) <= SAMPLED:
        return shards
    return [shards[number * len(shards) // SAMPLED] for number in range(SAMPLED)]
