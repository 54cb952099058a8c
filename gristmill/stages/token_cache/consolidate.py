"""Consolidating: a stream's parts copied into one cache, for Levanter before Marin's and for fewer objects."""

from collections.abc import Mapping

from gristmill.formats.levanter.cache import CacheWriter, copy_range
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, Ledger, load_ledger
from gristmill.formats.levanter.checksums import SUMS, put_sums, summed
from gristmill.lake.identity import digest_of
from gristmill.lake.store.hashing import HashedUpload
from gristmill.lake.store.protocol import Store
from gristmill.recipes.mix import Stream
from gristmill.recipes.row_format import Format
from gristmill.stages.token_cache.token_stream import TokenStream

CLEVEL = 5
"""The one level that Levanter before Marin's reads."""


def consolidated_folder(top: str, stream: Stream, merged: Mapping[str, Ledger]) -> str:
    """Where the copies of a stream's splits lie: parts never change, so their names say what is in them."""
    parts = {split: ledger["finished_shards"] for split, ledger in merged.items()}
    digest = digest_of([parts, stream.format.type, list(stream.format.dtypes.items())])[:16]
    return f"{top}{stream.key}-{digest}"


def consolidate(store: Store, source: TokenStream, merged: Ledger, declared: Format, folder: str) -> Ledger:
    """Copies the parts of a merged cache, in order, into one; kept if it is there already.

    Args:
        store: the lake.
        source: the merged cache. What is copied of it is proven first: a copy would certify a flipped bit.
        merged: its ledger.
        declared: the format, which says the fields.
        folder: where the copy goes, with its closing slash.

    Raises:
        DataError: a part is missing or damaged.
    """
    if store.head(folder + SUMS) is not None:  # written last: the rest is there
        return load_ledger(store.read(folder + LEDGER_NAME), folder + LEDGER_NAME)
    sums: dict[str, str] = {}

    def opened(name: str) -> HashedUpload:
        return summed(store, folder + name, name, sums)

    writer = CacheWriter(opened, declared.dtypes, clevel=CLEVEL)
    try:
        for reader in source.readers():
            copy_range(reader, 0, reader.rows, writer)
        ledger = writer.close(merged["shard_rows"], merged["metadata"]["preprocessor_metadata"])
    except BaseException:
        writer.abort()
        raise
    put_sums(store, folder, sums)
    return ledger
