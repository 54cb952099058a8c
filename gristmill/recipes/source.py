"""What a source declares: how its raw objects become v0 documents, shard by shard, and its revisions v1, v2, ..."""

import re
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from msgspec import Meta

from gristmill.errors import RecipeError, known_names
from gristmill.lake.address import ADOPTED_NAME, check_name, why_no_snapshot
from gristmill.lake.rows.row_blocks import ROW_LIMIT
from gristmill.lake.store.endpoint import check_lake_url
from gristmill.recipes.adopted.attribute_set import AdoptedSet
from gristmill.recipes.adopted.layout import Partition
from gristmill.recipes.adopted.raw_root import RawRoot
from gristmill.recipes.code.digest import check_same_output
from gristmill.recipes.drift.bounds import Bounds, check_bounds
from gristmill.recipes.drift.drop_reasons import LEFT_OUT, QUARANTINE
from gristmill.recipes.mixture.languages import check_language
from gristmill.recipes.mixture.origin_columns import set_origin_values
from gristmill.recipes.option_types import Json, check_pattern, check_types
from gristmill.recipes.raw_object import Limits
from gristmill.recipes.raw_rules import Everything, Folders, Hashed, Matching, OneToOne, Split, check_cuts, is_hidden
from gristmill.recipes.reader import Convert, Reader, reader_of_converter
from gristmill.recipes.selection import Selection

__all__ = [
    "Bounds",
    "Everything",
    "Folders",
    "Hashed",
    "Matching",
    "OneToOne",
    "RawRoot",
    "Revision",
    "Source",
    "Split",
]

CONVERSION = 1
"""Version of the way we write documents. Raising it rebuilds every v0."""


