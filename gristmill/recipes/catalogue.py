"""The catalogue: all recipes of the shelves, read once for all assets. It checks that the names they use exist."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

from gristmill.errors import RecipeError
from gristmill.lake.address import (
    attributes_asset,
    cache_asset,
    cache_index,
    documents_asset,
    export_asset,
    export_index,
    mix_asset,
    mix_index,
)
from gristmill.recipes.export import Export
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.shelf import read_shelf
from gristmill.recipes.source import Source
from gristmill.recipes.tagger import Tagger
from gristmill.recipes.tokenizer import Tokenizer

T = TypeVar("T")


@dataclass(frozen=True)
class Catalogue:
    """All recipes, by name.

    Attributes:
        sources: see Source.
        taggers: see Tagger.
        mixes: see Mix.
        tokenizers: see Tokenizer.
        exports: see Export.
    """

    sources: dict[str, Source]
    taggers: dict[str, Tagger]
    mixes: dict[str, Mix]
    tokenizers: dict[str, Tokenizer]
    exports: dict[str, Export] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Checks that every name in a recipe exists.

        Raises:
            RecipeError: a recipe names another that is on no shelf; the message lists the names.
        """
        for mix in self.mixes.values():
            self._check_mix(mix)
        for export in self.exports.values():
            for name in export.mixes:
                known("mix", self.mixes, name, f"export {export.name!r}")
        for source in self.sources.values():
            for revision in source.revisions:
                self._check_sets(revision.sets, f"source {source.name!r}, {revision.version}")
        for tokenizer in self.tokenizers.values():
            if tokenizer.training is not None:
                mix = known("mix", self.mixes, tokenizer.training.mix, f"tokenizer {tokenizer.name!r}")
                for stream_name in tokenizer.training.snapshots:
                    mix.stream(stream_name)

    def _check_mix(self, mix: Mix) -> None:
        """Checks the sources, versions, attribute sets and tokenizers that a mix names."""
        for stream in mix.streams:
            source = known("source", self.sources, stream.source, f"mix {mix.name!r}")
            known("version", dict.fromkeys(source.versions), stream.version, f"mix {mix.name!r}, {stream.source}")
            self._check_sets(stream.sets, f"mix {mix.name!r}, stream {stream.key!r}")
        for name in mix.tokenizers:
            known("tokenizer", self.tokenizers, name, f"mix {mix.name!r}")

    def _check_sets(self, sets: Sequence[str], who: str) -> None:
        """Checks attribute sets that a recipe names."""
        for name in sets:
            known("tagger", self.taggers, name, who)

    def taggers_of(self, source: Source, version: str) -> list[Tagger]:
        """The taggers of a dataset version.

        All taggers that apply to the source tag its newest version. Older versions have only the sets that rules name.

        Args:
            source: the source.
            version: one of its versions.
        """
        applying = [t for t in self.taggers.values() if t.applies_to(source.name)]
        if version == source.current:
            return applying
        named = self._named(source, version)
        return [tagger for tagger in self.taggers.values() if tagger.name in named]

    def _named(self, source: Source, version: str) -> set[str]:
        """The names of attribute sets that rules over a dataset version name."""
        number = source.versions.index(version)
        named = {name for revision in source.revisions[number : number + 1] for name in revision.sets}
        for _, stream in self.streams():
            if (stream.source, stream.version) == (source.name, version):
                named |= set(stream.sets)
        return named

    def streams(self) -> list[tuple[Mix, Stream]]:
        """All streams of all mixes, each with its mix."""
        return [(mix, stream) for mix in self.mixes.values() for stream in mix.streams]

    def slices(self) -> Iterator[tuple[str, str]]:
        """The address of every partitioned asset, each with the source whose snapshots are its partitions."""
        for source in self.sources.values():
            for version in source.versions:
                yield documents_asset(source.name, version), source.name
                for tagger in self.taggers_of(source, version):
                    yield attributes_asset(source.name, version, tagger.name), source.name
        for mix, stream in self.streams():
            yield mix_asset(mix.name, stream.key), stream.source
            for tokenizer in self.tokenizers_of(mix):
                yield cache_asset(mix.name, tokenizer.name, stream.key), stream.source
            for export in self.exports_of(mix):
                yield export_asset(mix.name, export.name, stream.key), stream.source

    def indexes(self) -> Iterator[str]:
        """The address of every index: of mixes, token caches and exports."""
        for mix in self.mixes.values():
            yield mix_index(mix.name)
            yield from (cache_index(mix.name, tokenizer.name) for tokenizer in self.tokenizers_of(mix))
            yield from (export_index(mix.name, export.name) for export in self.exports_of(mix))

    def tokenizers_of(self, mix: Mix) -> list[Tokenizer]:
        """The tokenizers that tokenize a mix."""
        return [t for t in self.tokenizers.values() if not mix.tokenizers or t.name in mix.tokenizers]

    def exports_of(self, mix: Mix) -> list[Export]:
        """The exports that name a mix."""
        return [export for export in self.exports.values() if mix.name in export.mixes]


def known(what: str, shelf: Mapping[str, T], name: str, who: str) -> T:
    """The recipe of this name.

    Args:
        what: its kind, for the message.
        shelf: all recipes of this kind.
        name: its name.
        who: the recipe that names it, for the message.

    Raises:
        RecipeError: there is none; the message lists the names.
    """
    if name not in shelf:
        raise RecipeError(f"{who} names the {what} {name!r}, which is on no shelf; known: {', '.join(shelf) or 'none'}")
    return shelf[name]


@cache
def read_catalogue(packages: tuple[str, ...]) -> Catalogue:
    """The recipes on all shelves of these packages, read once per process.

    Args:
        packages: packages that have shelves, such as `("gristmill",)`.

    Raises:
        RecipeError: a module does not declare exactly one recipe, or a recipe is not valid, or names one that is on no
            shelf.
    """
    return Catalogue(
        sources=read_shelf("sources", Source, packages),
        taggers=read_shelf("taggers", Tagger, packages),
        mixes=read_shelf("mixes", Mix, packages),
        tokenizers=read_shelf("tokenizers", Tokenizer, packages),
        exports=read_shelf("exports", Export, packages),
    )
