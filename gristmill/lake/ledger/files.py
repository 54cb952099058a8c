"""The ledger: what a finished partition holds, written last, so that its presence means finished.

The head is one JSON object a partition; the table has a row a shard. Neither holds a clock, a machine's path or an
etag: those stand in the note beside them, outside every fingerprint (docs/ledger.md).
"""

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from gristmill.errors import DataError, RecipeError, StoreError, shorten
from gristmill.lake.address import Place, place_of_ledger
from gristmill.lake.asset_kinds import LEDGER_TOPS
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.counts import sum_counts
from gristmill.lake.ledger.model import Ledger, Recipe, Shard, TableDigest, Upstream
from gristmill.lake.ledger.renamed import current_head, current_shard
from gristmill.lake.rows.shard_file import gzip_bytes, rows_of, unpacked
from gristmill.lake.store.protocol import Store

SCHEMA = 1


_encoder = msgspec.json.Encoder(order="sorted")


def dump(value: Any) -> bytes:
    """Canonical JSON of a struct: keys sorted, no spaces."""
    return _encoder.encode(value)


def fingerprint_of(place: Place, recipe: Recipe, inputs: Iterable[Upstream], shards: Iterable[Shard]) -> str:
    """sha256 over what the partition is and came from: never over compressed bytes, paths or clocks."""
    return digest_of(
        {
            "asset": place.asset,
            "snapshot": place.snapshot,
            "recipe": recipe.digest,
            "inputs": sorted([i.asset, i.snapshot, i.fingerprint] for i in inputs),
            "shards": [[s.name, s.rows, s.content, s.ids] for s in shards],
        }
    )


def table_bytes(shards: Iterable[Shard]) -> bytes:
    """The table's lines, uncompressed."""
    return b"".join(dump(shard) + b"\n" for shard in shards)


def compose(
    place: Place, recipe: Recipe, inputs: tuple[Upstream, ...], shards: list[Shard], lines: bytes | None = None
) -> Ledger:
    """The head over a table; `shards` are sorted by name, `lines` their table_bytes if somebody has them."""
    inputs = tuple(sorted((_with_fingerprint(i, shards) for i in inputs), key=lambda i: (i.asset, i.snapshot)))
    totals = {
        "shards": len(shards),
        "rows": sum(s.rows for s in shards),
        "bytes": sum(s.bytes for s in shards),
        "length": sum(s.length for s in shards),
        **sum_counts(s.counts for s in shards),
    }
    refused = sum(s.quarantine.rows for s in shards if s.quarantine)
    if refused:
        totals["quarantined"] = refused
    lines = table_bytes(shards) if lines is None else lines
    return Ledger(
        schema=SCHEMA,
        asset=place.asset,
        snapshot=place.snapshot,
        fingerprint=fingerprint_of(place, recipe, inputs, shards),
        recipe=recipe,
        inputs=inputs,
        totals=totals,
        dropped=sum_counts(s.dropped for s in shards),
        table=TableDigest(shards=len(shards), sha256=hashlib.sha256(lines).hexdigest()),
    )


def _with_fingerprint(upstream: Upstream, shards: Iterable[Shard]) -> Upstream:
    if upstream.fingerprint:
        return upstream
    read = sorted([i.shard, i.content] for s in shards for i in s.inputs if i.asset == upstream.asset)
    return Upstream(upstream.asset, upstream.snapshot, digest_of(read))


def parse_head(data: bytes, path: str) -> Ledger:
    """The head from its bytes; DataError if they are no ledger that this version reads."""
    try:
        ledger = msgspec.json.decode(data, type=Ledger)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path}: not a ledger ({error}); remove it and run its asset again, which keeps every good shard"
        ) from error
    if ledger.schema not in {SCHEMA - 1, SCHEMA}:
        raise DataError(f"{path}: ledger schema {ledger.schema}; this Gristmill reads {SCHEMA}: upgrade it")
    return current_head(ledger)


