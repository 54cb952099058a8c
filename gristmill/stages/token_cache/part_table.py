"""The table of a token cache's parts, compared with the parts' objects."""

from collections.abc import Iterator, Mapping, Sequence

from gristmill.errors import DataError
from gristmill.execution.checks import Verdict, _compared
from gristmill.execution.finding import Finding, differs
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, load_ledger
from gristmill.formats.levanter.cache_ledger import Ledger as LevanterLedger
from gristmill.lake.address import SPLITS, Place
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.protocol import Store
from gristmill.stages.token_cache.part import PartRecord, Range, part_records


def cache_complete(store: Store, documents: Sequence[Shard], parts: Sequence[Shard], place: Place) -> Verdict:
    """Every shard of the mix's slice lies in exactly one part of its token cache, whole, and nothing else does.

    From the table, one listing, and the parts' own Levanter ledgers.

    Raises:
        StoreError: the lake does not answer.
    """
    claims = Claims(store, place, parts)
    wrong = [*claims.against(documents), *claims.parts_agree()]
    facts = _compared(documents) | {"parts": len(parts), "tokens": sum(part.counts.get("tokens", 0) for part in parts)}
    if wrong:
        facts |= {"troubles": len(wrong), "first": wrong[0].what}
        text = f"{wrong[0].path}: {wrong[0].what}; {wrong[0].mend}"
        return Verdict("cache_complete", passed=False, description=text, metadata=facts)
    text = f"{facts['rows']:,} rows of {len(documents)} shards lie in {len(parts)} parts, once each"
    return Verdict("cache_complete", passed=True, description=text, metadata=facts)


MEND = "make this slice of the token cache again"


class Claims:
    """The parts of one slice, as its table has them. Nothing but small objects and a listing is read."""

    def __init__(self, store: Store, place: Place, parts: Sequence[Shard]) -> None:
        self._store, self._place, self._parts = store, place, parts
        self._records = part_records(parts)

    def against(self, documents: Sequence[Shard]) -> Iterator[Finding]:
        """Whether every shard of the documents lies in exactly one part, with all its rows, and no other does."""
        table = self._place.table
        holders: dict[str, list[str]] = {}
        for name, record in self._records.items():
            for held in record.shards:
                holders.setdefault(held, []).append(name)
        for shard in documents:
            names = holders.pop(shard.name, [])
            if len(names) != 1:
                where = f"in the parts {' and '.join(names)}" if names else "in no part"
                yield Finding(table, None, f"shard {shard.name} of the mix lies {where}, not in exactly one", MEND)
                continue
            old = self._records[names[0]].shards[shard.name]
            if old.content != shard.content:
                yield Finding(table, None, f"shard {shard.name} was tokenized from another content than it has", MEND)
            if old.documents != shard.rows:
                what = f"shard {shard.name} has {shard.rows} documents, its part {names[0]} {old.documents}"
                yield Finding(table, None, what, MEND)
        for name, names in sorted(holders.items()):
            yield Finding(table, None, f"shard {name} of the part {names[0]} is none of the mix's", MEND)

    def parts_agree(self) -> Iterator[Finding]:
        """Whether each part is all there, as long as its table's row says, and says the same of itself."""
        there = {
            entry.path: entry.size for split in SPLITS for entry in self._store.list(self._place.part_folder(split))
        }
        for part in self._parts:
            record = self._records.get(part.name)
            if record is None:
                yield Finding(self._place.table, None, f"part {part.name}: its row names no folders and shards", MEND)
                continue
            yield from _objects(record, there)
            for split, folder in sorted(record.folders.items()):
                yield from self._split(part, record, split, folder)
            yield from _sums(self._place, part, record)

    def _split(self, part: Shard, record: PartRecord, split: str, folder: str) -> Iterator[Finding]:
        spots = record.in_order(split)
        path = folder + LEDGER_NAME
        rows, tokens, broken = 0, 0, ""
        for name, (first, count, start, length) in spots:
            if (first, start) != (rows, tokens):
                broken = broken or f"shard {name} begins at row {first} and token {start}, not at {rows} and {tokens}"
            rows, tokens = first + count, start + length
        said = (part.counts.get(f"{split} rows", -1), part.counts.get(f"{split} tokens", -1))
        if broken or (rows, tokens) != said:
            what = broken or f"its shards end at row {rows} and token {tokens}, but its counts are {said}"
            yield Finding(self._place.table, None, f"part {part.name}, {split}: {what}", MEND)
        found = self._store.read_tagged(path)
        if found is None:
            return  # a missing object was named above
        try:
            ledger = load_ledger(found[0], path)
        except DataError as error:
            yield Finding(path, None, str(error), MEND)
            return
        yield from _levanter(path, ledger, spots, (rows, tokens))


def _objects(record: PartRecord, there: Mapping[str, int]) -> Iterator[Finding]:
    for path, (_, size) in sorted(record.objects.items()):
        if path not in there:
            yield Finding(path, None, "there is no such object, but the ledger names it", MEND)
        elif there[path] != size:
            yield Finding(path, None, differs("the object's bytes are", there[path], size), MEND)
    for split, folder in sorted(record.folders.items()):
        if folder + LEDGER_NAME not in record.objects:
            yield Finding(folder + LEDGER_NAME, None, f"the part's {split} has no ledger in the table", MEND)


def _sums(place: Place, part: Shard, record: PartRecord) -> Iterator[Finding]:
    """What the table's row says twice."""
    expected = {
        "rows": sum(old.rows for old in record.shards.values()),
        "tokens": sum(spot[3] for old in record.shards.values() for spot in old.ranges.values()),
        "bytes": record.bytes,
    }
    said = {"rows": part.rows, "tokens": part.counts.get("tokens", 0), "bytes": part.bytes}
    for what, number in expected.items():
        if said[what] != number:
            yield Finding(place.table, None, f"part {part.name}: {said[what]} {what}, but they sum to {number}", MEND)


def ids_of(counts: Mapping[str, int]) -> int:
    """Tokens, of a Levanter ledger's counts by field: ids come first, whatever their name."""
    return next(iter(counts.values()), 0)


def _levanter(
    path: str, ledger: LevanterLedger, spots: Sequence[tuple[str, Range]], ends: tuple[int, int]
) -> Iterator[Finding]:
    """Whether a part's own ledger says what ours says of it."""
    if not ledger["is_finished"] or ledger["layout"] != "consolidated":
        yield Finding(path, None, "it is not the ledger of a finished consolidated cache", MEND)
    if ledger["shard_rows"] != {name: spot[1] for name, spot in spots}:
        yield Finding(path, None, "its shards and their rows are not those of our ledger", MEND)
        return
    begin = 0
    firsts = {name: spot[0] for name, spot in spots}
    for name in ledger["finished_shards"]:
        if firsts[name] != begin:
            yield Finding(path, None, f"shard {name} begins at row {begin} here, at {firsts[name]} in our ledger", MEND)
            return
        begin += ledger["shard_rows"][name]
    found = ledger["total_num_rows"], ids_of(ledger["field_counts"])
    if found != ends:
        yield Finding(path, None, f"{found[0]} rows and {found[1]} tokens, {ends[0]} and {ends[1]} in our ledger", MEND)
