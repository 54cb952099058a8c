"""Reads and writes ledgers. A ledger is written last: if it exists, the partition is finished.

The head is one JSON object for each partition. The table has one row for each shard. Neither contains a time, a path
of a machine or an etag. These are in the run's note, which is part of no fingerprint (docs/reference/ledger.md).
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec

from gristmill.errors import DataError, OtherMaking, StoreError, shorten
from gristmill.lake.address import Place, place_of_ledger
from gristmill.lake.asset_kinds import DOCUMENTS, kind_of, names_in_asset_address
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.counts import sum_counts
from gristmill.lake.ledger.model import Ledger, Recipe, Shard, TableDigest, Upstream
from gristmill.lake.ledger.renamed import current_head, current_shard
from gristmill.lake.ledger.schema import SCHEMA, refuse_newer_schema
from gristmill.lake.ledger.walk import ledger_folders
from gristmill.lake.rows.shard_file import gzip_bytes, split_rows, unpacked_whole
from gristmill.lake.store.json_object import NOT_DECODED, decode_object, undecoded_error
from gristmill.lake.store.protocol import Store

MOST = 8
"""Number of fields that a message about changed recipes tells; the others are counted."""

_encoder = msgspec.json.Encoder(order="sorted")


def as_json(value: Any) -> bytes:
    """A struct as canonical JSON: sorted keys, no spaces."""
    return _encoder.encode(value)


def partition_fingerprint(place: Place, recipe: Recipe, inputs: Iterable[Upstream], shards: Iterable[Shard]) -> str:
    """The SHA-256 of the partition's content and origin. Compressed bytes, paths and times are not part of it."""
    return digest_of(
        {
            "asset": place.asset,
            "snapshot": place.snapshot,
            "recipe": recipe.digest,
            "inputs": sorted([i.asset, i.snapshot, i.fingerprint] for i in inputs),
            "shards": [[s.name, s.rows, s.identity, s.ids] for s in shards],
        }
    )


def table_bytes(shards: Iterable[Shard]) -> bytes:
    """The table's lines, uncompressed."""
    return b"".join(as_json(shard) + b"\n" for shard in shards)


def compose_ledger(
    place: Place, recipe: Recipe, inputs: tuple[Upstream, ...], shards: list[Shard], lines: bytes | None = None
) -> Ledger:
    """Composes the head of a ledger.

    Args:
        place: the partition.
        recipe: the recipe that made it.
        inputs: the partitions it was made from.
        shards: the rows of the table, sorted by name.
        lines: lines of the table from `table_bytes(shards)`, if the caller has it already.

    Returns:
        The head, with its fingerprint.
    """
    inputs = tuple(sorted((_add_fingerprint(i, shards) for i in inputs), key=lambda i: (i.asset, i.snapshot)))
    lines = table_bytes(shards) if lines is None else lines
    return Ledger(
        schema=SCHEMA,
        asset=place.asset,
        snapshot=place.snapshot,
        fingerprint=partition_fingerprint(place, recipe, inputs, shards),
        recipe=recipe,
        inputs=inputs,
        totals=table_totals(shards),
        dropped=sum_counts(s.dropped for s in shards),
        table=TableDigest(shards=len(shards), sha256=hashlib.sha256(lines).hexdigest()),
    )


def table_totals(shards: Sequence[Shard]) -> dict[str, int]:
    """The sums over the rows of a table, as the head has them."""
    totals = {
        "shards": len(shards),
        "rows": sum(s.rows for s in shards),
        "bytes": sum(s.bytes for s in shards),
        "length": sum(s.length for s in shards),
        **sum_counts(s.counts for s in shards),
    }
    refused = sum(s.quarantine.rows for s in shards if s.quarantine)
    return totals | ({"quarantined": refused} if refused else {})


def _add_fingerprint(upstream: Upstream, shards: Iterable[Shard]) -> Upstream:
    if upstream.fingerprint:
        return upstream
    read = sorted([i.shard, i.content] for s in shards for i in s.inputs if i.asset == upstream.asset)
    return Upstream(upstream.asset, upstream.snapshot, digest_of(read))