def read_head(store: Store, place: Place) -> Ledger | None:
    """The head of a partition, or None while it is not finished."""
    found = store.read_tagged(place.ledger)
    return parse_head(found[0], place.ledger) if found else None


def parse_table(data: Iterable[bytes], path: str) -> list[Shard]:
    """The table's rows from blocks of its lines."""
    decoder = msgspec.json.Decoder(Shard)
    shards: list[Shard] = []
    for block in data:
        try:
            shards.extend(map(current_shard, decoder.decode_lines(block)))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DataError(f"{path}: not a ledger's table ({error}); run its asset again") from error
    return shards


def recorded_rows(lines: bytes) -> list[Shard]:
    """The rows of a table under the names that stand in it, which may be those of an earlier version."""
    return msgspec.json.Decoder(Shard).decode_lines(lines)


def table_lines(store: Store, place: Place) -> bytes:
    """The table's lines, uncompressed; empty if there is no table.

    Raises:
        DataError: the object is not valid gzip.
    """
    found = store.read_tagged(place.table)
    return b"".join(unpacked([found[0]], place.table)) if found else b""


def read_table(store: Store, place: Place) -> list[Shard]:
    """All rows of the table, whatever the head says of it; none if there is no table."""
    lines = table_lines(store, place)
    return parse_table([lines] if lines else [], place.table)


def read_ledger(store: Store, place: Place) -> tuple[Ledger, list[Shard]]:
    """Head and table of a finished partition.

    Raises:
        DataError: it is not finished.
        StoreError: the table is not the one the head names: it is being rebuilt.
    """
    found = find_ledger(store, place)
    if found is None:
        raise DataError(f"{place.asset}: snapshot {place.snapshot} is not there yet; materialize it first")
    return found


def find_ledger(store: Store, place: Place) -> tuple[Ledger, list[Shard]] | None:
    """Head and table of a partition, or None while it is not finished; errors are those of read_ledger."""
    head = read_head(store, place)
    if head is None:
        return None
    lines = table_lines(store, place)
    if hashlib.sha256(lines).hexdigest() != head.table.sha256:
        raise StoreError(f"{place.table}: not the table that the ledger names: it is being rebuilt; try again")
    return head, parse_table([lines] if lines else [], place.table)


def pack_table(shards: Iterable[Shard]) -> bytes:
    """The table as its object's bytes."""
    return gzip_bytes(table_bytes(shards))


def changed_fields(old: Recipe, new: Recipe) -> list[str]:
    """What differs between two recipes: name, version, and parameters by name."""
    names = sorted(set(old.parameters) | set(new.parameters))
    changed = [n for n in names if old.parameters.get(n) != new.parameters.get(n)]
    return [n for n in ("name", "version") if getattr(old, n) != getattr(new, n)] + changed


def check_same_recipe(old: Recipe, new: Recipe, place: Place) -> None:
    """A name never changes its meaning.

    Raises:
        RecipeError: the recipe differs from the one in the ledger, and is no draft; names the changed fields.
    """
    if old.digest == new.digest or new.draft:
        return
    shown = "; ".join(
        f"{n} was {shorten(repr(getattr(old, n, old.parameters.get(n))))},"
        f" is {shorten(repr(getattr(new, n, new.parameters.get(n))))}"
        for n in changed_fields(old, new)
    )
    raise RecipeError(
        f"{place.asset} ({place.snapshot}) was made by another recipe of the same name: {shown}."
        " Declare the change under the next number (or version), or mark the recipe draft=True"
    )


def list_ledgers(store: Store, prefix: str = "") -> list[Place]:
    """The places of all finished partitions below a prefix, sorted by ledger path."""
    tops = [prefix] if prefix else LEDGER_TOPS
    found = (place_of_ledger(entry.path) for top in tops for entry in store.list(top))
    return sorted((p for p in found if p), key=lambda p: p.ledger)


def unpack_rows(data: bytes) -> list[bytes]:
    """Lines of a small JSON-lines object."""
    return rows_of(data if data.endswith(b"\n") else data + b"\n") if data else []
