"""The proof of a set's examples, from the rows and documents that its audit reads anyway."""

from collections.abc import Collection, Iterator, Sequence

import msgspec

from gristmill.execution.finding import Finding
from gristmill.execution.work import Say
from gristmill.lake.address import Place, documents_asset, place
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.as_written import first_unknown_field
from gristmill.lake.ledger.derived import examples_path
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.attribute import parse_rows
from gristmill.lake.rows.blocklists.blocklist import listed_pairs
from gristmill.lake.store.protocol import Store
from gristmill.scores.described import read_described_set
from gristmill.scores.examples import Example, examples_in_file, extreme_examples
from gristmill.scores.excerpts import excerpt_around_spans, read_document_at

MEND = "delete it: `gristmill report` or `gristmill preview` makes it again"
"""The mend of a file that is derived."""


def extreme_findings(store: Store, partition: Place, shards: Sequence[Shard], say: Say) -> Iterator[Finding]:
    """A finding unless the examples are those of the extremes that the columns have. The audit proves the columns too.

    Args:
        store: the lake.
        partition: partition of the set.
        shards: the rows of its table.
        say: function that receives a note if columns are missing.
    """
    stated = examples_in_file(store, partition, shards)
    if stated is None:
        return
    path = examples_path(partition)
    written = msgspec.json.decode(store.read(path))
    if field := first_unknown_field(
        written, {"contents": written["contents"], "examples": msgspec.to_builtins(stated)}
    ):
        yield Finding(path, None, f"it has the field {field!r}, which no example has", MEND)
    described = read_described_set(store, partition, shards)
    if described is None:
        say(f"{path}: not proven to be the extremes: columns of its set are missing; {MEND}")
        return
    due = [(label.name, end, value, shard, row) for label, end, value, shard, row in extreme_examples(described)]
    found = [(each.label, each.end, each.value, each.shard, each.row) for each in stated]
    lacking = [each for each in due if each not in found]
    if [each for each in due if each in found] != found:
        yield Finding(path, None, "its examples are not the extremes of the columns of its set", MEND)
    elif lacking and not _are_all_blocked(store, partition, {(shard, row) for _, _, _, shard, row in lacking}):
        yield Finding(path, None, f"it lacks {len(lacking)} examples of the extremes of its set", MEND)


def _are_all_blocked(store: Store, partition: Place, rows: Collection[tuple[str, int]]) -> bool:
    """Whether a blocklist names the document of each of these rows: (shard, number of the row)."""
    names = names_in_asset_address(partition.asset)
    documents = place(documents_asset(names["source"], names["version"]), partition.snapshot)
    beside = {shard.name: shard for shard in read_ledger(store, documents)[1]}
    blocked = listed_pairs(store)
    return all(
        shard in beside and read_document_at(store, documents, beside[shard], row).pair in blocked
        for shard, row in rows
    )


class ExamplesProof:
    """Compares the examples of a set with what their rows and documents give.

    Args:
        store: the lake.
        partition: partition of the set.
        shards: the rows of its table. Examples that were made from others are not looked at, because nobody uses them.
    """

    def __init__(self, store: Store, partition: Place, shards: Sequence[Shard]) -> None:
        self._partition, self._set = partition, names_in_asset_address(partition.asset)["set"]
        self._waiting: dict[str, dict[int, list[Example]]] = {}
        for each in examples_in_file(store, partition, shards) or ():
            self._waiting.setdefault(each.shard, {}).setdefault(each.row, []).append(each)
        self._false: list[Example] = []

    def rows(self, shard: str) -> Collection[int]:
        """The numbers of the rows of a shard that have examples and were not compared yet."""
        return self._waiting.get(shard, {}).keys()

    def compare_row_examples(self, shard: str, row: int, line: bytes, pair: Pair, text: str) -> None:
        """Compares the examples of a row.

        Args:
            shard: name of the shard.
            row: number of the row there.
            line: the line of the row of the set.
            pair: (source, id) of its document.
            text: text of its document.

        Raises:
            MalformedRow: the line is no row of a set.
        """
        [labels] = [found.labels for found in parse_rows([line], self._set, self._partition.shard(shard), row)]
        for each in self._waiting[shard].pop(row):
            spans = labels.get(each.label, [])
            shown = excerpt_around_spans(text, spans if each.marks else [])
            right = (pair, shown) == ((each.source, each.id), (each.excerpt, each.marks, each.others))
            if not right or each.value not in {float(len(spans)), *(value for _, _, value in spans)}:
                self._false.append(each)

    def example_findings(self, damaged: Collection[str]) -> Iterator[Finding]:
        """Findings on examples that differ, and on those whose rows were not there.

        Args:
            damaged: names of the shards with findings. Their rows may be there and not have been reached.
        """
        rest = [rows for shard, rows in self._waiting.items() if shard not in damaged]
        lost = [each for rows in rest for examples in rows.values() for each in examples]
        for each in sorted(self._false + lost, key=lambda each: (each.shard, each.row)):
            where = f"shard {each.shard}, row {each.row} (id {each.id!r})"
            what = f"its example of {each.label} is not what {where} gives"
            yield Finding(examples_path(self._partition), None, what, MEND)
