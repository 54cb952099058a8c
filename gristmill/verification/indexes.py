"""The audit of indexes, of consolidated copies and of packing plans: each has the ledger of an index.

It checks the ledger, the digest of each file that the ledger names, and the slices that it closes. Then the files are
compared with each other and with the slices, so that even a consistent lie is found.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from gristmill.errors import DataError, NewerSchema, RecipeError
from gristmill.execution.finding import Finding, guard_proof, unreadable_finding
from gristmill.execution.mend import REMOVE_STRAY, how_to_reindex, how_to_remake
from gristmill.execution.work import Say
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import (
    CONSOLIDATED,
    EXPORT_INDEX,
    PACKING,
    TOKEN_CACHE_INDEX,
    kind_of,
    ledger_of_object,
    whole_asset_of,
)
from gristmill.lake.ledger.as_written import why_not_as_written
from gristmill.lake.ledger.files import as_json, read_head
from gristmill.lake.ledger.index_ledger import IndexLedger, changed_files, compose_index, parse_index_ledger
from gristmill.lake.ledger.model import Ledger, Upstream
from gristmill.lake.store.protocol import Store
from gristmill.stages.export.index import is_old_release
from gristmill.stages.kind import behaviour_of_kind
from gristmill.stages.mixing.index import (
    Index,
    fingerprint_of_slices,
    index_path,
    read_index,
    slices_as_inputs,
    totals_of_slices,
)
from gristmill.stages.token_cache.merged_ledger import unnamed_merged_ledgers
from gristmill.verification.derived_files.expected_files import file_contradictions
from gristmill.verification.derived_files.export_release import undeclared_exclusions
from gristmill.verification.derived_files.finished_slices import slice_findings
from gristmill.verification.derived_files.mixture import mixture_contradictions
from gristmill.verification.exports import release_contradictions
from gristmill.verification.index_files import (
    copied_objects,
    copy_contradictions,
    merge_contradictions,
    plan_contradictions,
)
from gristmill.verification.ledger import LedgerProof

_GC = "run gristmill gc, which removes it"
_METADATASET = re.compile(r"/metadataset-([0-9a-f]+)\.yaml$")


def index_findings(store: Store, path: str, shelves: Sequence[str], say: Say) -> Iterator[Finding]:
    """Findings on an index, on consolidated copies or on packing plans.

    Args:
        store: the lake.
        path: path of the ledger, which may not exist.
        shelves: the packages that hold the recipes, which say which slices belong to it.
        say: function that receives notes on what could not be compared.
    """
    asset, mend = whole_asset_of(path) or "", how_to_reindex(store, path)
    tagged = store.read_tagged(path)
    if tagged is None:
        what = "there is no ledger: an earlier Gristmill made these files, or the ledger was lost"
        yield Finding(path, None, what, mend)
        return
    try:
        ledger = parse_index_ledger(tagged[0], path)
    except DataError as error:
        yield unreadable_finding(path, error, mend)
        return
    if as_json(compose_index(asset, ledger.inputs, ledger.files)) != tagged[0]:
        yield Finding(path, None, "it contradicts itself, or is not canonical JSON", mend)
    files = (guard_proof(store, file, _index_file_finding(store, ledger, file, mend)) for file in sorted(ledger.files))
    changed = list(chain.from_iterable(files))
    yield from changed
    heads: list[Ledger] = []
    yield from _slice_findings(store, path, ledger, heads)
    yield from _stray_object_findings(store, path, ledger)
    yield from (Finding(path, None, what, own or mend) for what, own in slice_findings(store, ledger, shelves, say))
    if not changed and len(heads) == len(ledger.inputs):
        for file, what in _contradicting_files(store, ledger, heads, shelves, say):
            yield Finding(file, None, what, mend)


def _index_file_finding(store: Store, ledger: IndexLedger, file: str, mend: str) -> Iterator[Finding]:
    """A finding unless a file is as the ledger of its index says."""
    alone = msgspec.structs.replace(ledger, files={file: ledger.files[file]})
    yield from (Finding(path, None, what, mend) for path, what in changed_files(store, alone))


def _slice_findings(store: Store, path: str, ledger: IndexLedger, heads: list[Ledger]) -> Iterator[Finding]:
    """Findings on slices that do not exist, or have changed; the heads of the sound ones are added to `heads`."""
    for upstream in ledger.inputs:
        named = f"{upstream.asset} ({upstream.snapshot})"
        try:
            head = read_head(store, place(upstream.asset, upstream.snapshot))
        except NewerSchema as error:
            yield unreadable_finding(path, error, "")
            continue
        except (DataError, RecipeError):  # the slice's own audit says what is wrong with its ledger
            head = None
        if head is None:
            yield Finding(
                path, None, f"made from {named}, which has no valid ledger", how_to_remake(store, upstream.asset)
            )
        elif head.fingerprint != upstream.fingerprint:
            what = f"made from {named} as {upstream.fingerprint[:12]}, which is {head.fingerprint[:12]} now"
            by_gc = (
                "; gristmill gc removes them once no trainer can read one of them"
                if kind_of(ledger.asset) is PACKING
                else ""
            )
            yield Finding(path, None, what, f"{how_to_reindex(store, path)}{by_gc}")
        elif not LedgerProof(store, place(upstream.asset, upstream.snapshot)).findings:
            heads.append(head)


def _stray_object_findings(store: Store, path: str, ledger: IndexLedger) -> Iterator[Finding]:
    """Findings on objects that need this ledger, but are not named by it."""
    named = {path, *ledger.files, *copied_objects(store, ledger)}
    for entry in store.list(f"{ledger.asset}/"):
        if is_old_release(ledger, entry.path):  # gc removes it
            yield from _old_metadataset_finding(store, entry.path)
            continue
        if ledger_of_object(entry.path) == path and entry.path not in named:
            removal = _GC if kind_of(ledger.asset) is PACKING else REMOVE_STRAY
            yield Finding(entry.path, None, "no ledger names this object", removal)
    if kind_of(ledger.asset) is TOKEN_CACHE_INDEX:
        for merged in unnamed_merged_ledgers(store, ledger.asset, named):
            yield Finding(merged, None, "its index does not name this merged ledger", how_to_reindex(store, path))


def _old_metadataset_finding(store: Store, path: str) -> Iterator[Finding]:
    """A finding on an older metadataset without the digest in its name. Trainings are started again with it."""
    if (name := _METADATASET.search(path)) and hashlib.sha256(store.read(path)).hexdigest()[:16] != name[1]:
        what = "its content has another digest than its name: a training that is started again reads other samples"
        yield Finding(path, None, what, "restore it from a copy; if no training needs it, remove it")


def _contradicting_files(
    store: Store, ledger: IndexLedger, heads: list[Ledger], shelves: Sequence[str], say: Say
) -> Iterator[tuple[str, str]]:
    """The files that contradict the slices or each other: (path, what is wrong)."""
    kind = kind_of(ledger.asset)
    yield from file_contradictions(ledger, heads)
    if kind is CONSOLIDATED:
        yield from copy_contradictions(store, ledger, heads, say)
    elif kind and (own := behaviour_of_kind(kind)).files(ledger) is not None:
        yield from own.contradictions(store, ledger, say)
    elif kind is PACKING:
        yield from plan_contradictions(store, ledger, heads)
    else:
        path = index_path(ledger.asset)
        index = read_index(store, ledger.asset) if path in ledger.files else None
        if index is None:
            yield path, "the ledger names no file index.json that can be read"
            return
        if what := why_not_as_written(store.read(path), index):
            yield path, what
        yield from ((path, what) for what in _index_origin_problems(index, ledger.inputs, heads))
        if kind is TOKEN_CACHE_INDEX:
            yield from merge_contradictions(store, ledger, heads)
            yield from mixture_contradictions(store, ledger, shelves, say)
        elif kind is EXPORT_INDEX:
            yield from release_contradictions(store, ledger, heads)
            yield from undeclared_exclusions(store, ledger, shelves, say)


def _index_origin_problems(index: Index, inputs: tuple[Upstream, ...], heads: list[Ledger]) -> Iterator[str]:
    if slices_as_inputs(index) != inputs:
        yield "its slices are not those of the ledger"
    elif [each.totals for each in index.slices] != [head.totals for head in heads]:
        yield "the totals of its slices are not those of their ledgers"
    if index.totals != totals_of_slices(index.slices):
        yield "its totals are not the sums of those of its slices"
    if index.fingerprint != fingerprint_of_slices(index.asset, index.slices):
        yield "its fingerprint does not follow from its slices"