def parse_head(data: bytes, path: str) -> Ledger:
    """Decodes a head.

    Returns:
        The head, in today's form.

    Raises:
        NewerSchema: a newer version of Gristmill wrote it.
        DataError: the bytes are not a ledger, or have a schema that this version does not read any more.
    """
    refuse_newer_schema(data, path)
    mend = "remove it and run its asset again, which keeps every good shard"
    ledger = decode_object(data, Ledger, path, "a ledger", mend)
    if ledger.schema not in {SCHEMA - 1, SCHEMA}:
        raise DataError(
            f"{path}: has schema {ledger.schema}, which no Gristmill wrote; remove it and run its asset again"
        )
    try:
        ledger.recipe.digest  # noqa: B018 - raises if an option is no value that a digest takes
    except TypeError as error:
        raise undecoded_error(error, path, "a ledger", mend) from error
    return current_head(ledger)


def read_head(store: Store, place: Place) -> Ledger | None:
    """The head of a partition, or None if it is not finished; raises the same errors as `parse_head`."""
    tagged = store.read_tagged(place.ledger)
    return parse_head(tagged[0], place.ledger) if tagged else None


def parse_table(data: Iterable[bytes], path: str) -> list[Shard]:
    """Decodes the rows of a table from blocks of whole lines.

    Returns:
        The rows, one for each shard.

    Raises:
        DataError: a line is not a row of a table.
    """
    decoder = msgspec.json.Decoder(Shard)
    shards: list[Shard] = []
    for block in data:
        try:
            rows = [current_shard(row) for row in decoder.decode_lines(block)]
            for row in rows:
                row.objects  # noqa: B018 - raises if they are of another type
            shards += rows
        except NOT_DECODED as error:
            raise undecoded_error(error, path, "a ledger's table", "run its asset again") from error
    return shards


def recorded_rows(lines: bytes) -> list[Shard]:
    """The rows of a table under the names that it has, which may be those of an earlier version."""
    return msgspec.json.Decoder(Shard).decode_lines(lines)


def table_lines(store: Store, place: Place) -> bytes:
    """The table's lines, uncompressed; empty if there is no table.

    Raises:
        DataError: the object is wrong gzip.
    """
    tagged = store.read_tagged(place.table)
    return unpacked_whole(tagged[0], place.table) if tagged else b""


def read_table(store: Store, place: Place) -> list[Shard]:
    """All rows of the table, without a comparison with the head; empty if there is no table."""
    lines = table_lines(store, place)
    return parse_table([lines] if lines else [], place.table)


def read_ledger(store: Store, place: Place) -> tuple[Ledger, list[Shard]]:
    """The head and table of a finished partition.

    Raises:
        DataError: the partition is not finished, or its ledger is wrong: also if the table is not the one that the
            head names, although no run is at work.
        StoreError: the table is not the one that the head names; the partition is being rebuilt.
    """
    ledger = find_head_and_table(store, place)
    if ledger is None:
        raise DataError(f"{place.asset}: snapshot {place.snapshot} is not there yet; make it first")
    return ledger


def find_head_and_table(store: Store, place: Place) -> tuple[Ledger, list[Shard]] | None:
    """The head and table of a partition, or None if it is not finished; raises the same errors as `read_ledger`."""
    head = read_head(store, place)
    if head is None:
        return None
    lines = table_lines(store, place)
    if hashlib.sha256(lines).hexdigest() != head.table.sha256:
        raise _table_mismatch_error(store, place, head)
    return head, parse_table([lines] if lines else [], place.table)


TORN = "one of them was torn or changed by hand; restore it, or run its asset again, which writes both"
"""Why a head and a table do not belong together although no run is at work, and the mend."""


def _table_mismatch_error(store: Store, place: Place, head: Ledger) -> DataError | StoreError:
    """The error for a table that is not the one that the head names. A run at work changes both, one after another."""
    if store.head(place.claim_path) is None and read_head(store, place) == head:
        return DataError(f"{place.table}: not the table that the ledger names: {TORN}")
    return StoreError(f"{place.table}: not the table that the ledger names: partition being rebuilt; try again")


def pack_table(shards: Iterable[Shard]) -> bytes:
    """The table's object: its lines, compressed."""
    return gzip_bytes(table_bytes(shards))


