"""Adopted: a dataset in Dolma's layout that others have made. It is used where it is, and never copied or changed."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gristmill.errors import DataError, RecipeError
from gristmill.lake.asset_kind import field_expression
from gristmill.lake.asset_kinds import version_rank
from gristmill.lake.store.endpoint import check_lake_url
from gristmill.recipes.adopted.attribute_set import AdoptedSet
from gristmill.recipes.adopted.layout import DolmaLayout, OrAll, Partition
from gristmill.recipes.adopted.raw_root import RawRoot, raw_root_below
from gristmill.recipes.option_types import check_types
from gristmill.recipes.raw_object import Converted, RawObject
from gristmill.recipes.raw_rules import Everything, OneToOne, is_hidden
from gristmill.recipes.source import Source

ROWS = re.compile(r"\.jsonl?(\.(gz|zst|zstd))?$")
"""The endings of files with rows."""


def refuse_conversion(raw: RawObject) -> Iterable[Converted]:
    """The converter of a source without conversion.

    Raises:
        DataError: always.
    """
    raise DataError(f"{raw.name}: adopted files are not converted; make the adopted version")


@dataclass(frozen=True, kw_only=True)
class Adopted(Source):
    """A dataset in Dolma's layout: `documents/` with files at any depth, and `attributes/<set>/` beside them.

    Each version gets ledgers in the lake, which are made by reading its files once. Mixes, taggers and all commands
    then use them like other versions. Nothing is ever written or deleted at the root. `revisions` follow the versions.

    Attributes:
        root: the folder or s3:// prefix; a RawRoot has its own server and credentials.
        folders: the versions that are side by side, each in a folder of its name: `("v0", "v1", "v1_6")`. Empty: the
            root has `documents/` itself, and is v0.
        sets: names of the attribute sets that are adopted: of all versions, or for each version by its name.
        partition: the snapshot of a file by its name below `documents/`. By default all files are one snapshot, `all`.
        same_metadata: whether ids and metadata must be those of the version before, where both have the document.

    Raises:
        RecipeError: an option is wrong.

    >>> Adopted(name="dolma", root="/data/dolma", sets=("pii",)).versions
    ('v0',)
    """

    root: str | RawRoot
    folders: tuple[str, ...] = ()
    sets: tuple[str, ...] | Mapping[str, tuple[str, ...]] = ()
    same_metadata: bool = True
    partition: Partition = field(default_factory=Everything)
    convert: Callable[[RawObject], Iterable[Converted]] = refuse_conversion

    def __post_init__(self) -> None:
        """Checks the options, and declares the sets."""
        who = f"source {self.name!r}"
        check_types(self, who)
        url = self.root.url if isinstance(self.root, RawRoot) else self.root
        check_lake_url(url, f"{who}: root")
        if not url:
            raise RecipeError(f"{who}: root is empty; give a folder or s3://bucket/prefix")
        for name in self.folders:
            if not re.fullmatch(field_expression("version"), name):
                raise RecipeError(f"{who}: folders has {name!r}; give names of versions, such as v0, v1 or v1_6")
        if self.select is not None or self.raw not in {None, self.root} or self.shards != OneToOne():
            raise RecipeError(f"{who}: an adopted dataset takes no select, shards and raw; its files are below root")
        ordered = tuple(sorted(set(self.folders), key=version_rank))
        rule = self.partition
        if not isinstance(rule, DolmaLayout):
            rule = DolmaLayout(rule if isinstance(rule, OrAll) else OrAll(rule), ordered)
        declared = {"folders": ordered, "raw": self.root, "partition": rule}
        for option, value in declared.items():
            object.__setattr__(self, option, value)
        object.__setattr__(self, "adopted", tuple(self._adopted_sets(rule)))
        super().__post_init__()

    def _adopted_sets(self, layout: DolmaLayout) -> Iterator[AdoptedSet]:
        named = self.sets if isinstance(self.sets, Mapping) else dict.fromkeys(self.adopts, self.sets)
        for version, sets in named.items():
            lead = f"{version}/" if self.folders else ""
            for name in sets:
                root = raw_root_below(self.root, f"{lead}attributes/{name}")
                yield AdoptedSet(name=name, root=root, version=version, partition=layout.rule)

    @property
    def adopts(self) -> tuple[str, ...]:
        """The versions at the root, in order."""
        return self.folders or ("v0",)

    @property
    def versions(self) -> tuple[str, ...]:
        """The names of all versions, in order: the adopted ones and the revisions."""
        return (*self.adopts, *(revision.version for revision in self.revisions))

    @property
    def _first_revision(self) -> int:
        return max(version_rank(version)[0][0] for version in self.adopts) + 1

    def wants(self, name: str) -> bool:
        """Whether a file at the root is read: documents of an adopted version, and sets that the recipe names."""
        parts = self.partition.parts(name) if isinstance(self.partition, DolmaLayout) else None
        if parts is None or is_hidden(name) or self.is_marker(name) or not ROWS.search(name):
            return False
        version, name_of_set, _ = parts
        return not name_of_set or any(each.name == name_of_set for each in self.adopted_sets(version or "v0"))


class AdoptedFolder(NamedTuple):
    """The folder with the files of adopted documents, or of an adopted set.

    Attributes:
        files: a source whose raw data are these files.
        root: the address below which the ledger names the files.
        lead: the path of the folder below the root, with its closing slash; empty if it is the root.
    """

    files: Source
    root: str | RawRoot
    lead: str


def adopted_folder(source: Source, version: str, name_of_set: str = "") -> AdoptedFolder:
    """The folder with the files of an adopted version's documents, or of an adopted set.

    Args:
        source: the recipe.
        version: the version.
        name_of_set: name of the set; empty: the documents.

    Raises:
        RecipeError: the source adopts no such documents or set.
    """
    found = next((each for each in source.adopted_sets(version) if each.name == name_of_set), None)
    if (name_of_set and found is None) or (not name_of_set and version not in source.adopts):
        raise RecipeError(f"source {source.name!r}: {version} adopts no {name_of_set or 'documents'}; mend the recipe")
    if isinstance(source, Adopted) and isinstance(source.partition, DolmaLayout):
        lead = f"{version}/" if source.folders else ""
        lead += f"attributes/{name_of_set}/" if name_of_set else "documents/"
        return AdoptedFolder(
            _converted_source(source, raw_root_below(source.root, lead[:-1]), source.partition.rule), source.root, lead
        )
    if found is None:
        raise RecipeError(f"source {source.name!r} is not adopted")
    return AdoptedFolder(_converted_source(source, found.root, found.partition), found.root, "")


def _converted_source(source: Source, root: str | RawRoot, partition: Partition) -> Source:
    return Source(
        name=source.name,
        convert=refuse_conversion,
        raw=root,
        partition=partition,
        select=ROWS.pattern,
        marker=source.marker,
    )
