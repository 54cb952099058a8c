"""Compares the slices of an index with those that the lake has finished: one that was put back lacks the newest."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from gristmill.errors import DataError, RecipeError
from gristmill.execution.work import Say
from gristmill.lake.address import Place, cache_index, documents_asset, mix_asset, place
from gristmill.lake.asset_kind import AssetKind
from gristmill.lake.asset_kinds import CONSOLIDATED, PACKING, kind_of, names_in_asset_address
from gristmill.lake.ledger.files import list_ledgers, mend_of_change, other_versions, read_head, shares_source
from gristmill.lake.ledger.index_ledger import IndexLedger
from gristmill.lake.ledger.model import Ledger, Upstream
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.mix import Stream
from gristmill.recipes.source import Source
from gristmill.stages.mixing.index import chosen_snapshots, has_documents, is_made_from_documents, read_index
from gristmill.text.natural_order import newest_snapshot

BEHIND = "it is behind"
"""How a finding begins on an index that lacks finished slices."""

OTHER_ORDER = "its slices are in another order than the keys of their snapshots, or twice"
"""What is wrong with an index whose slices are disordered."""

_SHOWN = 5


def slice_findings(store: Store, ledger: IndexLedger, shelves: Sequence[str], say: Say) -> Iterator[tuple[str, str]]:
    """The faults of the choice of an index: it lacks finished slices, or names some that it does not take.

    With each comes its mend, if `make` alone does not mend it; else an empty text.

    The recipe on the shelf says which it takes. Without a recipe, it takes all finished slices; but of a stream of
    which `index.json` names some as left, it takes the newest alone, as a source of editions does.

    Args:
        store: the lake.
        ledger: ledger of an index or of copies.
        shelves: the packages that hold the recipes.
        say: function that receives a note if no recipe says which slices it takes, and it leaves out some.
    """
    kind = kind_of(ledger.asset)
    if kind is None or kind.closes is None or kind.ordered:  # its marks are compared with its own order
        return
    slices = [(each.asset.rpartition("/")[2], each.snapshot) for each in ledger.inputs]
    if are_disordered(slices):
        yield OTHER_ORDER, ""
    if kind is PACKING:  # plans name their merged ledgers
        return
    there = _finished_slice_heads(store, kind.closes, names_in_asset_address(ledger.asset))
    named = set(slices)
    taken = _slices_index_takes(store, ledger, there, shelves, say)
    # `make` takes no slice whose documents are gone, unless their raw data are there: then it makes them first.
    whole = {
        stream: {k: head for k, head in heads.items() if _is_whole(store, head)} for stream, heads in there.items()
    }
    sure = taken if whole == there else _slices_index_takes(store, ledger, whole, shelves, lambda _: None)
    if (lacking := sorted(sure - named)) and not taken <= named:
        yield f"{BEHIND} by {_slices_in_words(lacking)}: finished, and not in it", ""
    if more := sorted(each for each in named - taken - sure if each[1] in there.get(each[0], {})):
        mend = _mend_of_refused(store, names_in_asset_address(ledger.asset)["mix"], shelves, more)
        yield f"it has {_slices_in_words(more)} that its recipe does not take", mend


def _mend_of_refused(store: Store, mix: str, shelves: Sequence[str], slices: Sequence[tuple[str, str]]) -> str:
    """The mend of slices that `make` refuses, since their stream reads other documents now; empty if it refuses none.

    It leaves slices of a former source alone if the source of now has no such snapshot.
    """
    catalogue = _catalogue(shelves)
    recipe = catalogue.mixes.get(mix) if catalogue else None
    streams = {stream.key: stream for stream in recipe.streams} if recipe else {}
    for key, snapshot in slices:
        stream, head = streams.get(key), _sound_head(store, place(mix_asset(mix, key), snapshot))
        if recipe is None or stream is None or head is None or (head.recipe.draft and recipe.draft):
            continue
        documents = place(documents_asset(stream.source, stream.version), snapshot)
        reads = [Upstream(documents.asset, snapshot, "")]
        there = shares_source(head, reads) or store.head(documents.ledger) is not None
        if there and other_versions(head, reads):
            return mend_of_change(head.recipe)
    return ""


def _sound_head(store: Store, slice_: Place) -> Ledger | None:
    """The head of a slice; None if it has none, or a damaged one, which has an audit of its own."""
    with suppress(DataError, RecipeError):
        return read_head(store, slice_)
    return None


def _slices_index_takes(
    store: Store, ledger: IndexLedger, finished: Mapping[str, Mapping[str, Ledger]], shelves: Sequence[str], say: Say
) -> set[tuple[str, str]]:
    """The slices that an index takes of those that are finished."""
    streams = _streams_with_sources(shelves, names_in_asset_address(ledger.asset)["mix"])
    if streams is None:
        return _slices_named_by_index(store, ledger, finished, say)
    found: set[tuple[str, str]] = set()
    named = {each.fingerprint for each in ledger.inputs}
    for stream, source in streams:
        own = _slices_of_own_source(store, stream, finished.get(stream.key, {}))
        found |= {(stream.key, key) for key in chosen_snapshots(stream.key, own, source, named)[0]}
    return found


def _slices_of_own_source(store: Store, stream: Stream, heads: Mapping[str, Ledger]) -> dict[str, Ledger]:
    """The slices that were made of the stream's own source. A stream may have had another one."""
    documents = documents_asset(stream.source, stream.version)
    found: dict[str, Ledger] = {}
    for key, head in heads.items():
        with suppress(DataError, RecipeError):  # what is damaged above has an audit of its own
            if not is_made_from_documents(store, head, documents):
                continue
        found[key] = head
    return found


