"""The catalogue: all recipes of the shelves, read once for all assets. It checks that the names they use exist."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

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
from gristmill.lake.asset_kind import AssetKind
from gristmill.lake.asset_kinds import FINGERPRINTS, PACKAGED, kind_of, names_in_asset_address
from gristmill.plugins import Door
from gristmill.recipes.code.digest import redeclare_packages
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.named_sources import check_dedupe
from gristmill.recipes.edits.carried import carried_name, original_set_name
from gristmill.recipes.edits.named_labels import check_adopted, check_carried, check_labels
from gristmill.recipes.edits.transform import Transform
from gristmill.recipes.export import Export
from gristmill.recipes.label import Score, Spans
from gristmill.recipes.mix import ALL, Mix, Stream
from gristmill.recipes.mixture.origin_columns import set_origin_values
from gristmill.recipes.models.checks import check_models
from gristmill.recipes.models.labelled_set import LabelledSet
from gristmill.recipes.models.model import Model
from gristmill.recipes.rows_recipe import RowsRecipe, read_rows_recipes, rows_problems
from gristmill.recipes.selection import Selection, skip_sql_checks
from gristmill.recipes.shelf import known_recipe, read_shelf
from gristmill.recipes.source import Source
from gristmill.recipes.source_versions import check_there
from gristmill.recipes.tagger import Tagger
from gristmill.recipes.tokenizer import Tokenizer

OF_WINGS = Door[type[Any]]("shelves", "a class of recipes", lambda _, found: isinstance(found, type))
"""The classes of recipes that a wing declares, by the names of their shelves."""


@dataclass(frozen=True)
class Catalogue:
    """All recipes, by name.

    Attributes:
        sources: sources by name.
        taggers: taggers by name.
        mixes: mixes by name.
        tokenizers: tokenizers by name.
        labels: labelled sets by name.
        models: models and lists by name.
        exports: exports by name.
        watched_folders: watched folders by name.
        dedupes: dedupes by name.
        transforms: transforms by name.
        rows: recipes of the kinds that installed packages add, by kind and name.
    """

    sources: dict[str, Source]
    taggers: dict[str, Tagger]
    mixes: dict[str, Mix]
    tokenizers: dict[str, Tokenizer]
    exports: dict[str, Export] = field(default_factory=dict)
    watched_folders: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, LabelledSet] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)
    dedupes: dict[str, Dedupe] = field(default_factory=dict)
    transforms: dict[str, Transform] = field(default_factory=dict)
    rows: dict[str, dict[str, RowsRecipe]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Checks that every name in a recipe exists.

        Raises:
            RecipeError: a recipe names another that is on no shelf, or a label that its tagger does not declare; the
                message lists the names, the near ones first.
        """
        self._check_taggers()
        for dedupe in self.dedupes.values():
            check_dedupe(dedupe, self.sources, self.taggers, self.dedupes)
        for mix in self.mixes.values():
            self._check_mix(mix)
        object.__setattr__(self, "mixes", {name: self._with_origins(mix) for name, mix in self.mixes.items()})
        for export in self.exports.values():
            for name in export.mixes:
                mix = known_recipe("mix", self.mixes, name, f"export {export.name!r}")
                export.check_mix(name, mix.validation, {each.name for each in self.tokenizers_of_mix(mix)})
        for folder in self.watched_folders.values():
            folder.check_beside(self.watched_folders.values())
        makers: dict[str, Tagger | Dedupe] = {**self.taggers, **self.dedupes}
        for source in self.sources.values():
            for revision in source.revisions:
                before = source.versions[source.versions.index(revision.version) - 1]
                who = f"source {source.name!r}, {revision.version}"
                self._check_labels(revision, who, source, before)
                check_carried(
                    self.carried_sets_of_version(source, revision.version),
                    who,
                    self.attribute_sets_of_version(source, before),
                    makers,
                )
            self._check_adopted(source)
        for tokenizer in self.tokenizers.values():
            self._check_training(tokenizer)
        check_models(self.sources, self.taggers, self.labels, self.models)
        self._check_rows()

    def _check_rows(self) -> None:
        """Checks the sources that recipes of installed packages name."""
        for kind, recipes in self.rows.items():
            for each in recipes.values():
                check_there(each.versions, self.sources, f"{kind} {each.name!r}")

    def _check_taggers(self) -> None:
        """Checks the sources and the models that taggers name."""
        for tagger in self.taggers.values():
            tagged = f"tagger {tagger.name!r} (only=)"
            _ = [
                known_recipe("source", self.sources, name, tagged)
                for name in sorted(tagger.only)
                if not name.endswith("*")
            ]
            _ = [known_recipe("model", self.models, name, f"tagger {tagger.name!r}") for name in tagger.models]

    def _check_training(self, tokenizer: Tokenizer) -> None:
        """Checks the mix and the streams that a tokenizer is trained on."""
        if tokenizer.training is not None:
            mix = known_recipe("mix", self.mixes, tokenizer.training.mix, f"tokenizer {tokenizer.name!r}")
            for stream_name in tokenizer.training.snapshots:
                mix.stream(stream_name)

    def _check_mix(self, mix: Mix) -> None:
        """Checks the sources, versions, attribute sets and tokenizers that a mix names."""
        for stream in mix.streams:
            source = known_recipe("source", self.sources, stream.source, f"mix {mix.name!r}")
            known_recipe(
                "version", dict.fromkeys(source.versions), stream.version, f"mix {mix.name!r}, {stream.source}"
            )
            try:
                self._check_labels(stream, f"mix {mix.name!r}, stream {stream.key!r}", source, stream.version)
            except RecipeError as error:
                if not mix.mend_of_names:
                    raise
                raise RecipeError(f"{error}{mix.mend_of_names}") from error
            for dedupe in (self.dedupes[name] for name in stream.sets if name in self.dedupes):
                if dedupe.versions.get(source.name) != stream.version:
                    raise RecipeError(
                        f"mix {mix.name!r}, stream {stream.key!r}: dedupe {dedupe.name!r} does not compare"
                        f" {source.name}/{stream.version}; add it to its sources="
                    )
            sets = [name for name in stream.sets if name in self.taggers and stream.version == source.current]
            for tagger in (self.taggers[name] for name in sets):
                if not tagger.applies_to(source.name):
                    raise RecipeError(
                        f"mix {mix.name!r}, stream {stream.key!r}: tagger {tagger.name!r} does not tag"
                        f" {source.name}; add it to the tagger's only="
                    )
        for name in mix.tokenizers if mix.tokenizers != ALL else ():
            known_recipe("tokenizer", self.tokenizers, name, f"mix {mix.name!r}")

    def _with_origins(self, mix: Mix) -> Mix:
        """The mix with what its sources declare, where rules read it."""
        streams = []
        for stream in mix.streams:
            source = self.sources[stream.source]
            declared = source.origins | ({"language": stream.language} if stream.language else {})
            who = f"mix {mix.name!r}, stream {stream.key!r} of source {source.name!r}"
            streams.append(set_origin_values(stream, declared, who))
        same = all(new is old for new, old in zip(streams, mix.streams, strict=True))
        return mix if same else replace(mix, streams=tuple(streams))

    def _check_adopted(self, source: Source) -> None:
        """Checks that no adopted set has the name of a tagger's set, or one that differs only by - and _."""
        for version in source.versions:
            names = {tagger.name: "a tagger's" for tagger in self.taggers_of_version(source, version)}
            names |= {each.name: "that of the dedupe recipe" for each in self.dedupes_of_version(source, version)}
            adopted = [each.name for each in source.adopted_sets(version)]
            check_adopted(adopted, names, f"source {source.name!r}, {version}")

    def _check_labels(self, selection: Selection, who: str, source: Source, version: str) -> None:
        """Checks the transforms, the attribute sets and the labels that a selection of a version names."""
        _ = [known_recipe("transform", self.transforms, name, who) for name in selection.transforms]
        adopted = [each.name for each in source.adopted_sets(version)]
        carried = [carried_name(name) for name in self.carried_sets_of_version(source, version)]
        check_labels(selection, who, {**self.taggers, **self.dedupes}, adopted, carried)

    @property
    def notes(self) -> list[str]:
        """The notes on what is valid, but may be meant otherwise: one line each, for people."""
        bare = [tagger.name for tagger in self.taggers.values() if tagger.declared is None]
        found = [
            f"tagger {name} declares no labels, so rules that name them are not checked: give it labels="
            for name in bare
        ]
        if self.tokenizers:
            found += [
                f"mix {mix.name} names no tokenizers, so its documents are not tokenized: give it"
                f" tokenizers=({next(iter(self.tokenizers))!r},) or {ALL!r}"
                for mix in self.mixes.values()
                if not mix.tokenizers
            ]
        found += [
            f"source {each.name}: its reader gives its documents the source {each.read_as!r}, not {each.name!r}:"
            " takedown and trace take that name"
            for each in self.sources.values()
            if each.renames
        ]
        return found + rows_problems()

    def taggers_of_version(self, source: Source, version: str) -> list[Tagger]:
        """The taggers of a dataset version.

        All taggers that apply to the source tag its newest version. Older versions have only the sets that rules name.

        Args:
            source: the source.
            version: one of its versions.
        """
        applying = [t for t in self.taggers.values() if t.applies_to(source.name)]
        if version == source.current:
            return applying
        named = self._sets_named_by_rules(source, version)
        return [tagger for tagger in self.taggers.values() if tagger.name in named]

    def dedupes_of_version(self, source: Source, version: str) -> list[Dedupe]:
        """The dedupe recipes that compare the documents of a dataset version.

        Args:
            source: the source.
            version: one of its versions.
        """
        return [each for each in self.dedupes.values() if each.versions.get(source.name) == version]

    def rows_recipes_of_version(self, source: Source, version: str) -> Iterator[tuple[AssetKind, RowsRecipe]]:
        """The recipes of kinds of installed packages that read the documents of a dataset version.

        Args:
            source: the source.
            version: one of its versions.

        Yields:
            The kind, and the recipe.
        """
        for kind in PACKAGED:
            for each in self.rows.get(kind.name, {}).values():
                if each.versions.get(source.name) == version:
                    yield kind, each

    def edition_sources_of_dedupe(self, dedupe: Dedupe) -> frozenset[str]:
        """The names of the sources of a dedupe recipe whose snapshots are editions, which replace each other."""
        return frozenset(name for name in dedupe.versions if self.sources[name].snapshots == "replace")

    def carried_sets_of_version(self, source: Source, version: str) -> dict[str, tuple[Score | Spans, ...] | None]:
        """The sets of the version before that are carried to a version: their labels, by name; None: not declared.

        Args:
            source: the recipe.
            version: the version.
        """
        revision = source.revision(version)
        found: dict[str, tuple[Score | Spans, ...] | None] = {}
        for name in revision.carry if revision else ():
            maker = self.taggers.get(original_set_name(name)) or self.dedupes.get(original_set_name(name))
            found[name] = None if maker is None or maker.labels is None else tuple(maker.labels)
        return found

    def attribute_sets_of_version(self, source: Source, version: str) -> list[str]:
        """The names of the attribute sets of a dataset version: adopted, of taggers, of dedupe, and carried ones.

        Args:
            source: the recipe.
            version: the version, such as `v0`.
        """
        adopted = [each.name for each in source.adopted_sets(version)]
        taggers = [each.name for each in self.taggers_of_version(source, version)]
        dedupes = [each.name for each in self.dedupes_of_version(source, version)]
        return (
            adopted + taggers + dedupes + [carried_name(name) for name in self.carried_sets_of_version(source, version)]
        )

    def _sets_named_by_rules(self, source: Source, version: str) -> set[str]:
        """The names of attribute sets that rules over a dataset version name, or that choose what its clusters keep."""
        number = source.versions.index(version)
        following = [source.revision(each) for each in source.versions[number + 1 : number + 2]]
        named = {name for revision in following if revision for name in (*revision.sets, *revision.carry)}
        named |= {name for dedupe in self.dedupes_of_version(source, version) for name in dedupe.scored_by}
        for _, stream in self.streams():
            if (stream.source, stream.version) == (source.name, version):
                named |= set(stream.sets)
        return named

    def check_sql(self) -> None:
        """Checks the SQL of all rules. A module may have been imported without (see read_catalogue).

        Raises:
            RecipeError: a rule is wrong; the message names the recipe that has it.
        """
        for mix, stream in self.streams():
            stream.check_sql(f"mix {mix.name!r}, stream {stream.key!r}")
        for source in self.sources.values():
            for revision in source.revisions:
                revision.check_sql(f"source {source.name!r}, {revision.version}")

    def streams(self) -> list[tuple[Mix, Stream]]:
        """All streams of all mixes, each with its mix."""
        return [(mix, stream) for mix in self.mixes.values() for stream in mix.streams]

    def partitioned_assets(self) -> Iterator[tuple[str, str]]:
        """The address of every partitioned asset, each with the source whose snapshots are its partitions."""
        for source in self.sources.values():
            for version in source.versions:
                yield documents_asset(source.name, version), source.name
                for dedupe in self.dedupes_of_version(source, version):
                    yield FINGERPRINTS.at(dedupe=dedupe.name, source=source.name), source.name
                for name in self.attribute_sets_of_version(source, version):
                    yield attributes_asset(source.name, version, name), source.name
                for kind, each in self.rows_recipes_of_version(source, version):
                    yield kind.at(recipe=each.name, source=source.name), source.name
        for mix, stream in self.streams():
            yield mix_asset(mix.name, stream.key), stream.source
            for tokenizer in self.tokenizers_of_mix(mix):
                yield cache_asset(mix.name, tokenizer.name, stream.key), stream.source
            for export in self.exports_of_mix(mix):
                yield export_asset(mix.name, export.name, stream.key), stream.source

    def indexes(self) -> Iterator[str]:
        """The address of every index: of mixes, token caches and exports."""
        for mix in self.mixes.values():
            yield mix_index(mix.name)
            yield from (cache_index(mix.name, tokenizer.name) for tokenizer in self.tokenizers_of_mix(mix))
            yield from (export_index(mix.name, export.name) for export in self.exports_of_mix(mix))

    def assets_without_recipe(self, assets: Iterable[str]) -> set[str]:
        """The assets that Gristmill has made, and that none of these recipes makes again.

        What a dedupe compared in former rounds belongs to its recipe, whatever the recipe compares now.

        Args:
            assets: addresses of assets to choose from.

        Returns:
            The addresses of those.
        """
        made, found = {*(asset for asset, _ in self.partitioned_assets()), *self.indexes()}, set[str]()
        shelves: dict[str, Collection[str]] = {"dedupe": self.dedupes, "labels": self.labels, "model": self.models}
        for asset in assets:
            kind, names = kind_of(asset), names_in_asset_address(asset)
            own = [names[field] in shelf for field, shelf in shelves.items() if field in names]
            if kind is not None and kind.made_by and not (own[0] if own else asset in made):
                found.add(asset)
        return found

    def tokenizers_of_mix(self, mix: Mix) -> list[Tokenizer]:
        """The tokenizers that tokenize a mix."""
        return [each for each in self.tokenizers.values() if mix.tokenizers == ALL or each.name in mix.tokenizers]

    def exports_of_mix(self, mix: Mix) -> list[Export]:
        """The exports that name a mix."""
        return [export for export in self.exports.values() if mix.name in export.mixes]