@dataclass(frozen=True, kw_only=True)
class Revision(Selection):
    """The selection that makes one dataset version from the version before.

    Attributes:
        version: `v1`, `v2`, ...
        carry: attribute sets of the version before whose spans are carried to the texts of this one: the set `pii-1`
            becomes `carried-pii-1`. A span that an edit or a transform touches is dropped and counted. Scores of
            documents are not carried. It changes no document.
    """

    version: str
    carry: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Checks the selection: see Selection.

        Raises:
            RecipeError: something is wrong with it, or it holds rows out.
        """
        super().__post_init__()
        if self.held_out is not None:
            raise RecipeError(f"{self._title_for_messages}: only a mix holds rows out; leave held_out to it")
        for name in self.carry:
            if not ADOPTED_NAME.fullmatch(name):
                raise RecipeError(
                    f"{self._title_for_messages}: carry has {name!r}; give names of attribute sets, such as pii-1"
                )
            if self.carry.count(name) > 1:
                raise RecipeError(f"{self._title_for_messages}: carry has {name!r} twice; name it once")

    @property
    def _title_for_messages(self) -> str:
        return f"revision {self.version!r}"


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where documents come from, and how raw objects become documents.

    Attributes:
        name: name of the source. Ids are unique within it (within a snapshot, if snapshots replace each other).
        convert: function that yields the documents of one raw object.
        shards: rule that gives the shard of a raw object.
        description: description for people: what the data are. The next six fields are for people, too.
        licence: SPDX expression, or words.
        terms: further conditions that its users must know, such as terms of use or a request of the publisher: words or
            an address.
        language: language of all its documents, as a tag of BCP 47 such as `en`; empty: they have several, or it is not
            known.
        homepage: address of a page about the data, `https://...`.
        owners: people who answer for it: mail addresses or `team:name`.
        changes: description of what v0 changes in the raw data, and why. Of v1, v2, ... their descriptions and rules
            say it.
        select: a pattern for the names of raw objects below their snapshot; only matching ones are read. None: all.
        checksums: a pattern for the names of checksum files, such as `SHA256SUMS$`. They are not
            read as data. A snapshot is published only if every object that they name is there and has its hash, and
            no object beside or below them lacks a line. None: no such files.
        partition: rule that gives the snapshot of a raw object.
        snapshots: `accumulate`: ids are unique over all snapshots; `replace`: each snapshot is a complete edition.
        quarantine_limit: share of refused rows, or of their bytes, above which a shard fails. Ten refused rows of
            together 64 KiB are always allowed, but a shard that would keep no row at all fails. 1.0 allows everything.
        row_limit: longest row of a raw object in bytes, at most 1 GiB. A longer row is skipped and refused. A value
            other than the default is part of the recipe, because it changes which rows are kept.
        unpack_limit: unpacked bytes for each byte of a packed raw object. An object of more is an error, because it may
            be a decompression bomb. gzip cannot reach the default.
        parameters: everything else that changes the output, as JSON.
        revisions: v1, v2, ... in order; empty if v0 is used as it is.
        raw: another folder or s3:// prefix that holds the raw snapshots; it is only read. A bucket is reached as the
            lake is, or as a RawRoot says. `~` is the home folder; a relative path begins at the project's folder.
        watched: whether the raw-arrival sensor watches this source.
        draft: whether the recipe may change under its name.
        same_output: whether an edit of its code gives the same output, so that nothing is made again. Give a `reason`.
        reason: reason why the output is the same. Another edit takes another reason.
        quiet: seconds for which a snapshot's listing must not change before the sensor reports it, for slow uploads.
        expected_hours: hours within which a new or changed snapshot is expected. Then the raw asset's page in Dagster
            says whether it is late, and an alert is posted. None: nothing is expected.
        bounds: limits on the difference of v0's documents from those of earlier snapshots; outside, they are not
            published. It changes no document. None: the check `volume` only warns.
        accept: the snapshot from which a new level holds: neither it nor later ones are compared with earlier ones, in
            all that is made from this source. It changes no document. Empty: all are compared.
        marker: name of the file, such as `_SUCCESS`, that marks a snapshot as complete; it is not data.
        mounted: name of a hidden file, such as `.mounted`, at the top of the raw data. Without it, their disk counts as
            not mounted: nothing is read or decided.
        inventory: `s3://` address of an S3 Inventory of the bucket that holds the raw snapshots; the sensor reads it.
        adopted: attribute sets of its versions that others have computed; they are read where they are.
    """

    name: str
    convert: Convert
    shards: OneToOne | Hashed | Split = field(default_factory=OneToOne)
    description: str = ""
    licence: str = ""
    terms: str = ""
    language: str = ""
    homepage: str = ""
    owners: tuple[str, ...] = ()
    changes: str = ""
    select: str | None = None
    checksums: str | None = None
    partition: Partition = field(default_factory=Folders)
    snapshots: Literal["accumulate", "replace"] = "accumulate"
    quarantine_limit: Annotated[float, Meta(ge=0, le=1)] = 0.01
    row_limit: Annotated[int, Meta(ge=1, le=ROW_LIMIT)] = Limits().row
    unpack_limit: Annotated[int, Meta(ge=1)] = Limits().unpack
    parameters: Json = field(default_factory=dict)
    revisions: tuple[Revision, ...] = ()
    raw: str | RawRoot | None = None
    watched: bool = True
    draft: bool = False
    same_output: bool = False
    reason: str = ""
    quiet: Annotated[float, Meta(ge=0)] = 0.0
    expected_hours: Annotated[float, Meta(ge=0.02, le=87_600)] | None = None
    bounds: Bounds | None = None
    accept: str = ""
    marker: str | None = None
    mounted: str | None = None
    inventory: str | None = None
    adopted: tuple[AdoptedSet, ...] = ()

    def __post_init__(self) -> None:
        """Checks names and the order of versions.

        Raises:
            RecipeError: one of them, or another option, is wrong, or has another type.
        """
        check_types(self, f"source {self.name!r}")
        check_name(self.name, "source")
        check_same_output(f"source {self.name!r}", same_output=self.same_output, reason=self.reason)
        if not re.match(r"(https?://\S+)?$", self.homepage):
            raise RecipeError(f"source {self.name!r}: homepage is {self.homepage!r}; give an address, https://...")
        if self.marker is not None and (not self.marker or "/" in self.marker):
            raise RecipeError(f"source {self.name!r}: marker is {self.marker!r}; give a file name, without folders")
        if self.mounted is not None and (not self.mounted.startswith(".") or "/" in self.mounted):
            raise RecipeError(
                f"source {self.name!r}: mounted is {self.mounted!r}; give a file name that begins with '.'"
            )
        for field_name, address in (("raw", self.raw_url), ("inventory", self.inventory)):
            check_lake_url(address or "", f"source {self.name!r}: {field_name}")
        if self.inventory is not None and not self.inventory.startswith("s3://"):
            raise RecipeError(f"source {self.name!r}: inventory is {self.inventory!r}; give s3://bucket/...")
        check_language(self.language, f"source {self.name!r}")
        self._check_levels()
        self._check_versions()
        who = f"source {self.name!r}, revision"
        bound = (set_origin_values(each, self.origins, f"{who} {each.version!r}") for each in self.revisions)
        object.__setattr__(self, "revisions", tuple(bound))
        for field_name, pattern in (("select", self.select), ("checksums", self.checksums)):
            if pattern is not None:
                check_pattern(pattern, f"source {self.name!r}: {field_name}")
        if isinstance(self.shards, Split):
            check_cuts(self.reader, f"source {self.name!r}")

    def _check_levels(self) -> None:
        """Checks what is declared about the levels of snapshots."""
        who = f"source {self.name!r}"
        check_bounds(self.bounds, who, ("rows", "bytes", "dropped"), begins=(QUARANTINE, LEFT_OUT))
        reason = why_no_snapshot(self.accept) if self.accept else None
        if reason:
            raise RecipeError(f"{who}: accept is {self.accept!r}; give the key of a snapshot: {reason}")

    def _check_versions(self) -> None:
        """Checks the names of the revisions, and the versions of adopted sets."""
        expected = [f"v{i + self._first_revision}" for i in range(len(self.revisions))]
        if [r.version for r in self.revisions] != expected:
            declared = ", ".join(r.version for r in self.revisions)
            raise RecipeError(
                f"source {self.name!r}: revisions are {declared}; name them {', '.join(expected)}, in order"
            )
        for each in self.adopted:
            if each.version not in self.versions:
                raise RecipeError(
                    f"source {self.name!r}: the adopted set {each.name!r} is of {each.version!r};"
                    f" {known_names(each.version, self.versions)}"
                )

    @property
    def origins(self) -> dict[str, str]:
        """The words that rules may read of it, by the names of ORIGINS; empty where it declares nothing."""
        return {"licence": self.licence, "terms": self.terms, "language": self.language}

    @property
    def raw_url(self) -> str | None:
        """The folder or s3:// prefix that holds the raw snapshots, as declared; None: the lake's own raw folder."""
        return self.raw.url if isinstance(self.raw, RawRoot) else self.raw or None

    @property
    def _first_revision(self) -> int:
        """The number of the version that the first revision makes."""
        return 1

    @property
    def adopts(self) -> tuple[str, ...]:
        """The versions whose documents are adopted, in order: those of Adopted alone."""
        return ()

    def adopted_sets(self, version: str) -> tuple[AdoptedSet, ...]:
        """The adopted attribute sets of a version."""
        return tuple(each for each in self.adopted if each.version == version)

    def revision(self, version: str) -> Revision | None:
        """The selection that makes a version; None if it is converted or adopted."""
        return next((each for each in self.revisions if each.version == version), None)

    @property
    def versions(self) -> tuple[str, ...]:
        """The names of all versions, in order: v0 and the revisions."""
        return ("v0", *(r.version for r in self.revisions))

    @property
    def current(self) -> str:
        """The newest version."""
        return self.versions[-1]

    @property
    def history(self) -> tuple[tuple[str, str], ...]:
        """The changes from version to version: (version, words), in order; words may be empty.

        They are for people, and come from `changes`, and from the descriptions and rules of the revisions.
        """
        words = [(self.versions[0], self.changes)]
        for revision in self.revisions:
            rules = [f"{name}: {because}" for name, because in revision.reasons_by_rule.items()]
            words.append(
                (revision.version, "; ".join(filter(None, [revision.description, *rules, *revision.changes_in_words])))
            )
        return tuple(words)

    @property
    def reader(self) -> Reader:
        """Its converter, with what it says of itself."""
        return reader_of_converter(self.convert)

    @property
    def read_as(self) -> str:
        """The source that its reader gives to documents that have none of their own; its name, if it is a function."""
        named = getattr(self.reader, "source", None)
        return named if isinstance(named, str) else self.name

    @property
    def renames(self) -> bool:
        """Whether its reader gives documents a source that is not its name. A field with the source of each row may."""
        return self.read_as != self.name and self.reader.source_key is None

    @property
    def limits(self) -> Limits:
        """The limits of its raw objects."""
        return Limits(self.row_limit, self.unpack_limit)

    def conversion_parameters(self) -> dict[str, Any]:
        """All that changes v0, as JSON, for the recipe. The default row_limit is left out: older ledgers lack it."""
        return {"shards": self.shards.parameters(), "select": self.select, **self.reading_parameters()}

    def reading_parameters(self) -> dict[str, Any]:
        """The parameters that change how a raw object is read.

        Returns:
            Parameters by name. Those that only decide which objects a shard is made from are left out.
        """
        limit = {} if self.row_limit == Limits().row else {"row_limit": self.row_limit}
        return {**limit, **self.parameters}

    def is_marker(self, name: str) -> bool:
        """Whether a raw object is the file that marks its snapshot as complete."""
        return self.marker is not None and name.rpartition("/")[2] == self.marker

    def is_checksums(self, name: str) -> bool:
        """Whether a raw object is a checksum file."""
        return self.checksums is not None and re.search(self.checksums, name) is not None

    def wants(self, name: str) -> bool:
        """Whether a raw object is read. Markers, checksum files and hidden files (see is_hidden) are not.

        Args:
            name: its name below the snapshot.
        """
        if self.is_marker(name) or self.is_checksums(name):
            return False
        return not is_hidden(name) and (self.select is None or re.search(self.select, name) is not None)
