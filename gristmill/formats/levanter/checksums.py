"""Objects of a cache that stands alone, with the sha256 of each in `sums.json`: Levanter reads a lost one as zeros."""

import json
from collections.abc import Mapping

from gristmill.errors import DataError
from gristmill.formats.levanter.cache import CacheReader, ranges_of
from gristmill.formats.levanter.cache_ledger import Ledger
from gristmill.lake.store.hashing import HashedUpload, sha256_of
from gristmill.lake.store.protocol import Entry, Store

SUMS = "sums.json"


def summed(store: Store, path: str, name: str, sums: dict[str, str]) -> HashedUpload:
    """An object of the cache to be written; `sums` gets its sha256 under its name when it is whole."""

    def done(sha256: str, _: Entry) -> None:
        sums[name] = sha256

    return HashedUpload(store.upload(path), done)


def put_sums(store: Store, folder: str, sums: Mapping[str, str]) -> None:
    """Writes `sums.json`, after everything else: where it is, the cache is whole."""
    store.put(folder + SUMS, json.dumps(sums, indent=0, sort_keys=True).encode() + b"\n")


def prove(store: Store, folder: str) -> Ledger:
    """Proves a cache from its bytes.

    Args:
        store: the store.
        folder: of the cache, with its closing slash; "" if it is the store itself.

    Raises:
        DataError: an object is missing or not what `sums.json` says, or the arrays and the ledger disagree.
    """
    found = store.read_tagged(folder + SUMS)
    if found is None:
        raise DataError(f"{folder}{SUMS} is missing: it was not written to its end; write the cache again")
    for name, sha256 in json.loads(found[0]).items():
        if store.head(folder + name) is None:
            raise DataError(f"{folder}{name} is missing; write the cache again")
        if sha256_of(store, folder + name) != sha256:
            raise DataError(f"{folder}{name} is not what {SUMS} says; write the cache again")
    read = ranges_of(store)
    reader = CacheReader(lambda path, start, end: read(path.lstrip("/"), start, end), folder.rstrip("/"))
    reader.verify()
    return reader.ledger
