"""The audit of spelling: a sample of a token cache's documents, encoded once more by the reference tokenizer.

Fast engines are trusted where they agree on probes; this asks them about the data themselves. It costs the reference's
time (a fifteenth to a thirtieth of the speed), so a share of the documents is drawn by a hash of (source, id).
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gristmill.errors import DataError
from gristmill.execution.finding import Finding
from gristmill.execution.work import Say
from gristmill.formats.levanter.cache import CacheReader, ranges_of
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, load_ledger
from gristmill.lake.address import Place, mix_asset, place
from gristmill.lake.asset_kinds import names_of
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.rows.batches import read_rows
from gristmill.lake.rows.bitmap import unpack_bits
from gristmill.lake.rows.draw import fraction
from gristmill.lake.store.protocol import Store
from gristmill.recipes.row_format import format_of
from gristmill.recipes.tokenizer import options_of
from gristmill.stages.token_cache.part import PartRecord, PartShard, part_records
from gristmill.stages.token_cache.part_table import MEND
from gristmill.stages.token_cache.row_encoder import row_encoder
from gristmill.stages.token_cache.rows import RowEncoder
from gristmill.stages.tokenization.files import read_tokenizer

SEED = 0x7370656C6C  # "spell": another draw than the mixes' and the validation's


def spelling_findings(store: Store, here: Place, share: float, say: Say) -> Iterator[Finding]:
    """Documents whose rows are not what the reference tokenizer makes of them.

    Args:
        store: the lake.
        here: a slice of a token cache.
        share: of the documents, above 0 and 1 at the most.
        say: takes how many were compared.

    Raises:
        DataError: the slice, its documents or its tokenizer are not there, or a part cannot be read.
    """
    head, parts = read_ledger(store, here)
    names = names_of(here.asset)
    documents = place(mix_asset(names["mix"], names["stream"]), here.snapshot)
    records = list(part_records(parts).values())
    compared = 0
    if records:
        encoder = _encoder(store, head.recipe.parameters, names["tokenizer"], records[0])
        content = {shard.name: (shard.content, shard.sha256, shard.rows) for shard in read_ledger(store, documents)[1]}
        for record in records:
            readers = {s: CacheReader(ranges_of(store), f.rstrip("/")) for s, f in record.folders.items()}
            for name, old in sorted(record.shards.items()):
                if content.get(name, ("",))[0] != old.content:
                    raise DataError(f"{here.asset} ({here.snapshot}): shard {name} has changed since; {MEND}")
                if not old.is_counted:
                    say(f"{here.asset} ({here.snapshot}): shard {name} was made by version 0.1; not compared")
                    continue
                path, sha256, rows = documents.shard(name), content[name][1], content[name][2]
                places = _places(old, rows)
                for first, found in read_rows(store, path, sha256, encoder.row_type):
                    drawn = [
                        number
                        for number, each in enumerate(found)
                        if fraction((each.source, each.id), SEED) < share and places[first + number][1] >= 0
                    ]
                    chosen = [places[first + number] for number in drawn]
                    yield from _compared(
                        encoder, [found[n] for n in drawn], chosen, readers, path, [first + n for n in drawn]
                    )
                    compared += len(drawn)
    say(f"{here.asset} ({here.snapshot}): {compared} documents encoded once more")


def _encoder(store: Store, parameters: dict[str, Any], tokenizer: str, record: PartRecord) -> RowEncoder:
    """The encoder of the recipe's rows, by the reference engine."""
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
    """Split and row of each document of a shard; row -1 if it has none."""
    held = unpack_bits(old.held, rows) if old.held else np.zeros(rows, np.bool_)
    dropped = set(old.dropped)
    following = {split: spot[0] for split, spot in old.ranges.items()}
    found: list[tuple[str, int]] = []
    for number, flag in enumerate(held.tolist()):
        split = "validation" if flag else "train"
        if number in dropped:
            found.append((split, -1))
            continue
        found.append((split, following[split]))
        following[split] += 1
    return found


def _compared(
    encoder: RowEncoder,
    documents: Sequence[Any],
    places: Sequence[tuple[str, int]],
    readers: dict[str, CacheReader],
    path: str,
    rows: Sequence[int],
) -> Iterator[Finding]:
    """What differs in some documents of a block."""
    if not documents:
        return
    made = encoder(documents)
    for field, (flat, lengths) in made.fields.items():
        expected = np.split(flat, np.cumsum(lengths)[:-1])
        for values, (split, row), number in zip(expected, places, rows, strict=True):
            found = readers[split].row(field, row)
            if not np.array_equal(values, found):
                length = min(len(values), len(found))
                differ = np.flatnonzero(values[:length] != found[:length])
                at = int(differ[0]) if len(differ) else length
                what = (
                    f"its {field} in the cache differ from the reference tokenizer's at token {at} ({split} row {row})"
                )
                yield Finding(path, number, what, MEND)
