"""Audits: what ledgers say, proven from the bytes. The twins of execution/checks.py; nothing is trusted but a reading.

Every object that a ledger names is read whole: its sha256, its rows, their form, ids and order, the id index made
anew, the tables' sums and the fingerprints, Levanter arrays down to the last token, consolidated copies included. What
is wrong comes back as findings; an error is raised only where the lake does not answer.
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
from gristmill.verification.reencoding import spelling_findings
from gristmill.verification.token_caches import cache_findings, copies, copy_findings, index_of_copy, tokenizer_findings

TABLE = ".shards.jsonl.gz"


def _all(findings: Iterable[Finding], *, first_only: bool) -> list[Finding]:
    return list(islice(findings, 1) if first_only else findings)


Proof = Callable[[Store, Place, Say], Iterator[Finding]]
"""Everything that is wrong with a partition, in the order in which it is found; errors are those of audit_ledger()."""


def _attributes(store: Store, here: Place, say: Say) -> Iterator[Finding]:
    names = names_of(here.asset)
    documents = place(documents_asset(names["source"], names["version"]), here.snapshot)
    return attribute_findings(store, here, documents, say)


PROOFS: Mapping[AssetKind, Proof] = {
    DOCUMENTS: document_findings,
    ATTRIBUTES: _attributes,
    MIX: document_findings,
    TOKEN_CACHE: cache_findings,
}
"""The proofs that read what the objects of a kind mean; of the other kinds, partition_findings() proves the bytes."""


def audit_spelling(store: Store, path: str, share: float, say: Say, *, first_only: bool = False) -> list[Finding]:
    """Encodes a share of the documents of a token cache's slice once more; nothing for other ledgers.

    Raises:
        DataError: the slice cannot be read; audit_ledger() says what is wrong.
        StoreError: the lake does not answer.
    """
    here = place_of_ledger(path)
    if here is None or here.kind is not TOKEN_CACHE:
        return []
    return _all(spelling_findings(store, here, share, say), first_only=first_only)


def audit_ledger(store: Store, path: str, say: Say, *, first_only: bool = False) -> list[Finding]:
    """Proves whatever a ledger, as `audited_ledgers` lists it, stands for.

    Of documents, every object is there with its sha256, length, rows, gzip members, content digest; every row is a
    document; ids are unique and their digest and index are right; refused rows are counted; rows of v1 and later stand
    in the version before them, in their order. Attributes are proven row by row beside their documents; of token
    caches every token is decoded.

    Args:
        store: the lake.
        path: of the ledger.
        say: takes notes on what could not be compared, and is no lie.
        first_only: stop at the first finding.

    Raises:
        RecipeError: no asset has its ledger there.
        StoreError: the lake does not answer.
    """
    here, tokenizer = place_of_ledger(path), TOKENIZER.names_of_ledger(path)
    if here is not None:
        return _all(PROOFS.get(here.kind, partition_findings)(store, here, say), first_only=first_only)
    if tokenizer is not None:
        return _all(tokenizer_findings(store, tokenizer["tokenizer"], say), first_only=first_only)
    if index_of_copy(path) is not None:
        return _all(copy_findings(store, path), first_only=first_only)
    raise RecipeError(f"{path}: no asset has its ledger there")


def audited_ledgers(store: Store, prefix: str = "") -> list[str]:
    """Paths of all ledgers whose assets begin with a prefix, upstream before downstream; of a consolidated token cache
    its `sums.json`.

    Args:
        store: the lake.
        prefix: an asset's address or the begin of it in whole words (`sources/wiki/v0`); empty: the whole lake.
    """
    word = prefix.rstrip("/")
    found = [(here.asset, here.ledger) for here in list_ledgers(store)]
    for entry in store.list(TOKENIZER.top):
        names = TOKENIZER.names_of_ledger(entry.path)
        if names is not None:
            found.append((TOKENIZER.at(**names), entry.path))
    found += [(index_of_copy(path) or path, path) for path in copies(store)]
    return [path for _, path in sorted((rank_of(asset), path) for asset, path in found if _below(asset, word))]


def headless(store: Store, prefix: str = "") -> list[Finding]:
    """Tables whose head is gone while no run is at work there: nobody names what lies there."""
    word = prefix.rstrip("/")
    paths = {entry.path for top in LEDGER_TOPS for entry in store.list(top)}
    found: list[Finding] = []
    for path in sorted(path for path in paths if path.endswith(TABLE)):
        here = place_of_ledger(f"{path.removesuffix(TABLE)}.json")
        if here is None or here.ledger in paths or not _below(here.asset, word):
            continue
        if not any(other.startswith(here.receipts) for other in paths):
            found.append(Finding(here.ledger, None, "there is a table but no ledger", "make this partition again"))
    return found


def _below(asset: str, word: str) -> bool:
    return not word or asset == word or asset.startswith(f"{word}/")
