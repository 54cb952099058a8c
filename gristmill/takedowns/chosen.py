"""Documents that are chosen by their URL, by the digest of their text, or because they are near to others.

URLs come from the columns beside documents, digests from the fingerprints of a dedupe of whole texts, near documents
from the clusters of a dedupe by MinHash. Where a first version lacks these, it was not searched; a scan reads its rows.
So is each later version and slice of a mix that was made with edits or transforms: they make other texts and URLs.
Other slices are copies, and not asked. Other later versions are copies too, but may have the only columns.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
import xxhash

from gristmill.errors import DataError, GristmillError, RecipeError
from gristmill.lake.address import Place
from gristmill.lake.asset_kind import AssetKind
from gristmill.lake.asset_kinds import DOCUMENTS, MIX, RAW, kind_of
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.files import list_ledgers
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.batches import IdPair, TextRow
from gristmill.lake.store.protocol import Store
from gristmill.stages.fingerprints.reader import parts_of_whole_texts
from gristmill.takedowns.places import Search
from gristmill.tracing.rows import Partition, find_partition

_DIGEST = re.compile(r"[0-9a-f]{32}")
_NO_TEXT = "documents with a `metadata.url` that is neither a text nor a list of texts, but may hold URLs"

Pairs = set[Pair]


class _UrlMetadata(msgspec.Struct):
    url: Any = None


class UrlRow(IdPair):
    """The ids of a document, and its URL."""

    metadata: _UrlMetadata | None = None

    @property
    def url(self) -> str | None:
        """Its `metadata.url`, if that is a string."""
        return self.value if isinstance(self.value, str) else None

    @property
    def urls(self) -> list[str] | None:
        """Its URLs: a string, or each string of a list; None if it is another value, which may hold URLs."""
        from gristmill.scores.document_columns import may_hold_urls  # noqa: PLC0415 - pyarrow takes 0.4 s to import

        each = self.value if isinstance(self.value, list) else [self.value]
        return None if any(map(may_hold_urls, each)) else [url for url in each if isinstance(url, str)]

    @property
    def value(self) -> Any:
        """Its `metadata.url`, which may be anything."""
        return self.metadata.url if self.metadata else None


def url_matcher(pattern: str) -> "re.Pattern[str]":
    """The pattern that a URL must match as a whole. `*` is any text; all other characters match themselves.

    >>> bool(url_matcher("https://tales.example/*").fullmatch("https://tales.example/a?b=*"))
    True
    """
    return re.compile(".*".join(map(re.escape, re.split(r"\*+", pattern))), re.DOTALL)


def find_documents_by_url(store: Store, pattern: str, search: Search, *, scan: bool) -> Pairs:
    """The documents whose `metadata.url` matches a pattern, in any version or in a mix.

    Args:
        store: the lake.
        pattern: pattern of the URL, as for url_matcher().
        search: search that learns what was not searched.
        scan: whether rows are read where a shard has no columns.
    """
    matches = url_matcher(pattern).fullmatch
    found: Pairs = set()

    def of_shard(partition: Partition, shard: Shard) -> int | None:
        columns = _url_rows_of_shard(store, partition.place, shard)
        if columns is None:
            return None
        rows, unread = columns
        found.update((source, id_) for source, id_, url in rows if url is not None and matches(url))
        return unread

    def of_row(row: UrlRow) -> bool | None:
        urls = row.urls
        return None if urls is None else any(map(matches, urls))

    why = "it has no columns with its URLs (gristmill preview makes them)"
    asked = _Question(of_shard, UrlRow, of_row, why, changed_by=("transforms",))
    return found | _ask_each_shard(store, search, asked, scan=scan)


def _url_rows_of_shard(
    store: Store, there: Place, shard: Shard
) -> tuple[Iterator[tuple[str, str, str | None]], int] | None:
    """(source, id, url) of the rows of a shard, and how many have URLs that are no text.

    None if it has no such columns of its present content.
    """
    from gristmill.scores.column_file import open_document_columns  # noqa: PLC0415 - pyarrow takes 0.4 s to import

    file = open_document_columns(store, there, shard)
    if file is None:
        return None
    try:
        table = file.table(["source", "id", "url"])
    except DataError:  # damaged
        return None
    rows = zip(*(table[name].to_pylist() for name in ("source", "id", "url")), strict=True)
    return rows, file.head.unread_urls


def find_documents_by_digest(store: Store, digest: str, search: Search, *, scan: bool) -> Pairs:
    """The documents whose text has a digest, in any version or in a mix.

    Args:
        store: the lake.
        digest: XXH3-128 of the text in UTF-8, hexadecimal.
        search: search that learns what was not searched.
        scan: whether texts are read where a shard has no fingerprints of whole texts.

    Raises:
        RecipeError: this is no such digest.
    """
    if not _DIGEST.fullmatch(digest):
        raise RecipeError(f"--content {digest!r}: give the XXH3-128 of the text, 32 digits of 0-9 and a-f")
    no_text = digest == xxhash.xxh3_128_hexdigest(b"")
    prints = {} if no_text else parts_of_whole_texts(store)
    found: Pairs = set()

    def of_shard(partition: Partition, shard: Shard) -> int | None:
        part = prints.get((partition.place.asset, shard.name, shard.content))
        if part is None:
            return None
        found.update(part.with_text(digest))
        return 0

    def of_row(row: TextRow) -> bool:
        return xxhash.xxh3_128_hexdigest(row.text.encode()) == digest

    why = "no dedupe has empty texts" if no_text else "no dedupe has its whole texts"
    asked = _Question(of_shard, TextRow, of_row, why, changed_by=("edits", "transforms"))
    return found | _ask_each_shard(store, search, asked, scan=scan)


class _Question(NamedTuple):
    """What is asked of documents.

    Attributes:
        of_shard: gives the number of rows of a shard that it cannot tell of, which are read; or None if it tells of no
            row, which only a scan reads.
        row_type: type of the rows that are read.
        of_row: whether a row is chosen; None if it cannot tell.
        why: the reason why `of_shard` tells of no row.
        changed_by: the options of recipes that may give a row another answer than it had in the version before.
    """

    of_shard: Callable[[Partition, Shard], int | None]
    row_type: type[Any]
    of_row: Callable[[Any], bool | None]
    why: str
    changed_by: tuple[str, ...]

    def row_changing_options(self, partition: Partition) -> str:
        """The options that made the rows of a partition others than those that were read, in words."""
        return " and ".join(name for name in self.changed_by if partition.head.recipe.parameters.get(name))


def _ask_each_shard(store: Store, search: Search, asked: _Question, *, scan: bool) -> Pairs:
    """Asks each shard; where it cannot tell of all its rows, they are read, or not searched, unless they are copies."""
    found: Pairs = set()
    for partition in _searched_partitions(store, search, DOCUMENTS, MIX):
        is_slice, changes = partition.place.kind is MIX, asked.row_changing_options(partition)
        copied = not changes and not _is_first(partition)
        for shard in () if is_slice and copied else partition.shards.values():
            try:
                unread = None if is_slice else asked.of_shard(partition, shard)
                if copied:
                    continue
                if unread is None and not scan:
                    why = f"its stream has {changes}" if is_slice else asked.why
                    _note_unsearched_shard(search, partition, f"{why}; --scan reads its rows", shard)
                elif unread != 0:
                    unread = 0
                    for _, rows in open_shard(store, partition.place, shard).rows(asked.row_type):
                        answers = [asked.of_row(row) for row in rows]
                        found.update(row.pair for row, chosen in zip(rows, answers, strict=True) if chosen)
                        unread += answers.count(None)
                if unread:
                    _note_unsearched_shard(search, partition, f"{_NO_TEXT}: {unread:,}; choose them by ID", shard)
            except GristmillError as error:
                _note_unsearched_shard(search, partition, error, shard)
    return found


def _note_unsearched_shard(search: Search, partition: Partition, why: object, shard: Shard) -> None:
    where = partition.place
    search.note_skipped(where.kind.area, f"{where.asset} ({where.snapshot}), shard {shard.name}", why)


def first_versions(store: Store, search: Search) -> Iterator[Partition]:
    """The finished partitions of documents that were made from raw data. Others have no other documents.

    Args:
        store: the lake.
        search: search that learns which ledgers cannot be read.
    """
    return filter(_is_first, _searched_partitions(store, search, DOCUMENTS))


def _is_first(partition: Partition) -> bool:
    return any(kind_of(each.asset) is RAW for each in partition.head.inputs)


def _searched_partitions(store: Store, search: Search, *kinds: AssetKind) -> Iterator[Partition]:
    for there in list_ledgers(store):
        if there.kind not in kinds:
            continue
        try:
            partition = find_partition(store, there)
        except GristmillError as error:
            search.note_skipped(there.kind.area, f"{there.asset} ({there.snapshot})", error)
            continue
        if partition is not None:
            yield partition
