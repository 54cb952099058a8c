"""Checksums of a token cache that has no ledger of the lake: `sums.json` holds the sha256 of every object.

They are needed because Levanter reads a missing object as zeros.
"""

import json
from collections.abc import Mapping

from gristmill.errors import DataError
from gristmill.formats.levanter.cache import CacheReader, range_reader_of_store
from gristmill.formats.levanter.cache_ledger import CacheLedger
from gristmill.lake.store.hashing import hash_object
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.protocol import Store

CHECKSUMS = "sums.json"


def put_checksums(store: Store, folder: str, sums: Mapping[str, str]) -> None:
    """Writes `sums.json`. Call it last: its existence shows that the cache is complete.

    Args:
        store: store that the cache is written to.
        folder: folder of the cache, with its closing slash; "" if the cache fills the store.
        sums: sha256 (hex) by the name of the object.
    """
    store.put(folder + CHECKSUMS, json.dumps(sums, indent=0, sort_keys=True).encode() + b"\n")


def verify_checksums(store: Store, folder: str) -> CacheLedger:
    """Verifies a cache: reads every object and compares it with `sums.json`, and the arrays with the ledger.

    Args:
        store: store of the cache.
        folder: folder of the cache, with its closing slash; "" if the cache fills the store.

    Returns:
        The cache's ledger.

    Raises:
        DataError: an object is missing or has another sha256, or the arrays contradict the ledger.
    """
    reader = open_verified_cache(store, folder)
    reader.verify()
    return reader.ledger


def open_verified_cache(store: Store, folder: str) -> CacheReader:
    """A reader of a cache, each object of which has the sha256 that `sums.json` names. No row is decoded.

    Args:
        store: store of the cache.
        folder: folder of the cache, with a closing slash; empty if the store is the folder.

    Raises:
        DataError: an object is missing, or is another one.
    """
    recorded = store.read_tagged(folder + CHECKSUMS)
    if recorded is None:
        raise DataError(f"{folder}{CHECKSUMS} is missing: the cache was not finished; write the cache again")
    path, what = folder + CHECKSUMS, "the checksums of a cache"
    sums = decode_object(recorded[0], dict[str, str], path, what, "write the cache again")
    for name, sha256 in sums.items():
        if store.head(folder + name) is None:
            raise DataError(f"{folder}{name} is missing; write the cache again")
        if hash_object(store, folder + name) != sha256:
            raise DataError(f"{folder}{name} does not have the sha256 that {CHECKSUMS} names; write the cache again")
    read = range_reader_of_store(store)
    return CacheReader(lambda path, start, end: read(path.lstrip("/"), start, end), folder.rstrip("/"))
