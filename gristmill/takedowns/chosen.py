"""Documents that are chosen by their URL, by the digest of their text, or because they are near to others.

URLs come from the columns beside documents, digests from the fingerprints of a dedupe of whole texts, near documents
from the clusters of a dedupe by MinHash. Where a first version lacks these, it was not searched; a scan reads its rows.
Those of later versions are asked too: they may be the only ones.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import xxhash

from gristmill.errors import GristmillError, RecipeError
from gristmill.lake.address import Place
from gristmill.lake.asset_kinds import DOCUMENTS, FINGERPRINTS, RAW, kind_of
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.adopted import shard_file
from gristmill.lake.ledger.derived import columns_path
from gristmill.lake.ledger.files import list_ledgers
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.batches import IdPair, TextRow
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Store
from gristmill.scores.label_columns import KEY
from gristmill.stages.fingerprints.bucket_sort import buckets_of
from gristmill.stages.fingerprints.reader import FingerprintPart
from gristmill.takedowns.places import Search
from gristmill.tracing.rows import Partition, find_partition

_DIGEST = re.compile(r"[0-9a-f]{32}")
_WHOLE_TEXT = {"unit": "document", "key": "text", "normalised": ""}
"""The parameters of fingerprints that hash whole texts as they are."""

Pairs = set[Pair]


class _UrlMetadata(msgspec.Struct):
    url: Any = None


class UrlRow(IdPair):
    """The ids of a document, and its URL."""

    metadata: _UrlMetadata | None = None

    @property
    def url(self) -> str | None:
        """Its `metadata.url`, if that is a string."""
        url = self.metadata.url if self.metadata else None
        return url if isinstance(url, str) else None


class _ContentHead(msgspec.Struct):
    content: str


def url_matcher(pattern: str) -> "re.Pattern[str]":
    """What a URL must match as a whole. `*` is any text; all other characters match themselves.

    >>> bool(url_matcher("https://tales.example/*").fullmatch("https://tales.example/a?b=*"))
    True
    """
    return re.compile(".*".join(map(re.escape, re.split(r"\*+", pattern))), re.DOTALL)


def by_url(store: Store, pattern: str, search: Search, *, scan: bool) -> Pairs:
    """The documents whose `metadata.url` matches a pattern, in a first version or in columns of a later one.

    Args:
        store: the lake.
        pattern: see url_matcher.
        search: is told what was not searched.
        scan: whether rows are read where a shard has no columns.
    """
    matches = url_matcher(pattern).fullmatch
    found: Pairs = set()

    def of_shard(partition: Partition, shard: Shard) -> bool:
        rows = _columns(store, partition.place, shard)
        if rows is None:
            return False
        found.update((source, id_) for source, id_, url in rows if url is not None and matches(url))
        return True

    def of_row(row: UrlRow) -> bool:
        return row.url is not None and matches(row.url) is not None

    found |= _each(
        store,
        search,
        of_shard,
        (UrlRow, of_row) if scan else None,
        "it has no columns with its URLs (gristmill preview makes them)",
    )
    return found


def _columns(store: Store, there: Place, shard: Shard) -> Iterator[tuple[str, str, str | None]] | None:
    """(source, id, url) of the rows of a shard; None if it has no such columns of its present content."""
    tagged = store.read_tagged(columns_path(there, shard.name))
    if tagged is None:
        return None
    import pyarrow as pa  # noqa: PLC0415 - takes 0.4 s to import
    import pyarrow.parquet as pq  # noqa: PLC0415 - the same

    try:
        file = pq.ParquetFile(pa.BufferReader(tagged[0]), page_checksum_verification=True)
        head = msgspec.json.decode((file.schema_arrow.metadata or {}).get(KEY, b""), type=_ContentHead)
        if head.content != shard.content or file.metadata.num_rows != shard.rows:
            return None
        table = file.read(columns=["source", "id", "url"])
        if table.num_columns != 3 or table.num_rows != shard.rows:
            return None
    except (pa.ArrowException, OSError, *NOT_DECODED):
        return None
    return zip(*(table[name].to_pylist() for name in ("source", "id", "url")), strict=True)


def by_content(store: Store, digest: str, search: Search, *, scan: bool) -> Pairs:
    """The documents whose text has a digest, in a first version or in fingerprints of a later one.

    Args:
        store: the lake.
        digest: XXH3-128 of the text in UTF-8, hexadecimal.
        search: is told what was not searched.
        scan: whether texts are read where a shard has no fingerprints of whole texts.

    Raises:
        RecipeError: this is no such digest.
    """
    if not _DIGEST.fullmatch(digest):
        raise RecipeError(f"--content {digest!r}: give the XXH3-128 of the text, 32 digits of 0-9 and a-f")
    prints = _fingerprints(store)
    found: Pairs = set()

    def of_shard(partition: Partition, shard: Shard) -> bool:
        part = prints.get((partition.place.asset, shard.name, shard.content))
        if part is not None:
            found.update(_in_part(*part, digest))
        return part is not None

    def of_row(row: TextRow) -> bool:
        return xxhash.xxh3_128_hexdigest(row.text.encode()) == digest

    found |= _each(store, search, of_shard, (TextRow, of_row) if scan else None, "no dedupe has its whole texts")
    return found


def _fingerprints(store: Store) -> dict[tuple[str, str, str], tuple[FingerprintPart, int]]:
    """The fingerprints of whole texts by (asset, shard, content) of the documents, with their number of buckets."""
    parts: dict[tuple[str, str, str], tuple[FingerprintPart, int]] = {}
    for there in list_ledgers(store, FINGERPRINTS.top):
        partition = find_partition(store, there) if there.kind is FINGERPRINTS else None
        if partition is None or any(partition.head.recipe.parameters.get(k) != v for k, v in _WHOLE_TEXT.items()):
            continue
        for row in partition.shards.values():
            part = FingerprintPart(store, row, there.table)
            for read in row.inputs:
                parts[read.asset, read.shard, read.content] = part, len(part.offsets) - 1
    return parts


def _in_part(part: FingerprintPart, buckets: int, digest: str) -> list[Pair]:
    high, low = np.uint64(int(digest[:16], 16)), np.uint64(int(digest[16:], 16))
    number = int(buckets_of(np.array([high], np.uint64), buckets)[0])
    bucket = part.bucket(number)
    hits = bucket.ordinals[(bucket.high == high) & (bucket.low == low)]
    if not len(hits):
        return []
    ids, spans = part.ids(), part.spans()
    return [ids[spans.of_hash(int(hit), part.row.name)[0]] for hit in hits]


def _each(
    store: Store,
    search: Search,
    of_shard: Callable[[Partition, Shard], bool],
    scan: tuple[type[Any], Callable[[Any], bool]] | None,
    why: str,
) -> Pairs:
    """Asks each shard; where `of_shard` cannot tell of a first version, its rows are read, or it is not searched."""
    found: Pairs = set()
    for partition in _versions(store, search):
        first = _is_first(partition)
        for shard in partition.shards.values():
            where = f"{partition.place.asset} ({partition.place.snapshot}), shard {shard.name}"
            try:
                if of_shard(partition, shard) or not first:
                    continue
                if scan is None:
                    search.skip("documents", where, f"{why}; --scan reads its rows")
                    continue
                row_type, is_chosen = scan
                for _, rows in shard_file(store, partition.place, shard).rows(row_type):
                    found.update(row.pair for row in rows if is_chosen(row))
            except GristmillError as error:
                search.skip("documents", where, error)
    return found


def first_versions(store: Store, search: Search) -> Iterator[Partition]:
    """The finished partitions of documents that were made from raw data. Others have no other documents.

    Args:
        store: the lake.
        search: is told which ledgers cannot be read.
    """
    return filter(_is_first, _versions(store, search))


def _is_first(partition: Partition) -> bool:
    return any(kind_of(each.asset) is RAW for each in partition.head.inputs)


def _versions(store: Store, search: Search) -> Iterator[Partition]:
    for there in list_ledgers(store):
        if there.kind is not DOCUMENTS:
            continue
        try:
            partition = find_partition(store, there)
        except GristmillError as error:
            search.skip("documents", f"{there.asset} ({there.snapshot})", error)
            continue
        if partition is not None:
            yield partition
