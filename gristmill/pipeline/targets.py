"""Targets: what a person asks `make` and `plan` for, as words, and the assets that they mean."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from gristmill.errors import RecipeError
from gristmill.lake.address import tokenizer_asset
from gristmill.lake.asset_kinds import (
    DOCUMENTS,
    EXPORT,
    KINDS,
    LABELS,
    MIX,
    MODEL,
    PACKAGED,
    TOKEN_CACHE,
    names_in_asset_address,
)
from gristmill.recipes.catalogue import Catalogue

_OF_A_MIX = tuple(dict.fromkeys(kind.top_folder for kind in KINDS if kind.made_by == MIX.made_by))
"""The first folders of the addresses that have the name of a mix in the second place."""

_SHOWN = 6
"""Addresses of an attribute set in a message."""


@dataclass(frozen=True)
class Targets:
    """The assets and snapshots that were asked for.

    Attributes:
        addresses: addresses, or the beginnings of addresses up to a `/`. None: all assets, but no tokenizer that no
            mix uses, and no model that no tagger uses.
        snapshots: keys of snapshots. Empty: all.
    """

    addresses: tuple[str, ...] | None = None
    snapshots: tuple[str, ...] = ()

    def has_named(self, address: str) -> bool:
        """Whether an asset was asked for by name.

        >>> Targets(("sources/wiki/v1",)).has_named("sources/wiki/v1/documents")
        True
        """
        return any(f"{address}/".startswith(f"{each}/") for each in self.addresses or ())

    def asks_for(self, address: str) -> bool:
        """Whether an asset was asked for, by name or because all were."""
        return self.addresses is None or self.has_named(address)

    def asks_for_snapshot(self, snapshot: str) -> bool:
        """Whether a snapshot was asked for."""
        return not self.snapshots or snapshot in self.snapshots


def read_targets(catalogue: Catalogue, words: Sequence[str], snapshots: Sequence[str] = ()) -> Targets:
    """The targets that some words mean.

    A word is the name of a source (all its versions and attribute sets), a mix (its documents, token caches, exports,
    and their indexes), a tokenizer, a model, a labelled set, an attribute set (in all sources and versions), or an
    export (of all its mixes); `source/version`, `mix/tokenizer` or `mix/export`; or an address or its beginning, such
    as `sources/wiki/v1`.
    `mixes/NAME` means the same as the mix's name.

    Args:
        catalogue: all recipes.
        words: words that name targets; without words, all assets are targets.
        snapshots: keys of snapshots.

    Raises:
        RecipeError: a word means nothing on these shelves, or several things.
    """
    addresses = tuple(address for word in words for address in _addresses_of_word(catalogue, word))
    return Targets(addresses if words else None, tuple(snapshots))


def is_target(catalogue: Catalogue, word: str) -> bool:
    """Whether a word is a target on these shelves, or several."""
    return bool(_meanings_of_word(catalogue, word.rstrip("/")))


def _addresses_of_word(catalogue: Catalogue, word: str) -> tuple[str, ...]:
    found = _meanings_of_word(catalogue, word.rstrip("/"))
    if len(found) > 1:
        kinds = " and ".join(f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}" for kind in found)
        forms = " or ".join(_unambiguous_target(kind, addresses) for kind, addresses in found.items())
        raise RecipeError(f"{word!r} is both {kinds}: write {forms}")
    if found:
        return next(iter(found.values()))
    raise RecipeError(f"{word!r} is on no shelf; {_known_names_in_words(catalogue, word)}")


def _unambiguous_target(kind: str, addresses: Sequence[str]) -> str:
    """How a person asks for just this meaning of a word: an attribute set by all its addresses."""
    if kind != "attribute set":
        return addresses[0]
    more = len(addresses) - _SHOWN
    return " ".join(addresses[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _meanings_of_word(catalogue: Catalogue, word: str) -> dict[str, tuple[str, ...]]:
    """The beginnings of addresses that a word means, by the kind of thing that it names."""
    if not word:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    if word in catalogue.sources:
        found["source"] = (f"{DOCUMENTS.top_folder}{word}",)
    if word.removeprefix(MIX.top_folder) in catalogue.mixes:
        found["mix"] = tuple(f"{top}{word.removeprefix(MIX.top_folder)}" for top in _OF_A_MIX)
    if word in catalogue.exports:
        found["export"] = tuple(f"{EXPORT.top_folder}{mix}/{word}" for mix in catalogue.exports[word].mixes)
    found |= dict(_unpartitioned_assets_named(catalogue, word))
    found |= {
        kind.name: (f"{kind.top_folder}{word}",) for kind in PACKAGED if word in catalogue.rows.get(kind.name, {})
    }
    if sets := tuple(_set_addresses(catalogue, word)):
        found["attribute set"] = sets
    for top in (
        ("", DOCUMENTS.top_folder, TOKEN_CACHE.top_folder, EXPORT.top_folder) if "/" in word and not found else ()
    ):
        if any(f"{address}/".startswith(f"{top}{word}/") for address in addresses_of_assets(catalogue)):
            found[f"address below {top or 'the lake'}"] = (f"{top}{word}",)
    return found


def _unpartitioned_assets_named(catalogue: Catalogue, word: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The assets without partitions that have this name, each with its kind."""
    if word in catalogue.tokenizers:
        yield "tokenizer", (tokenizer_asset(word),)
    if word in catalogue.models:
        yield "model", (MODEL.at(model=word),)
    if word in catalogue.labels:
        yield "labelled set", (LABELS.at(labels=word),)


def _set_addresses(catalogue: Catalogue, name: str) -> Iterator[str]:
    """The addresses of an attribute set in all sources and versions."""
    return (
        address for address, _ in catalogue.partitioned_assets() if names_in_asset_address(address).get("set") == name
    )


def addresses_of_assets(catalogue: Catalogue) -> Iterator[str]:
    """The address of every asset that is made from recipes."""
    yield from (address for address, _ in catalogue.partitioned_assets())
    yield from catalogue.indexes()
    yield from (tokenizer_asset(name) for name in catalogue.tokenizers)
    yield from (LABELS.at(labels=name) for name in catalogue.labels)
    yield from (MODEL.at(model=name) for name in catalogue.models)
    yield from (dedupe.asset for dedupe in catalogue.dedupes.values())


def _known_names_in_words(catalogue: Catalogue, word: str) -> str:
    """What there is, for the message, with the names that are spelt almost alike in front."""
    shelves: dict[str, Iterable[str]] = {
        "sources": catalogue.sources,
        "mixes": catalogue.mixes,
        "tokenizers": catalogue.tokenizers,
        "attribute sets": [*catalogue.taggers, *catalogue.dedupes],
    }
    others: dict[str, Iterable[str]] = {
        "exports": catalogue.exports,
        "models": catalogue.models,
        "labelled sets": catalogue.labels,
        **catalogue.rows,
    }
    shelves |= {kind: names for kind, names in others.items() if names}
    every = [*(name for shelf in shelves.values() for name in shelf), *addresses_of_assets(catalogue)]
    near = get_close_matches(word, every, 3)
    listed = "; ".join(f"{kind}: {', '.join(names) or 'none'}" for kind, names in shelves.items())
    return f"{listed}; did you mean {' or '.join(near)}?" if near else listed