def changed_fields(old: Recipe, new: Recipe) -> list[str]:
    """The names of the fields in which two recipes differ: `name`, `version`, and parameters."""
    names = sorted(set(old.parameters) | set(new.parameters))
    changed = [n for n in names if old.parameters.get(n) != new.parameters.get(n)]
    return [n for n in ("name", "version") if getattr(old, n) != getattr(new, n)] + changed


def distinguish_changed_fields(old: Recipe, new: Recipe) -> list[str]:
    """The changed fields of two recipes; if no value has changed, the parameters that JSON writes in another way.

    Python takes 1, 1.0 and True as equal, and so their recipes; their digests differ.

    >>> distinguish_changed_fields(Recipe("a-1", 1, {"rate": 1}), Recipe("a-1", 1, {"rate": 1.0}))
    ['rate']
    """
    names = sorted(set(old.parameters) | set(new.parameters))
    apart = [n for n in names if _differ_as_json(old.parameters.get(n, ABSENT), new.parameters.get(n, ABSENT))]
    return changed_fields(old, new) or apart


class _Absent:
    """Stands for a parameter that a recipe does not have."""

    def __repr__(self) -> str:
        """The word for messages."""
        return "absent"


ABSENT = _Absent()


def _differ_as_json(old: object, new: object) -> bool:
    """Whether JSON writes two values in different ways."""
    return (old is not new) if ABSENT in (old, new) else digest_of(old) != digest_of(new)


