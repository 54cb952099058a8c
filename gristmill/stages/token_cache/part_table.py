"""Compares the ledger's table of a token cache with the parts' objects."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from gristmill.errors import DataError
from gristmill.execution.checks import Verdict, compared_counts_in_words
from gristmill.execution.finding import Finding
from gristmill.execution.part_output import part_object_findings
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, load_ledger
from gristmill.formats.levanter.cache_ledger import CacheLedger as LevanterLedger
from gristmill.lake.address import SPLITS, Place
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.protocol import Store
from gristmill.stages.token_cache.part import PartRecord, Range, part_name, part_records
from gristmill.stages.token_cache.statistics import TokenStatistics, add_statistics


def check_cache_complete(store: Store, documents: Sequence[Shard], parts: Sequence[Shard], place: Place) -> Verdict:
    """Checks that each shard of the mix's slice is complete in exactly one part, and that no part has other shards.

    Reads the table, one listing, and the parts' own Levanter ledgers.

    Args:
        store: the lake.
        documents: the shards of the mix's slice.
        parts: the rows of the token cache's table.
        place: the slice of the token cache.

    Returns:
        The verdict, with the first shard that is wrong.

    Raises:
        StoreError: the lake does not answer.
    """
    claims = PartTable(store, place, parts)
    wrong = [*claims.part_set_findings(documents), *claims.parts_agree()]
    facts = compared_counts_in_words(documents) | {
        "parts": len(parts),
        "tokens": sum(part.counts.get("tokens", 0) for part in parts),
    }
    if wrong:
        facts |= {"troubles": len(wrong), "first": wrong[0].what}
        text = f"{wrong[0]}; {MEND}"
        return Verdict("cache_complete", passed=False, description=text, metadata=facts)
    text = f"{facts['rows']:,} rows of {len(documents)} shards lie in {len(parts)} parts, once each"
    return Verdict("cache_complete", passed=True, description=text, metadata=facts)


MEND = "make this slice of the token cache again"


class PartTable:
    """The parts of one slice, according to its table. Only small objects and a listing are read."""

    def __init__(self, store: Store, place: Place, parts: Sequence[Shard]) -> None:
        self._store, self._place, self._parts = store, place, parts
        self._records = part_records(parts)

    def part_set_findings(self, documents: Sequence[Shard]) -> Iterator[Finding]:
        """Findings unless each shard of the documents is complete in exactly one part, and no other shard is."""
        table = self._place.table
        holders: dict[str, list[str]] = {}
        for name, record in self._records.items():
            for shard_name in record.shards:
                holders.setdefault(shard_name, []).append(name)
        for shard in documents:
            names = holders.pop(shard.name, [])
            if len(names) != 1:
                where = f"in the parts {' and '.join(names)}" if names else "in no part"
                yield Finding(table, None, f"shard {shard.name} of the mix is {where}, not in exactly one")
                continue
            recorded = self._records[names[0]].shards[shard.name]
            if recorded.content != shard.identity:
                yield Finding(table, None, f"shard {shard.name} was tokenized from another version of its content")
            if recorded.documents != shard.rows:
                what = f"shard {shard.name} has {shard.rows} documents, but its part {names[0]} {recorded.documents}"
                yield Finding(table, None, what)
        for name, names in sorted(holders.items()):
            yield Finding(table, None, f"shard {name} of the part {names[0]} is not a shard of the mix")

    def in_places(self, parts: int) -> Iterator[Finding]:
        """Findings unless each shard is in the part that its name gives, and those of a part are in order.

        A trainer packs and permutes the rows in this order.

        Args:
            parts: number of parts, as the recipe declares it.
        """
        table = self._place.table
        for name, record in self._records.items():
            for shard in sorted(record.shards):
                if (right := part_name(shard, parts)) != name:
                    yield Finding(
                        table, None, f"shard {shard} is in {name}, but of {parts} parts it belongs to {right}"
                    )
            for split in sorted(record.folders):
                filled = [shard for shard, (_, rows, _, _) in record.in_order(split) if rows]
                other = next((pair for pair in pairwise(filled) if pair[0] > pair[1]), None)
                if other:
                    yield Finding(table, None, f"part {name}, {split}: shard {other[0]} is before shard {other[1]}")

    def parts_agree(self) -> Iterator[Finding]:
        """Findings unless each part's objects exist, and sizes, rows and tokens are those in the table."""
        sizes = {
            entry.path: entry.size for split in SPLITS for entry in self._store.list(self._place.part_folder(split))
        }
        for part in self._parts:
            record = self._records.get(part.name)
            if record is None:
                yield Finding(self._place.table, None, f"part {part.name}: its row names no folders and shards")
                continue
            yield from part_object_findings(record, sizes)
            for split, folder in sorted(record.folders.items()):
                if folder + LEDGER_NAME not in record.objects:
                    yield Finding(folder + LEDGER_NAME, None, f"the part's {split} has no ledger in the table")
                yield from self._split_findings(part, record, split, folder)
            yield from _part_total_findings(self._place, part, record)

    def _split_findings(self, part: Shard, record: PartRecord, split: str, folder: str) -> Iterator[Finding]:
        ranges = record.in_order(split)
        path = folder + LEDGER_NAME
        rows, tokens, broken = 0, 0, ""
        for name, (first, count, start, length) in ranges:
            if (first, start) != (rows, tokens):
                broken = broken or f"shard {name} begins at row {first} and token {start}, not at {rows} and {tokens}"
            rows, tokens = first + count, start + length
        counted = (part.counts.get(f"{split} rows", -1), part.counts.get(f"{split} tokens", -1))
        if broken or (rows, tokens) != counted:
            what = broken or f"its shards end at row {rows} and token {tokens}, but its counts are {counted}"
            yield Finding(self._place.table, None, f"part {part.name}, {split}: {what}")
        tagged = self._store.read_tagged(path)
        if tagged is None:
            return  # part_object_findings() has reported the missing object
        try:
            ledger = load_ledger(tagged[0], path)
        except DataError as error:
            yield Finding(path, None, str(error))
            return
        yield from _levanter_ledger_findings(path, ledger, ranges, (rows, tokens))


