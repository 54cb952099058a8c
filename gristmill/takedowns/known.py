"""What a lake knows of the documents that somebody asks for. A name that nobody knows is misspelt, and proves nothing.

A document is known if it has a place in the lake, or if a blocklist or the record of an erasure names it. What was not
searched makes nothing known: a name that is put on a list for that reason would count as known from then on.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from itertools import islice

from gristmill.errors import GristmillError, known_names
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.rows.blocklists.blocklist import erased_pairs, listed_pairs
from gristmill.lake.store.protocol import Store
from gristmill.takedowns.chosen import UrlRow, first_versions
from gristmill.takedowns.id_rows import rows_by_shard
from gristmill.takedowns.places import Search
from gristmill.takedowns.wanted import Wanted
from gristmill.tracing.rows import Partition

_SHARDS = 8
"""Shards of a partition of which the first rows are read to find near names."""
_COMPARED = 20_000
"""Names that are compared with one that is unknown."""


def pairs_with_similar_id(store: Store, matches: Callable[[str], object]) -> set[Pair]:
    """The pairs of blocklists and records of erasures whose id is an address that matches.

    Args:
        store: the lake.
        matches: whether a URL does.

    Raises:
        DataError: a list or a record is wrong.
    """
    return {pair for pair in listed_pairs(store) | erased_pairs(store) if matches(pair[1])}


def unknown_documents(store: Store, wanted: Wanted, search: Search) -> dict[Pair, str]:
    """The wanted documents that nobody knows, each with what is near to it, in words.

    A document that a list names is unknown all the same if only its source is wrong: if the recipe of this name makes
    documents of other sources, and one of them has its id.

    Args:
        store: the lake.
        wanted: the documents.
        search: their places.

    Raises:
        DataError: a blocklist or the record of an erasure is wrong.
        StoreError: the lake does not answer.
    """
    placed = {each.pair for each in search.found if each.area != "labels" and not each.by_id_of}
    labelled = {each.pair for each in search.found if each.area == "labels"}  # what people brought has no source
    by_id = {(each.by_id_of, each.pair) for each in search.found if each.by_id_of}
    nowhere = [pair for pair in wanted.reasons if pair not in placed]
    if not nowhere:
        return {}
    named = listed_pairs(store) | erased_pairs(store)
    seen = _SeenNames(store)
    words: dict[Pair, str] = {}
    for pair in nowhere:
        others = seen.others(pair)
        misnamed = [other for recipe, other in others if recipe == pair[0] and not seen.makes(recipe, pair[0])]
        if (pair in named and not misnamed) or (pair in labelled and pair[0] in seen.sources and not others):
            continue
        if any(pair == other and (pair[0] == recipe or seen.makes(recipe, pair[0])) for recipe, other in by_id):
            continue
        near = misnamed or [other for _, other in others]
        near += [] if near else [(pair[0], name) for name in seen.near_ids(pair)]
        told = ", ".join(f"{id_!r} of {source!r}" for source, id_ in near)
        if told:
            words[pair] = f"near: {told}"
        elif pair[0] in seen.sources:
            words[pair] = "no id of this source is near"
        else:
            words[pair] = f"sources: {known_names(pair[0], seen.sources)}"
    return words


def unknown_document_lines(nobody: Mapping[Pair, str], search: Search) -> list[str]:
    """A line for people on each document that nobody knows: what is near to it, and how to go on.

    Args:
        nobody: result of unknown_documents().
        search: the search for them.
    """
    searched, mend = "", ""
    if search.unsearched:
        searched, mend = "searched ", "; not all was searched: make it (gristmill make), or takedown --scan; ask again"
    nothing = f"no {searched}document, blocklist or record of an erasure names it"
    return [f"{id_!r} of {source!r} is unknown: {nothing}; {near}{mend}" for (source, id_), near in nobody.items()]


def similar_urls(store: Store, pattern: str) -> str:
    """The URLs of a lake that are near to one that no document has, in words."""
    return known_names(pattern, _SeenNames(store).urls)


class _SeenNames:
    """The names in the first rows of a lake: only near names are taken from them, so not all are read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._versions: list[Partition] = []
        self._by_recipe: dict[str, dict[str, list[str]]] = {}
        self.urls: list[str] = []
        for version in first_versions(store, Search()):
            self._versions.append(version)
            ids = self._by_recipe.setdefault(names_in_asset_address(version.place.asset)["source"], {})
            for row in _read_first_rows(version):
                ids.setdefault(row.source, []).append(row.id)
                self.urls += [row.url] if row.url and len(self.urls) < _COMPARED else []

    @property
    def sources(self) -> list[str]:
        """The sources of documents."""
        return sorted({source for ids in self._by_recipe.values() for source in ids})

    def makes(self, recipe: str, source: str) -> bool:
        """Whether a recipe makes documents of a source."""
        return source in self._by_recipe.get(recipe, {})

    def others(self, pair: Pair) -> list[tuple[str, Pair]]:
        """The documents with the same id and another source: each with the name of its recipe, sorted."""
        found: set[tuple[str, Pair]] = set()
        for version in self._versions:
            recipe = names_in_asset_address(version.place.asset)["source"]
            same = Wanted({(source, pair[1]): "" for source in self._by_recipe[recipe] if source != pair[0]})
            if same:
                shards = list(version.shards.values())
                rows = rows_by_shard(self._store, version.place, shards, same, proven=False)
                found |= {(recipe, other) for each in rows for other in each.rows}
        return sorted(found)

    def near_ids(self, pair: Pair) -> Sequence[str]:
        """Ids of the same source that are near."""
        ids = [name for by_source in self._by_recipe.values() for name in by_source.get(pair[0], ())]
        return get_close_matches(pair[1], ids[:_COMPARED], cutoff=0.7)


def _read_first_rows(version: Partition) -> Iterator[UrlRow]:
    for shard in islice((each for each in version.shards.values() if each.rows), _SHARDS):
        with suppress(GristmillError):  # the search itself tells of a shard that cannot be read
            for _, rows in islice(open_shard(version.store, version.place, shard).rows(UrlRow, verified=False), 1):
                yield from rows