def read_catalogue(packages: tuple[str, ...], *, checked: bool = True) -> Catalogue:
    """The recipes on all shelves of these packages, read once per process.

    Two packages may declare one recipe. Its code is that of the package that was asked for last.

    Args:
        packages: packages that have shelves, such as `("gristmill",)`.
        checked: whether the SQL of rules is checked. Proofs run no rule.

    Raises:
        RecipeError: a module does not declare exactly one recipe, or a recipe is wrong, or names one that is on no
            shelf.
    """
    catalogue = _read_once(packages, checked=checked)
    redeclare_packages(packages)
    return catalogue


@cache
def _read_once(packages: tuple[str, ...], *, checked: bool) -> Catalogue:
    with nullcontext() if checked else skip_sql_checks():
        catalogue = _read_catalogue(packages)
    if checked:
        catalogue.check_sql()
    return catalogue


def _read_catalogue(packages: tuple[str, ...]) -> Catalogue:
    return Catalogue(
        sources=read_shelf("sources", Source, packages),
        taggers=read_shelf("taggers", Tagger, packages),
        mixes=read_shelf("mixes", Mix, packages),
        tokenizers=read_shelf("tokenizers", Tokenizer, packages),
        exports=read_shelf("exports", Export, packages),
        watched_folders=read_shelf("watched_folders", OF_WINGS.load("watched_folders"), packages),
        labels=read_shelf("labels", LabelledSet, packages),
        models=read_shelf("models", Model, packages),
        dedupes=read_shelf("dedupes", Dedupe, packages),
        transforms=read_shelf("transforms", Transform, packages),
        rows=read_rows_recipes(packages),
    )