def _is_whole(store: Store, head: Ledger) -> bool:
    """Whether the documents of a slice are there. What is damaged has an audit of its own."""
    try:
        return has_documents(store, head)
    except (DataError, RecipeError):
        return True


def are_disordered(slices: Sequence[tuple[str, str]]) -> bool:
    """Whether slices are in another order than any index has: stream by stream, the snapshots of each by their keys.

    A trainer reads the parts of a stream in this order.

    Args:
        slices: (stream, snapshot) of each.

    >>> are_disordered([("b", "1"), ("b", "2"), ("a", "1")]), are_disordered([("b", "2"), ("b", "1")])
    (False, True)
    """
    streams = list(dict.fromkeys(stream for stream, _ in slices))
    return list(slices) != sorted(set(slices), key=lambda each: (streams.index(each[0]), each[1]))


def _slices_in_words(slices: Sequence[tuple[str, str]]) -> str:
    shown = ", ".join(f"{stream} ({key})" for stream, key in slices[:_SHOWN])
    more = f" and {len(slices) - _SHOWN} more" if len(slices) > _SHOWN else ""
    return f"{len(slices)} {'slice' if len(slices) == 1 else 'slices'} ({shown}{more})"


def _finished_slice_heads(store: Store, kind: AssetKind, names: Mapping[str, str]) -> dict[str, dict[str, Ledger]]:
    """The heads of the finished slices with shards, by stream and snapshot. Damaged ones have audits of their own."""
    found: dict[str, dict[str, Ledger]] = {}
    fields = {field: name for field, name in names.items() if f"{{{field}}}" in kind.address}
    for partition in list_ledgers(store, kind.ledger.partition("{stream}")[0].format(**fields)):
        if partition.kind is not kind:
            continue
        head = _sound_head(store, partition)
        if head is not None and head.totals.get("shards"):
            found.setdefault(names_in_asset_address(partition.asset)["stream"], {})[partition.snapshot] = head
    return found


def _streams_with_sources(shelves: Sequence[str], name: str) -> list[tuple[Stream, Source]] | None:
    """The streams of a mix, each with its source; None if no shelf has the mix, or the shelves have an error."""
    catalogue = _catalogue(shelves)
    mix = catalogue.mixes.get(name) if catalogue else None
    return [(stream, catalogue.sources[stream.source]) for stream in mix.streams] if catalogue and mix else None


def _catalogue(shelves: Sequence[str]) -> Catalogue | None:
    """The recipes; None if the shelves have an error, which others tell."""
    with suppress(RecipeError):
        return read_catalogue(tuple(shelves), checked=False)
    return None


def _slices_named_by_index(
    store: Store, ledger: IndexLedger, finished: Mapping[str, Mapping[str, Ledger]], say: Say
) -> set[tuple[str, str]]:
    """The slices that an index takes by what it says itself."""
    asset = ledger.asset
    if kind_of(asset) is CONSOLIDATED:
        asset = cache_index(names_in_asset_address(asset)["mix"], names_in_asset_address(asset)["tokenizer"])
    index = read_index(store, asset)
    left = {stream for stream, slash, _ in (each.partition("/") for each in (index.left if index else ())) if slash}
    if editions := sorted(left & finished.keys()):
        streams = ", ".join(editions)
        say(f"{ledger.asset}: no recipe on the shelves says that it takes the newest slice alone of {streams}")
    return {
        (stream, key)
        for stream, heads in finished.items()
        for key in ([newest_snapshot(sorted(heads))] if stream in left else heads)
    }
