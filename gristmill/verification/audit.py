"""Audits: what ledgers say, proven from the bytes. The twins of execution/checks.py; nothing is trusted but a reading.

Every object that a ledger names is read whole: its sha256, its rows, their form, ids and order, the id index made
anew, the tables' sums and the fingerprints, Levanter arrays down to the last token, consolidated copies included. What
is wrong comes back as findings; an error is raised only where the lake does not answer.
"""

from collections.abc import Iterable
from itertools import islice

from gristmill.errors import RecipeError
from gristmill.execution.finding import Finding
from gristmill.execution.work import Say
from gristmill.lake.address import Place, documents_asset, place, place_of_ledger
from gristmill.lake.ledger.files import list_ledgers
from gristmill.lake.store.protocol import Store
from gristmill.verification.attributes import attribute_findings
from gristmill.verification.documents import document_findings
from gristmill.verification.reencoding import spelling_findings
from gristmill.verification.token_caches import COPIES, cache_findings, copies, copy_findings, tokenizer_findings

TOKENIZER_LEDGER = "ledger.json"
TABLE = ".shards.jsonl.gz"


def _all(findings: Iterable[Finding], *, first_only: bool) -> list[Finding]:
    return list(islice(findings, 1) if first_only else findings)


def audit_documents(store: Store, here: Place, say: Say, *, first_only: bool = False) -> list[Finding]:
    """Proves a partition of a dataset version's documents.

    Every object is there with its sha256, length, rows, gzip members, content digest; every row is a document; ids
    are unique and their digest and index are right; refused rows are counted; rows of v1 and later stand in the
    version before them, in their order.

    Args:
        store: the lake.
        here: the partition.
        say: takes notes on what could not be compared, and is no lie.
        first_only: stop at the first finding.

    Raises:
        StoreError: the lake does not answer.
    """
    return _all(document_findings(store, here, say), first_only=first_only)


def audit_attributes(
    store: Store, here: Place, documents: Place, say: Say, *, first_only: bool = False
) -> list[Finding]:
    """Proves a partition of an attribute set, row by row beside its documents; see audit_documents."""
    return _all(attribute_findings(store, here, documents, say), first_only=first_only)


def audit_mix(store: Store, here: Place, say: Say, *, first_only: bool = False) -> list[Finding]:
    """Proves one snapshot of a mix's stream, blocklists included; see audit_documents."""
    return _all(document_findings(store, here, say), first_only=first_only)


def audit_cache(store: Store, here: Place, say: Say, *, first_only: bool = False) -> list[Finding]:
    """Proves one slice of a token cache, every token decoded; see audit_documents."""
    return _all(cache_findings(store, here, say), first_only=first_only)


def audit_spelling(store: Store, path: str, share: float, say: Say, *, first_only: bool = False) -> list[Finding]:
    """Encodes a share of the documents of a token cache's slice once more; nothing for other ledgers.

    Raises:
        DataError: the slice cannot be read; audit_ledger() says what is wrong.
        StoreError: the lake does not answer.
    """
    here = place_of_ledger(path)
    if here is None or not here.asset.startswith("token_caches/"):
        return []
    return _all(spelling_findings(store, here, share, say), first_only=first_only)


def audit_tokenizer(store: Store, name: str, say: Say, *, first_only: bool = False) -> list[Finding]:
    """Proves a tokenizer's files; see audit_documents."""
    return _all(tokenizer_findings(store, name, say), first_only=first_only)


def audit_ledger(store: Store, path: str, say: Say, *, first_only: bool = False) -> list[Finding]:
    """Proves whatever a ledger, as `audited_ledgers` lists it, stands for.

    Raises:
        RecipeError: no asset has its ledger there.
        StoreError: the lake does not answer.
    """
    match path.split("/"):
        case ["tokenizers", name, "ledger.json"]:
            return audit_tokenizer(store, name, say, first_only=first_only)
        case ["sources", source, version, "ledgers", "attributes", name, file]:
            documents = place(documents_asset(source, version), file.removesuffix(".json"))
            here = place(f"sources/{source}/{version}/attributes/{name}", documents.snapshot)
            return audit_attributes(store, here, documents, say, first_only=first_only)
        case ["sources", source, version, "ledgers", "documents", file]:
            here = place(documents_asset(source, version), file.removesuffix(".json"))
            return audit_documents(store, here, say, first_only=first_only)
        case ["mixes", mix, "ledgers", stream, file]:
            here = place(f"mixes/{mix}/documents/{stream}", file.removesuffix(".json"))
            return audit_mix(store, here, say, first_only=first_only)
        case ["token_caches", mix, tokenizer, "ledgers", stream, file]:
            here = place(f"token_caches/{mix}/{tokenizer}/{stream}", file.removesuffix(".json"))
            return audit_cache(store, here, say, first_only=first_only)
        case ["token_caches", _, _, "index", "consolidated", _, _, "sums.json"]:
            return _all(copy_findings(store, path), first_only=first_only)
        case _:
            raise RecipeError(f"{path}: no asset has its ledger there")


def audited_ledgers(store: Store, prefix: str = "") -> list[str]:
    """Paths of all ledgers whose assets begin with a prefix, upstream before downstream; of a consolidated token cache
    its `sums.json`.

    Args:
        store: the lake.
        prefix: an asset's address or the begin of it in whole words (`sources/wiki/v0`); empty: the whole lake.
    """
    word = prefix.rstrip("/")
    found = [(_rank(here.asset), here.ledger) for here in list_ledgers(store) if _below(here.asset, word)]
    for entry in store.list("tokenizers/"):
        asset, _, file = entry.path.rpartition("/")
        if file == TOKENIZER_LEDGER and asset.count("/") == 1 and _below(asset, word):
            found.append((_rank(asset), entry.path))
    for path in copies(store):
        asset = path.partition(COPIES)[0] + "/index"
        if _below(asset, word):
            found.append((_rank(asset), path))
    return [path for _, path in sorted(found)]


def headless(store: Store, prefix: str = "") -> list[Finding]:
    """Tables whose head is gone while no run is at work there: nobody names what lies there."""
    word = prefix.rstrip("/")
    paths = {entry.path for top in ("sources/", "mixes/", "token_caches/") for entry in store.list(top)}
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


def _rank(asset: str) -> tuple[int, str, int]:
    """The order in which assets depend on each other: documents before their attributes, v0 before v1."""
    top = asset.partition("/")[0]
    tops = ("sources", "mixes", "tokenizers", "token_caches")
    version = asset.split("/")[2] if top == "sources" else ""
    number = int(version[1:]) if version[1:].isdigit() else 0
    return (
        tops.index(top) * 1000 + number,
        asset.split("/")[1],
        int("/attributes/" in asset or asset.endswith("/index")),
    )