def _part_total_findings(place: Place, part: Shard, record: PartRecord) -> Iterator[Finding]:
    """Findings unless the row's totals are the sums over its shards and objects."""
    sums = {
        "rows": sum(shard.rows for shard in record.shards.values()),
        "tokens": sum(bounds[3] for shard in record.shards.values() for bounds in shard.ranges.values()),
        "bytes": record.bytes,
    }
    totals = {"rows": part.rows, "tokens": part.counts.get("tokens", 0), "bytes": part.bytes}
    for what, number in sums.items():
        if totals[what] != number:
            yield Finding(place.table, None, f"part {part.name}: {totals[what]} {what}, but they sum to {number}")
    yield from _part_statistics_findings(place, part, record)


def _part_statistics_findings(place: Place, part: Shard, record: PartRecord) -> Iterator[Finding]:
    """Findings unless the row's statistics are the sums over its shards. Parts of Gristmill 0.1 have none of shards."""
    shards = record.shards.values()
    facts = add_statistics(shard.facts for shard in shards)
    uncounted = sorted(name for name, shard in record.shards.items() if not shard.is_counted)
    if uncounted:
        if facts != TokenStatistics():
            what = f"part {part.name}: its shard {uncounted[0]} has no lengths of rows, but statistics are there"
            yield Finding(place.table, None, what)
        return
    ranges = {"tokens", *(f"{split} {what}" for split in record.folders for what in ("rows", "tokens"))}
    counts = {name: number for name, number in part.counts.items() if name not in ranges}
    if (counts, part.dropped) != (facts.counts, facts.dropped):
        yield Finding(place.table, None, f"part {part.name}: its statistics are not the sums over its shards")


def token_count(counts: Mapping[str, int]) -> int:
    """The number of tokens, from a Levanter ledger's counts by field. The token ids are the first field."""
    return next(iter(counts.values()), 0)


def _levanter_ledger_findings(
    path: str, ledger: LevanterLedger, ranges: Sequence[tuple[str, Range]], ends: tuple[int, int]
) -> Iterator[Finding]:
    """Findings unless a part's own Levanter ledger has the same shards, rows and tokens as ours."""
    if not ledger["is_finished"] or ledger["layout"] != "consolidated":
        yield Finding(path, None, "it is not the ledger of a finished consolidated cache")
    if ledger["shard_rows"] != {name: bounds[1] for name, bounds in ranges}:
        yield Finding(path, None, "its shards and their rows are not those of our ledger")
        return
    begin = 0
    firsts = {name: bounds[0] for name, bounds in ranges}
    for name in ledger["finished_shards"]:
        if firsts[name] != begin:
            yield Finding(path, None, f"shard {name} begins at row {begin} here, at {firsts[name]} in our ledger")
            return
        begin += ledger["shard_rows"][name]
    rows, tokens = ledger["total_num_rows"], token_count(ledger["field_counts"])
    if (rows, tokens) != ends:
        yield Finding(path, None, f"{rows} rows and {tokens} tokens, but {ends[0]} and {ends[1]} in our ledger")
