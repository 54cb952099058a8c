"""The audit of token ids: encodes the documents of a token cache again, with the reference tokenizer.

A fast engine is used if it agrees with the reference on probe texts. This audit compares them on the data themselves.
The reference has a fifteenth to a thirtieth of the speed. So a share of the shards is drawn.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gristmill.errors import DataError
from gristmill.execution.finding import Finding, guarded
from gristmill.execution.work import Say
from gristmill.formats.levanter.cache import CacheReader, ranges_of
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, load_ledger
from gristmill.lake.address import Place, mix_asset, place
from gristmill.lake.asset_kinds import names_of
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Shard
from gristmill.lake.ledger.shard_sample import ShardSample
from gristmill.lake.rows.batches import read_rows
from gristmill.lake.rows.bitmap import unpack_bits
from gristmill.lake.store.protocol import Store
from gristmill.recipes.row_format import format_of
from gristmill.recipes.tokenizer import options_of
from gristmill.stages.token_cache.part import PartRecord, PartShard, part_records
from gristmill.stages.token_cache.part_table import MEND
from gristmill.stages.token_cache.row_encoder import row_encoder
from gristmill.stages.token_cache.rows import RowEncoder
from gristmill.stages.tokenization.files import read_tokenizer


def reencoding_findings(
    store: Store, partition: Place, sample: ShardSample, say: Say, encoded: set[str]
) -> Iterator[Finding]:
    """Findings on documents whose rows differ from the rows of the reference tokenizer.

    Args:
        store: the lake.
        partition: a slice of a token cache.
        sample: draws the shards of the mix.
        say: receives the number of documents that were compared.
        encoded: gets the names of the shards whose documents were compared.

    Raises:
        DataError: the slice or its tokenizer do not exist, a shard has changed since, or a part cannot be read.
    """
    head, parts = read_ledger(store, partition)
    names = names_of(partition.asset)
    documents = place(mix_asset(names["mix"], names["stream"]), partition.snapshot)
    records = list(part_records(parts).values())
    compared: list[int] = []
    if records:
        encoder = _encoder(store, head.recipe.parameters, names["tokenizer"], records[0])
        rows = {shard.name: shard for shard in read_ledger(store, documents)[1]}
        for record in records:
            readers = {s: CacheReader(ranges_of(store), f.rstrip("/")) for s, f in record.folders.items()}
            for name, old in sorted(record.shards.items()):
                if not sample.has(partition.snapshot, name):
                    continue
                shard = rows.get(name)
                if shard is None or shard.identity != old.content:
                    raise DataError(f"{partition.asset} ({partition.snapshot}): shard {name} has changed since; {MEND}")
                if not old.is_counted:
                    say(f"{partition.asset} ({partition.snapshot}): shard {name} was made by version 0.1; not compared")
                    continue
                again = _of_shard(store, documents.shard(name), shard, old, (encoder, readers, compared))
                yield from guarded(store, partition.ledger, again)
                encoded.add(name)
    say(f"{partition.asset} ({partition.snapshot}): {sum(compared)} documents encoded again")


def _of_shard(
    store: Store,
    path: str,
    shard: Shard,
    old: PartShard,
    how: tuple[RowEncoder, dict[str, CacheReader], list[int]],
) -> Iterator[Finding]:
    """Findings on the documents of a shard. `how`: the encoder, the part's readers, and takes the numbers."""
    encoder, readers, compared = how
    places = _places(old, shard.rows)
    for first, batch in read_rows(store, path, shard.sha256, encoder.row_type):
        drawn = [number for number in range(len(batch)) if places[first + number][1] >= 0]
        chosen = [places[first + number] for number in drawn]
        yield from _compared(encoder, [batch[n] for n in drawn], chosen, readers, path, [first + n for n in drawn])
        compared.append(len(drawn))


def _encoder(store: Store, parameters: dict[str, Any], tokenizer: str, record: PartRecord) -> RowEncoder:
    """The encoder of the recipe's rows, with the reference engine."""
    declared = parameters["format"]
    path = next(iter(record.folders.values())) + LEDGER_NAME
    metadata = load_ledger(store.read(path), path)["metadata"]["preprocessor_metadata"] or {}
    options = options_of(parameters, metadata.get("chat_template"))
    _, data = read_tokenizer(store, tokenizer)
    kind = format_of({"type": "text"} if declared == "text" else declared)
    return row_encoder(kind, tokenizer, data, options, reference=True)[
        0
    ]  # the reference itself, not what is kept of it


def _places(old: PartShard, rows: int) -> list[tuple[str, int]]:
    """(split, row in the part) of each document of a shard; row -1 if the document has no row."""
    held = unpack_bits(old.held, rows) if old.held else np.zeros(rows, np.bool_)
    dropped = set(old.dropped)
    next_row = {split: bounds[0] for split, bounds in old.ranges.items()}
    places: list[tuple[str, int]] = []
    for number, flag in enumerate(held.tolist()):
        split = "validation" if flag else "train"
        if number in dropped:
            places.append((split, -1))
            continue
        places.append((split, next_row[split]))
        next_row[split] += 1
    return places


def _compared(
    encoder: RowEncoder,
    documents: Sequence[Any],
    places: Sequence[tuple[str, int]],
    readers: dict[str, CacheReader],
    path: str,
    rows: Sequence[int],
) -> Iterator[Finding]:
    """Findings on documents whose rows in the cache differ from those that the encoder makes."""
    if not documents:
        return
    encoded = encoder(documents)
    for field, (flat, lengths) in encoded.fields.items():
        expected = np.split(flat, np.cumsum(lengths)[:-1])
        for values, (split, row), number in zip(expected, places, rows, strict=True):
            stored = readers[split].row(field, row)
            if not np.array_equal(values, stored):
                length = min(len(values), len(stored))
                differ = np.flatnonzero(values[:length] != stored[:length])
                token = int(differ[0]) if len(differ) else length
                what = (
                    f"its {field} in the cache differ from the reference tokenizer's at token {token}"
                    f" ({split} row {row})"
                )
                yield Finding(path, number, what)
