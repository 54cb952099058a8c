"""Compares the files that the ledger of an index names with those that an index of its kind has.

A file that is named beside them has a digest, and nothing says what it should be. A trainer that lists a folder reads
it.
"""

from collections.abc import Collection, Iterator, Sequence

from gristmill.formats.levanter.cache_ledger import LEDGER_NAME
from gristmill.formats.levanter.checksums import CHECKSUMS
from gristmill.lake.address import SPLITS, packing_stem
from gristmill.lake.asset_kinds import (
    CONSOLIDATED,
    MIX_INDEX,
    PACKING,
    TOKEN_CACHE,
    TOKEN_CACHE_INDEX,
    kind_of,
    names_in_asset_address,
)
from gristmill.lake.ledger.index_ledger import IndexLedger
from gristmill.lake.ledger.model import Ledger
from gristmill.recipes.mixture.token_shares import MIXTURE
from gristmill.stages.kind import behaviour_of_kind
from gristmill.stages.mixing.index import index_path
from gristmill.stages.token_cache.levanter_config import CATALOG, DATA_YAML


def file_contradictions(ledger: IndexLedger, heads: Sequence[Ledger]) -> Iterator[tuple[str, str]]:
    """The files that the ledger of an index names and no such index has, and those that it lacks: (path, what is
    wrong).

    Those of the index of an export depend on its format: release_contradictions() compares them.

    Args:
        ledger: ledger of the index.
        heads: the heads of its slices.
    """
    kind = kind_of(ledger.asset)
    if kind and (files := behaviour_of_kind(kind).files(ledger)) is not None:
        yield from unexpected_files(ledger, files)
    elif kind is MIX_INDEX:
        yield from unexpected_files(ledger, {index_path(ledger.asset)})
    elif kind is TOKEN_CACHE_INDEX:
        yield from unexpected_files(ledger, *_merged_ledger_files(ledger, heads))
    elif kind is CONSOLIDATED:
        yield from unexpected_files(ledger, *_copied_stream_files(ledger, heads))
    elif kind is PACKING:
        yield from unexpected_files(ledger, *_packing_plan_files(ledger, heads))


def unexpected_files(ledger: IndexLedger, due: Collection[str], may: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Findings unless a ledger names all files that an index has, and no others: (path, what is wrong).

    Args:
        ledger: ledger of the index.
        due: the paths of the files that it has.
        may: the paths of files that it may have.

    Returns:
        The path of each such file, and what is wrong.
    """
    for path in sorted(ledger.files.keys() - {*due, *may}):
        yield path, "the ledger of its index names it, but no such index has this file, so nothing proves it"
    for path in sorted(set(due) - ledger.files.keys()):
        yield path, "the ledger of the index does not name it, but such an index has this file"


Files = tuple[set[str], set[str]]
"""The paths of files that an index has, and of those that it may have."""


def splits_of_slices(heads: Sequence[Ledger]) -> Sequence[str]:
    """The splits of the slices of a token cache, as their recipes declare them. Without a slice: that of train."""
    return SPLITS if any(head.recipe.parameters.get("validation") for head in heads) else SPLITS[:1]


def _possible_splits(heads: Sequence[Ledger]) -> Sequence[str]:
    """The splits of which an index may have files: without a slice, nothing says whether one is held out."""
    return splits_of_slices(heads) if heads else SPLITS


def _merged_ledger_files(ledger: IndexLedger, heads: Sequence[Ledger]) -> Files:
    """Each stream has a merged ledger of each split. A stream without a slice has them too: that of train names it."""
    names, end = names_in_asset_address(ledger.asset), f"/{SPLITS[0]}/{LEDGER_NAME}"
    named = (path.removesuffix(end) for path in ledger.files if path.endswith(end))
    caches = {each.asset for each in ledger.inputs}
    caches |= {
        each for each in named if kind_of(each) is TOKEN_CACHE and names.items() <= names_in_asset_address(each).items()
    }
    due = {index_path(ledger.asset), *(f"{ledger.asset}/{name}" for name in (CATALOG, DATA_YAML))}
    due |= {f"{cache}/{split}/{LEDGER_NAME}" for cache in caches for split in splits_of_slices(heads)}
    may = {f"{cache}/{split}/{LEDGER_NAME}" for cache in caches for split in _possible_splits(heads)}
    return due, {f"{ledger.asset}/{MIXTURE}", *may}


def _copied_stream_files(ledger: IndexLedger, heads: Sequence[Ledger]) -> Files:
    """Each stream has one copy, whose folder has a name of its own, with the checksums of each split."""
    due = {f"{ledger.asset}/{name}" for name in (CATALOG, DATA_YAML)}
    copies: dict[str, str] = {}
    for path in sorted(path for path in ledger.files if path.endswith(f"/{CHECKSUMS}")):
        copy = path.removesuffix(f"/{CHECKSUMS}").rpartition("/")[0]
        copies.setdefault(copy.removeprefix(f"{ledger.asset}/").rpartition("-")[0], copy)
    due |= {f"{copy}/{split}/{CHECKSUMS}" for copy in copies.values() for split in splits_of_slices(heads)}
    return due, {f"{copy}/{split}/{CHECKSUMS}" for copy in copies.values() for split in _possible_splits(heads)}


def _packing_plan_files(ledger: IndexLedger, heads: Sequence[Ledger]) -> Files:
    """Each split of each stream has a plan. Its examples are beside it if documents are packed: the plan tells."""
    names = names_in_asset_address(ledger.asset)
    plans = {path for path in ledger.files if path.endswith(".json")}
    length = {path.removesuffix(".json").rpartition("-")[2] for path in plans}
    due = {
        f"{packing_stem(names['mix'], names['tokenizer'], each.asset.rpartition('/')[2], split, int(number))}.json"
        for each in ledger.inputs
        for split in splits_of_slices(heads)
        for number in length
        if number.isdecimal()
    }
    return due, plans | {f"{path.removesuffix('.json')}.npy" for path in plans}
