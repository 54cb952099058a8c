"""The audit of consolidated copies: token caches that stand alone, beside an index. See stages/auditing.py."""

from collections.abc import Iterator

from gristmill.errors import DataError
from gristmill.execution.finding import Finding
from gristmill.formats.levanter.checksums import SUMS, prove
from gristmill.lake.store.protocol import Store

COPIES = "/index/consolidated/"
"""What lies between a token cache and its copies."""


def copies(store: Store) -> list[str]:
    """The `sums.json` of every copy in the lake."""
    return [e.path for e in store.list("token_caches/") if COPIES in e.path and e.path.endswith(f"/{SUMS}")]


def copy_findings(store: Store, path: str) -> Iterator[Finding]:
    """What is wrong with the copy whose `sums.json` lies at `path`: its objects, then every row, decoded."""
    folder = path.removesuffix(SUMS)
    try:
        prove(store, folder)
    except (DataError, IndexError) as error:
        yield Finding(path, None, str(error), f"remove {folder} and make the index with consolidated: true again")
