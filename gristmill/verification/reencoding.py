"""The audit of token ids: encodes the documents of a token cache again, with the reference tokenizer.

A fast engine is used if it agrees with the reference on probe texts. This audit compares them on the data themselves.
The reference has a fifteenth to a thirtieth of the speed. So a share of the shards is drawn.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gristmill.errors import DataError
from gristmill.execution.finding import Finding, guard_proof
from gristmill.execution.mend import how_to_replace
from gristmill.execution.work import Say
from gristmill.formats.levanter.cache import CacheReader, range_reader_of_store
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, load_ledger
from gristmill.lake.address import Place, mix_asset, place
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.adopted import ShardFile, open_shard
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Shard
from gristmill.lake.ledger.shard_sample import ShardSample
from gristmill.lake.rows.bitmap import unpack_bits
from gristmill.lake.store.protocol import Store
from gristmill.recipes.row_format import format_from_mapping
from gristmill.recipes.tokenizer import read_tokenizer_options
from gristmill.stages.token_cache.part import PartRecord, PartShard, Range, part_records
from gristmill.stages.token_cache.part_table import MEND
from gristmill.stages.token_cache.row_encoder import row_encoder
from gristmill.stages.token_cache.rows import Fields, Values
from gristmill.stages.token_cache.shard_tokenizer import ShardTokenizer
from gristmill.stages.token_cache.statistics import TokenStatistics
from gristmill.stages.tokenization.files import read_tokenizer


def reencoding_findings(
    store: Store, partition: Place, sample: ShardSample, say: Say, encoded: set[str]
) -> Iterator[Finding]:
    """Findings on documents whose rows differ from the rows of the reference tokenizer.

    Args:
        store: the lake.
        partition: a slice of a token cache.
        sample: sample that draws the shards of the mix.
        say: function that receives the number of documents that were compared.
        encoded: set that receives the names of the shards whose documents were compared.

    Raises:
        DataError: the slice or its tokenizer do not exist, a shard has changed since, or a part cannot be read.
    """
    head, parts = read_ledger(store, partition)
    names = names_in_asset_address(partition.asset)
    documents = place(mix_asset(names["mix"], names["stream"]), partition.snapshot)
    records = list(part_records(parts).values())
    compared = 0
    if records:
        tokenizer, made = _reference_tokenizer(store, head.recipe.parameters, names["tokenizer"], records[0])
        yield from _part_metadata_findings(store, records, made, say)
        rows = {shard.name: shard for shard in read_ledger(store, documents)[1]}
        for record in records:
            readers = {s: CacheReader(range_reader_of_store(store), f.rstrip("/")) for s, f in record.folders.items()}
            for name, old in sorted(record.shards.items()):
                if not sample.contains_shard(partition.snapshot, name):
                    continue
                shard = rows.get(name)
                if shard is None or shard.identity != old.content:
                    raise DataError(f"{partition.asset} ({partition.snapshot}): shard {name} has changed since; {MEND}")
                if not old.is_counted:
                    say(f"{partition.asset} ({partition.snapshot}): shard {name} was made by version 0.1; not compared")
                    continue
                file = open_shard(store, documents, shard)
                stored = _StoredShard(file, partition.table, old, readers, how_to_replace(store, partition.table))
                yield from guard_proof(store, partition.ledger, stored.reencoding_findings(tokenizer))
                compared += stored.documents
                encoded |= {name} if stored.is_encoded else set()
    say(f"{partition.asset} ({partition.snapshot}): {compared} documents encoded again")


class _StoredRows:
    """The rows of a shard in one split of the cache, compared with those that are encoded again, in order.

    Attributes:
        rows: how many rows were compared.
        other: the first that differs: its number among these, and what differs; None while all are the same.
    """

    def __init__(self, reader: CacheReader, bounds: Range) -> None:
        self._reader, (self._first, self._count, *_) = reader, bounds
        self.rows = 0
        self.other: tuple[int, str] | None = None

    def append_batch(self, batch: Fields) -> None:
        """Compares the next rows."""
        for field, (flat, lengths) in batch.items():
            for number, values in enumerate(np.split(flat, np.cumsum(lengths)[:-1]), start=self.rows):
                if self.other is None and number < self._count and len(lengths):
                    self._compare_field_values(field, number, values)
        self.rows += len(next(iter(batch.values()))[1])

    def _compare_field_values(self, field: str, number: int, values: Values) -> None:
        stored = self._reader.row(field, self._first + number)
        if not np.array_equal(values, stored):
            length = min(len(values), len(stored))
            differ = np.flatnonzero(values[:length] != stored[:length])
            token = int(differ[0]) if len(differ) else length
            what = f"its {field} in the cache differ from the reference tokenizer's at token {token}"
            self.other = number, what


class _StoredShard:
    """A shard of a mix as a part of the cache has it, compared with what the reference tokenizer makes of it.

    Attributes:
        is_encoded: whether all of its documents were encoded again.
        documents: how many there are.
    """

    def __init__(
        self, file: ShardFile, table: str, old: PartShard, readers: Mapping[str, CacheReader], mend: str
    ) -> None:
        self._file, self._table, self._old = file, table, old
        self._mend = mend  # of the cache: the document that a finding names is sound
        self._splits = {split: _StoredRows(readers[split], bounds) for split, bounds in old.ranges.items()}
        self._findings: list[Finding] = []
        self.is_encoded, self.documents = False, 0

    def reencoding_findings(self, tokenizer: ShardTokenizer) -> Iterator[Finding]:
        """Findings on rows that differ, on documents in another split or without a row, and on statistics."""
        tokenizer.tokenize_shard(self._file, self._splits, self._check_shard_end)
        yield from self._findings

    def _check_shard_end(self, shard: Shard, facts: TokenStatistics, dropped: tuple[int, ...], held: str) -> None:
        old = self._old
        self.is_encoded, self.documents = True, shard.rows
        places = _document_splits(shard.rows, dropped, held)
        recorded = _document_splits(shard.rows, old.dropped, old.held)
        other = next((n for n, pair in enumerate(zip(places, recorded, strict=True)) if pair[0] != pair[1]), None)
        if other is not None:
            what = f"the ledger says that its row is in {recorded[other]}, but encoded again it is in {places[other]}"
            self._findings.append(Finding(self._file.path, other, what, self._mend))
            return
        for split, stored in self._splits.items():
            rows = [number for number, place in enumerate(places) if place == split]
            if stored.other:
                number, what = stored.other
                row = old.ranges[split][0] + number
                self._findings.append(Finding(self._file.path, rows[number], f"{what} ({split} row {row})", self._mend))
            if stored.rows != old.ranges[split][1]:
                what = f"shard {shard.name}: it has {old.ranges[split][1]} rows in {split}, encoded again {stored.rows}"
                self._findings.append(Finding(self._table, None, what))
        if facts != old.facts:
            self._findings.append(
                Finding(self._table, None, f"shard {shard.name}: its statistics are not those of its documents")
            )


def _document_splits(rows: int, dropped: Collection[int], held: str) -> list[str]:
    """The split of each document of a shard, or `no split`."""
    flags = unpack_bits(held, rows) if held else np.zeros(rows, np.bool_)
    places = ["validation" if flag else "train" for flag in flags.tolist()]
    for number in dropped:
        if 0 <= number < rows:
            places[number] = "no split"
    return places


def _reference_tokenizer(
    store: Store, parameters: dict[str, Any], name: str, record: PartRecord
) -> tuple[ShardTokenizer, Mapping[str, Any]]:
    """Tokenizes as the recipe of the cache says, with the reference engine; and Levanter's metadata of its rows.

    Raises:
        DataError: the part has another chat template than the recipe.
    """
    declared = parameters["format"]
    path = next(iter(record.folders.values())) + LEDGER_NAME
    template = _cache_metadata(store, path).get("chat_template")
    if template is not None and digest_of(template) != parameters.get("template"):
        raise DataError(f"{path}: its chat template is not that of the recipe; {MEND}")
    options = read_tokenizer_options(parameters, template)
    _, data = read_tokenizer(store, name)
    kind = format_from_mapping({"type": "text"} if declared == "text" else declared)
    # the reference itself, not what is kept of it
    encoder, vocabulary = row_encoder(kind, name, data, options, reference=True)
    return ShardTokenizer(encoder, vocabulary, kind.on_trouble, parameters["validation"]), encoder.metadata


def _cache_metadata(store: Store, path: str) -> Mapping[str, Any]:
    return load_ledger(store.read(path), path)["metadata"]["preprocessor_metadata"] or {}


def _part_metadata_findings(
    store: Store, records: Sequence[PartRecord], made: Mapping[str, Any], say: Say
) -> Iterator[Finding]:
    """Findings on parts that say something else of their rows than the tokenizer. Older versions said less: a note."""
    for path in (folder + LEDGER_NAME for record in records for folder in record.folders.values()):
        found = _cache_metadata(store, path)
        other = sorted(key for key in found if key not in made or found[key] != made[key])
        if other:
            yield Finding(path, None, f"its {', '.join(other)} are not those of its tokenizer and its recipe")
        elif less := sorted(made.keys() - found.keys()):
            say(f"{path}: it says nothing of {', '.join(less)}, as parts of older versions; not compared")
