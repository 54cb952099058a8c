"""Examples: excerpts of the documents at the extremes of each label, in `<ledger>.examples.json`.

They are copies of texts outside of shards, so a takedown covers them: a document that a blocklist names is not written,
is not shown from a file that is older than the list, and `gc` removes such a file.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from gristmill.errors import DataError
from gristmill.lake.address import Place, documents_asset, place
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.derived import examples_path
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.blocklists.blocklist import listed_pairs
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Store
from gristmill.scores.described import Described
from gristmill.scores.excerpts import excerpt_around_spans, read_document_at, read_label_spans
from gristmill.scores.statistics import LabelStatistics

End = Literal["lowest", "highest"]


class Example(msgspec.Struct, frozen=True):
    """A document at an extreme of a label.

    Attributes:
        label: its name, without the set's.
        end: `lowest` or `highest`.
        value: the score, or the number of spans.
        shard: the shard of the documents.
        row: its number there, from 0.
        source: name of the document's source.
        id: id of the document.
        excerpt: the beginning of its text; if it has spans, of what is around the first of them.
        marks: begin and end of that span in the excerpt; None without one.
        others: begin and end of the stretches of the excerpt that its other spans cover, in order.
    """

    label: str
    end: End
    value: float
    shard: str
    row: int
    source: str
    id: str
    excerpt: str
    marks: tuple[int, int] | None = None
    others: tuple[tuple[int, int], ...] = ()


class ExamplesFile(msgspec.Struct, frozen=True):
    """The file. `contents`: the content of each shard of the set that it was made from, by name."""

    contents: dict[str, str]
    examples: tuple[Example, ...]


def write_examples(store: Store, described: Described, shards: Sequence[Shard]) -> tuple[Example, ...]:
    """Reads the documents at the extremes of the labels that people are shown, and writes the examples.

    Args:
        store: the lake.
        described: the statistics.
        shards: the rows of the set's table.

    Returns:
        The examples, as the file has them.

    Raises:
        DataError: the documents are gone, or a blocklist cannot be read.
        StoreError: the documents are being rebuilt, or the lake does not answer.
    """
    names = names_in_asset_address(described.place.asset)
    documents = place(documents_asset(names["source"], names["version"]), described.place.snapshot)
    beside = {shard.name: shard for shard in read_ledger(store, documents)[1]}
    sets = {shard.name: shard for shard in shards}
    blocked = listed_pairs(store)
    examples: list[Example] = []
    texts = {}
    for label, end, value, shard, row in extreme_examples(described):
        if shard not in beside or beside[shard].ids != sets[shard].ids:
            raise DataError(f"{described.place.asset}: shard {shard} is not of its documents; make it again")
        if (shard, row) not in texts:
            texts[shard, row] = read_document_at(store, documents, beside[shard], row)
        found = texts[shard, row]
        if found.pair in blocked:
            continue
        spans = read_label_spans(store, described.place, sets[shard], row, label.name) if label.kind == "spans" else []
        excerpt, marks, others = excerpt_around_spans(found.text, spans)
        examples.append(Example(label.name, end, value, shard, row, *found.pair, excerpt, marks, others))
    file = ExamplesFile({shard.name: shard.content for shard in shards}, tuple(examples))
    store.put(examples_path(described.place), msgspec.json.encode(file))
    return file.examples


def extreme_examples(described: Described) -> Iterator[tuple[LabelStatistics, End, float, str, int]]:
    """The label, end, value, shard and row of each example that people are shown, in order."""
    ends: tuple[End, ...] = ("lowest", "highest")
    for label in described.shown_labels:
        for end in ends if label.least < label.most else ends[1:]:
            yield from ((label, end, *each) for each in getattr(label, end))


def examples_in_file(store: Store, partition: Place, shards: Iterable[Shard]) -> tuple[Example, ...] | None:
    """The examples as their file states them; None if there are none of these very shards.

    Args:
        store: the lake.
        partition: partition of the set.
        shards: the rows of its table.
    """
    stored = store.read_tagged(examples_path(partition))
    if stored is None:
        return None
    try:
        file = msgspec.json.decode(stored[0], type=ExamplesFile)
    except NOT_DECODED:
        return None
    return file.examples if file.contents == {shard.name: shard.content for shard in shards} else None


def read_examples(store: Store, partition: Place, shards: Iterable[Shard]) -> tuple[Example, ...] | None:
    """The examples that people are shown: without documents that a blocklist names.

    Args: as in examples_in_file().

    Returns:
        None if there are none of these very shards.
    """
    stated = examples_in_file(store, partition, shards)
    if stated is None:
        return None
    blocked = listed_pairs(store)
    return tuple(each for each in stated if (each.source, each.id) not in blocked)


def has_blocklisted_example(store: Store, partition: Place, blocked: set[Pair]) -> bool:
    """Whether the examples of a partition have a document that a blocklist names, or cannot be read."""
    stored = store.read_tagged(examples_path(partition))
    if stored is None:
        return False
    try:
        file = msgspec.json.decode(stored[0], type=ExamplesFile)
    except NOT_DECODED:
        return True
    return any((each.source, each.id) in blocked for each in file.examples)
