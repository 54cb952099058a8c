"""Audits: verify ledgers from the bytes of the lake. They check what execution/checks.py checks, but trust no receipt.

Every object that a ledger names is read in full. An audit checks its sha256, its rows, their format, ids and order. It
builds the id index again, adds up the tables' totals and computes the fingerprints. It decodes every token of Levanter
arrays, and reads consolidated copies too. Errors in the data are returned as findings. An exception is raised only if
the lake does not answer.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from gristmill.errors import RecipeError
from gristmill.execution.finding import Finding
from gristmill.execution.work import Say
from gristmill.lake.address import Place, documents_asset, place, place_of_ledger
from gristmill.lake.asset_kinds import (
    ATTRIBUTES,
    DOCUMENTS,
    LEDGER_TOPS,
    MIX,
    TOKEN_CACHE,
    TOKENIZER,
    AssetKind,
    names_of,
    rank_of,
)
from gristmill.lake.ledger.files import list_ledgers
from gristmill.lake.store.protocol import Store
from gristmill.verification.attributes import attribute_findings
from gristmill.verification.documents import document_findings
from gristmill.verification.partition import partition_findings
from gristmill.verification.reencoding import reencoding_findings
from gristmill.verification.token_caches import cache_findings, copies, copy_findings, index_of_copy, tokenizer_findings

TABLE = ".shards.jsonl.gz"


def _all(findings: Iterable[Finding], *, first_only: bool) -> list[Finding]:
    return list(islice(findings, 1) if first_only else findings)


Proof = Callable[[Store, Place, Say], Iterator[Finding]]
"""A function that yields the findings on a partition, in the order of reading; it raises the errors of audit_ledger."""


def _attributes(store: Store, partition: Place, say: Say) -> Iterator[Finding]:
    names = names_of(partition.asset)
    documents = place(documents_asset(names["source"], names["version"]), partition.snapshot)
    return attribute_findings(store, partition, documents, say)


PROOFS: Mapping[AssetKind, Proof] = {
    DOCUMENTS: document_findings,
    ATTRIBUTES: _attributes,
    MIX: document_findings,
    TOKEN_CACHE: cache_findings,
}
"""The proofs that decode the objects of a kind. For other kinds, partition_findings() verifies only the bytes."""


def audit_reencoding(store: Store, path: str, share: float, say: Say, *, first_only: bool = False) -> list[Finding]:
    """Encodes a share of the documents of a token cache's slice again; for other ledgers there are no findings.

    Args:
        store: the lake.
        path: path of the ledger.
        share: share of the documents, above 0 and at most 1.
        say: receives the number of documents that were compared.
        first_only: stop at the first finding.

    Raises:
        DataError: the slice cannot be read; audit_ledger() reports why.
        StoreError: the lake does not answer.
    """
    partition = place_of_ledger(path)
    if partition is None or partition.kind is not TOKEN_CACHE:
        return []
    return _all(reencoding_findings(store, partition, share, say), first_only=first_only)


def audit_ledger(store: Store, path: str, say: Say, *, first_only: bool = False) -> list[Finding]:
    """Verifies the partition, tokenizer or consolidated copy of a ledger that `audited_ledgers` lists.

    Documents: every object exists, with its sha256, length, rows, gzip members and content digest. Every row is a
    document. Ids are unique; their digest and index are right. Refused rows are counted. Rows of v1 and later are in
    the version before, in the same order. Attributes: each row is compared with its document. Token caches: every
    token is decoded.

    Args:
        store: the lake.
        path: path of the ledger.
        say: receives notes on comparisons that were not possible; these are not errors.
        first_only: stop at the first finding.

    Returns:
        The findings, in the order of reading; empty if the ledger is right.

    Raises:
        RecipeError: no asset has a ledger at this path.
        StoreError: the lake does not answer.
    """
    partition, tokenizer = place_of_ledger(path), TOKENIZER.names_of_ledger(path)
    if partition is not None:
        return _all(PROOFS.get(partition.kind, partition_findings)(store, partition, say), first_only=first_only)
    if tokenizer is not None:
        return _all(tokenizer_findings(store, tokenizer["tokenizer"], say), first_only=first_only)
    if index_of_copy(path) is not None:
        return _all(copy_findings(store, path), first_only=first_only)
    raise RecipeError(f"{path}: no asset has its ledger there; take a path that `audited_ledgers` lists")


def audited_ledgers(store: Store, prefix: str = "") -> list[str]:
    """Paths of the ledgers of assets below a prefix, upstream assets first.

    For a consolidated copy of a token cache, the path is that of its `sums.json`.

    Args:
        store: the lake.
        prefix: an asset's address, or its first folders (`sources/wiki/v0`); empty: the whole lake.
    """
    word = prefix.rstrip("/")
    ledgers = [(partition.asset, partition.ledger) for partition in list_ledgers(store)]
    for entry in store.list(TOKENIZER.top):
        names = TOKENIZER.names_of_ledger(entry.path)
        if names is not None:
            ledgers.append((TOKENIZER.at(**names), entry.path))
    ledgers += [(index_of_copy(path) or path, path) for path in copies(store)]
    return [path for _, path in sorted((rank_of(asset), path) for asset, path in ledgers if _below(asset, word))]


def headless(store: Store, prefix: str = "") -> list[Finding]:
    """Findings on tables that have no head although no run is working on the partition: nothing names its objects."""
    word = prefix.rstrip("/")
    paths = {entry.path for top in LEDGER_TOPS for entry in store.list(top)}
    findings: list[Finding] = []
    for path in sorted(path for path in paths if path.endswith(TABLE)):
        partition = place_of_ledger(f"{path.removesuffix(TABLE)}.json")
        if partition is None or partition.ledger in paths or not _below(partition.asset, word):
            continue
        if not any(other.startswith(partition.receipts) for other in paths):
            what = "there is a table but no ledger"
            findings.append(Finding(partition.ledger, None, what, "make this partition again"))
    return findings


def _below(asset: str, word: str) -> bool:
    return not word or asset == word or asset.startswith(f"{word}/")
