"""Copies the parts of a stream into one cache: for Levanter before Marin's version, and to have fewer objects."""

from collections.abc import Mapping

from gristmill.formats.levanter.cache import CacheWriter, copy_range
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, CacheLedger, load_ledger
from gristmill.formats.levanter.checksums import CHECKSUMS, put_checksums
from gristmill.lake.identity import digest_of
from gristmill.lake.store.hashing import Uploads
from gristmill.lake.store.protocol import Store
from gristmill.recipes.mix import Stream
from gristmill.recipes.row_format import Format
from gristmill.stages.token_cache.token_stream import TokenStream

CLEVEL = 5
"""The only zstd level that Levanter before Marin's version reads."""


def consolidated_folder(top: str, stream: Stream, merged: Mapping[str, CacheLedger]) -> str:
    """The folder of the copies of a stream's splits. Parts never change, so their names define the content."""
    parts = {split: ledger["finished_shards"] for split, ledger in merged.items()}
    digest = digest_of([parts, stream.format.type, list(stream.format.dtypes.items())])[:16]
    return f"{top}{stream.key}-{digest}"


def consolidate_cache(
    store: Store, source: TokenStream, merged: CacheLedger, declared: Format, folder: str
) -> CacheLedger:
    """Copies the parts of a merged cache, in order, into one cache. A finished copy is kept.

    Args:
        store: the lake.
        source: the merged cache. Each object is verified before it is copied, because the copy gets new checksums,
            and these would make a damaged object look valid.
        merged: the merged cache's ledger.
        declared: the format, which defines the fields.
        folder: the folder of the copy, with a closing slash.

    Returns:
        The Levanter ledger of the copy.

    Raises:
        DataError: a part is missing or damaged.
    """
    if store.head(folder + CHECKSUMS) is not None:  # it is written last, so the copy is complete
        return load_ledger(store.read(folder + LEDGER_NAME), folder + LEDGER_NAME)
    with Uploads(store) as uploads:
        writer = CacheWriter(lambda name: uploads.open(folder + name), declared.dtypes, clevel=CLEVEL)
        for reader in source.readers():
            copy_range(reader, 0, reader.rows, writer)
        ledger = writer.close(merged["shard_rows"], merged["metadata"]["preprocessor_metadata"])
    put_checksums(store, folder, uploads.sha256(folder))
    return ledger