def change_in_words(name: str, old: object, new: object) -> str:
    """The change of a field in words, for messages. Of two mappings only the keys that differ are told.

    Args:
        name: name of the field.
        old: its value before.
        new: its value now.

    >>> change_in_words("format", {"key": "id", "parts": {"txt": "text"}}, {"key": "", "parts": {"txt": "text"}})
    "format.key was 'id', is ''"
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping) and old and new:
        pairs = {key: (old.get(key, ABSENT), new.get(key, ABSENT)) for key in sorted(old.keys() | new.keys())}
        keys = [key for key, pair in pairs.items() if _differ_as_json(*pair)]
        told = [change_in_words(f"{name}.{key}", *pairs[key]) for key in keys[:MOST]]
        return "; ".join([*told, f"and {len(keys) - MOST} more of {name}"] if len(keys) > MOST else told)
    was, is_ = shorten_with_difference(repr(old), repr(new))
    return f"{name} was {was}, is {is_}"


def shorten_with_difference(one: str, other: str, most: int = 80) -> tuple[str, str]:
    """Both texts for a message, each of at most `most` characters; long ones begin near the place where they differ.

    >>> shorten_with_difference("aaaaaaaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaaaaaaac", most=12)
    ('...aaaaaab', '...aaaaaac')
    """
    same = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    cut = same - most // 2
    if cut <= 0 or max(len(one), len(other)) <= most:
        return shorten(one, most), shorten(other, most)
    return f"...{shorten(one[cut:], most - 3)}", f"...{shorten(other[cut:], most - 3)}"


def changes_in_words(old: Recipe, new: Recipe) -> str:
    """The fields in which two recipes differ, with both values of each, for messages.

    Args:
        old: the recipe in a ledger.
        new: the declared recipe.

    >>> changes_in_words(Recipe("a-1", 1, {"size": 300, "eos": "|"}), Recipe("a-1", 1, {"size": 400, "eos": "|"}))
    'size was 300, is 400'
    """
    names = distinguish_changed_fields(old, new)
    told = [
        change_in_words(
            n, getattr(old, n, old.parameters.get(n, ABSENT)), getattr(new, n, new.parameters.get(n, ABSENT))
        )
        for n in names[:MOST]
    ]
    return "; ".join([*told, f"and {len(names) - MOST} more fields"] if len(names) > MOST else told)


def check_same_recipe(old: Recipe, new: Recipe, place: Place) -> None:
    """Checks that a recipe has not changed under its name.

    Args:
        old: the recipe in the ledger.
        new: the declared recipe.
        place: the partition, for the message.

    Raises:
        OtherMaking: the recipes differ, and one of them is not a draft; the message names the changed fields.
    """
    if old.digest == new.digest or (old.draft and new.draft):
        return
    raise OtherMaking(
        f"{place.asset} ({place.snapshot}) was made by another recipe of the same name: {changes_in_words(old, new)}."
        f" {mend_of_change(old)}"
    )


def mend_of_change(old: Recipe) -> str:
    """The mend of a changed recipe, a sentence without its end. `old`: the recipe in the ledger."""
    draft = ", or mark the recipe draft=True until this is made, and seal it then"
    mend = draft if old.draft else "; a draft replaces only what a draft made"
    return f"Declare the change under the next number (or version){mend}"


def check_made_alike(head: Ledger, recipe: Recipe, inputs: Iterable[Upstream], place: Place) -> None:
    """Checks that a finished partition would be made again by the same recipe, of the same dataset versions.

    The version that a recipe reads is no part of its digest: it decides the inputs. Sources may be added.

    Args:
        head: the head of the partition's ledger.
        recipe: the declared recipe.
        inputs: partitions that it would be made from; their fingerprints do not count.
        place: the partition, for the message.

    Raises:
        OtherMaking: the recipes differ, or the versions do, and one of both recipes is not a draft.
    """
    old = head.recipe
    check_same_recipe(old, recipe, place)
    if (old.draft and recipe.draft) or head.asset != place.asset:  # a ledger of another name was moved here by hand
        return
    if other := other_versions(head, inputs):
        raise OtherMaking(f"{place.asset} ({place.snapshot}) {other}. {mend_of_change(old)}")


def other_versions(head: Ledger, inputs: Iterable[Upstream]) -> str:
    """The words that say of which documents a finished partition was made; empty unless its recipe reads others now.

    Args:
        head: the head of its ledger.
        inputs: partitions that it would be made from; their fingerprints do not count.
    """
    before, now = _document_versions_by_source(head.inputs), _document_versions_by_source(inputs)
    shared = before.keys() & now.keys()
    if all(before[source] == now[source] for source in shared) and (shared or not (before and now)):
        return ""
    was, is_ = (", ".join(sorted(chain.from_iterable(each.values()))) for each in (before, now))
    return f"was made of {was}, and its recipe reads {is_}"


def shares_source(head: Ledger, inputs: Iterable[Upstream]) -> bool:
    """Whether a finished partition and another are made of documents of a common source, or both of no documents.

    Args:
        head: the head of its ledger.
        inputs: partitions that the other is made from.
    """
    before, now = _document_versions_by_source(head.inputs), _document_versions_by_source(inputs)
    return bool(before.keys() & now.keys()) or not (before or now)


def _document_versions_by_source(inputs: Iterable[Upstream]) -> dict[str, set[str]]:
    """The addresses of documents among inputs, by their source."""
    found: dict[str, set[str]] = {}
    for each in inputs:
        if kind_of(each.asset) is DOCUMENTS:
            found.setdefault(names_in_asset_address(each.asset)["source"], set()).add(each.asset)
    return found


def recorded_recipe(old: Recipe | None, new: Recipe) -> Recipe:
    """The declared recipe as the next ledger records it.

    What a recipe that is no draft has made never becomes the work of a draft: the mark alone would lift its protection.

    Args:
        old: the recipe in the ledger; None if there is no ledger.
        new: the declared recipe.
    """
    protected = old is not None and not old.draft and old.digest == new.digest
    return msgspec.structs.replace(new, draft=False) if protected else new


def list_ledgers(store: Store, prefix: str = "") -> list[Place]:
    """The places of all finished partitions below a prefix, sorted by the paths of their ledgers.

    Without a prefix, only folders of ledgers are listed: raw data may be millions of objects, or no files at all.
    """
    folders = [prefix] if prefix else ledger_folders(store)
    places = (place_of_ledger(entry.path) for folder in folders for entry in store.list(folder))
    return sorted((p for p in places if p), key=lambda p: p.ledger)


def unpack_rows(data: bytes) -> list[bytes]:
    """The lines of a small object of JSON lines."""
    return split_rows(data if data.endswith(b"\n") else data + b"\n") if data else []
