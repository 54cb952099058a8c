"""Audits: verify ledgers from the bytes of the lake. They check what execution/checks.py checks, but trust no receipt.

Every object that a ledger names is read in full. An audit checks its sha256, its rows, their format, ids and order. It
builds the id index again, adds up the tables' totals and computes the fingerprints. It decodes every token of Levanter
arrays, and reads consolidated copies too. Errors in the data are returned as findings. An exception is raised only if
the lake does not answer.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice

from gristmill.errors import RecipeError
from gristmill.execution.added_checks import added_findings
from gristmill.execution.finding import AuditedStore, Finding, guard_proof
from gristmill.execution.mend import REMOVE_STRAY, add_mend_to_finding, asks_to_make
from gristmill.execution.work import Say
from gristmill.lake.address import Place, documents_asset, place, place_of_ledger
from gristmill.lake.asset_kind import AssetKind
from gristmill.lake.asset_kinds import (
    ATTRIBUTES,
    DOCUMENTS,
    EXPORT,
    LABELS,
    MIX,
    MODEL,
    TOKEN_CACHE,
    TOKENIZER,
    kind_of,
    names_in_asset_address,
    whole_asset_of,
)
from gristmill.lake.ledger.absent_kinds import absent_kinds
from gristmill.lake.ledger.shard_sample import ShardSample
from gristmill.lake.store.plain_files import Unlisted
from gristmill.lake.store.protocol import Store
from gristmill.stages.mixing.edits.edit_proof import edit_findings
from gristmill.stages.mixing.unmade import mend_of_ledger
from gristmill.stages.models.proof import folder_findings
from gristmill.verification.attributes import attribute_findings
from gristmill.verification.census import expected_ledger_paths
from gristmill.verification.documents import document_findings
from gristmill.verification.exports import export_findings
from gristmill.verification.indexes import index_findings
from gristmill.verification.lake_file import audit_unledgered
from gristmill.verification.ledger import part_findings
from gristmill.verification.reencoding import reencoding_findings
from gristmill.verification.shard import ReadDocuments
from gristmill.verification.token_caches import cache_findings, tokenizer_findings

_BETWEEN = "no ledger names this object: it is in no asset's place, but a trainer that takes all files here reads it"


def _ignore_notes(_: str) -> None:
    """Takes notes that nobody reads."""


def _findings_with_mends(
    store: Store, path: str, findings: Iterable[Finding], shelves: Sequence[str], *, first_only: bool
) -> list[Finding]:
    """The findings on a ledger, each with its mend: `make` changes nothing that no recipe makes."""
    found = [add_mend_to_finding(store, finding) for finding in (islice(findings, 1) if first_only else findings)]
    if any(map(asks_to_make, found)) and (mend := mend_of_ledger(store, shelves, path)):
        return [replace(each, mend=mend) if asks_to_make(each) else each for each in found]
    return found


Proof = Callable[[Store, Place, Say], Iterator[Finding]]
"""A function that yields the findings on a partition, in the order of reading; it raises the errors of audit_ledger."""

PROOFS: Mapping[AssetKind, Proof] = {
    MIX: document_findings,
    TOKEN_CACHE: cache_findings,
    EXPORT: export_findings,
}
"""The proofs of kinds that have partitions, but for documents, their sets, and kinds that have a KindBehaviour."""


def _partition_findings(
    store: Store, partition: Place, say: Say, shelves: Sequence[str], known: ReadDocuments | None
) -> Iterator[Finding]:
    if partition.kind is DOCUMENTS:
        return document_findings(store, partition, say, known)
    if partition.kind is not ATTRIBUTES:
        return PROOFS.get(partition.kind, part_findings)(store, partition, say)
    names = names_in_asset_address(partition.asset)
    documents = place(documents_asset(names["source"], names["version"]), partition.snapshot)
    return attribute_findings(store, partition, documents, say, shelves, known)


def audit_reencoding(
    store: Store,
    path: str,
    sample: ShardSample,
    say: Say,
    encoded: set[str],
    *,
    first_only: bool = False,
    shelves: Sequence[str] = (),
) -> list[Finding]:
    """The findings on documents of a token cache's slice that encode otherwise now; for other ledgers there are no
    findings.

    Args:
        store: the lake.
        path: path of the ledger.
        sample: sample that draws the shards.
        say: function that receives the number of documents that were compared.
        encoded: set that receives the names of the shards whose documents were compared.
        first_only: stop at the first finding.
        shelves: the packages that hold the recipes.

    Raises:
        StoreError: the lake does not answer.
    """
    partition = place_of_ledger(path)
    if partition is None or partition.kind is not TOKEN_CACHE:
        return []
    store = AuditedStore(store)
    findings = guard_proof(store, path, reencoding_findings(store, partition, sample, say, encoded))
    return _findings_with_mends(store, path, findings, shelves, first_only=first_only)


def audit_ledger(
    store: Store,
    path: str,
    say: Say,
    *,
    first_only: bool = False,
    shelves: Sequence[str] = (),
    known: ReadDocuments | None = None,
) -> list[Finding]:
    """Verifies the partition, tokenizer or index of a ledger that `audited_ledgers` lists.

    Documents: every object exists, with its sha256, length, rows, gzip members and content digest. Ids are unique;
    their digest and index are right. Refused rows are counted. Rows of v1 and later are in the version before, in the
    same order; edits and transforms are applied again. Attributes: each row fits its document. Token caches: every
    token is decoded. Exports: each part is made again. Indexes: every file has its digest, and agrees with the slices.

    Args:
        store: the lake.
        path: path of the ledger.
        say: function that receives notes on comparisons that were not possible; these are not errors.
        first_only: stop at the first finding.
        shelves: the packages that hold the recipes. A note tells of transforms that they lack.
        known: documents that audits leave for those of their sets.

    Returns:
        The findings, in the order of reading; empty if the ledger is right.

    Raises:
        RecipeError: no asset has a ledger at this path.
        StoreError: the lake does not answer.
    """
    store = AuditedStore(store)
    partition, whole = place_of_ledger(path), whole_asset_of(path)
    kind = kind_of(whole) if whole else None
    if partition is not None:
        found = [_partition_findings(store, partition, say, shelves, known), added_findings(store, partition, say)]
        if partition.kind.documents:
            found.insert(1, edit_findings(store, partition, shelves, say))
        findings: Iterator[Finding] = chain.from_iterable(guard_proof(store, path, each) for each in found)
    elif whole and kind is TOKENIZER:
        findings = tokenizer_findings(store, names_in_asset_address(whole)["tokenizer"], say)
    elif whole and kind in {LABELS, MODEL}:
        findings = folder_findings(store, whole, say)
    elif kind is not None:
        findings = index_findings(store, path, shelves, say)
    else:
        raise RecipeError(f"{path}: no asset has its ledger there; take a path that `audited_ledgers` lists")
    findings = chain(guard_proof(store, path, findings), store.left_out())
    return _findings_with_mends(store, path, findings, shelves, first_only=first_only)


def ledger_paths_to_audit(
    store: Store,
    prefix: str = "",
    say: Say = _ignore_notes,
    beside: list[Finding] | None = None,
    shelves: Sequence[str] = (),
) -> list[str]:
    """The paths of the ledgers that a lake should have below a prefix, upstream assets first.

    A ledger that does not exist is listed too, if there are objects that need it: its audit is a finding.

    Args:
        store: the lake.
        prefix: an asset's address, or its first folders (`sources/wiki/v0`); empty: the whole lake.
        say: function that receives a note on each partition that a run has claimed and that has no ledger yet.
        beside: list that receives the findings on what belongs to no ledger: below the prefix, things that can be no
            object, as a link to nothing is, and objects between the places of assets; and, without a prefix,
            `lake.json` and the releases. None: the first thing that can be no object is an error.
        shelves: the packages that hold the recipes, which the data cards of releases repeat.
    """

    def take(found: Unlisted) -> None:
        if beside is not None and found.path.startswith(prefix):
            beside.append(Finding(found.path, None, found.reason))

    strays: list[str] = []
    paths = expected_ledger_paths(store, prefix, say, None if beside is None else take, strays.append)
    if beside is not None:
        beside += [Finding(path, None, _BETWEEN, REMOVE_STRAY) for path in sorted(strays) if path.startswith(prefix)]
        beside += (
            Finding(folder, None, f"not proven: {why}", "install it, and verify again")
            for folder, why in absent_kinds(store)
            if folder.startswith(prefix) or prefix.startswith(folder)
        )
        if not prefix:
            beside += audit_unledgered(store, say, shelves)
    return paths
