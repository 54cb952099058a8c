"""What a dedupe recipe declares: which units of which sources are compared, and within which bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec

from gristmill.errors import RecipeError
from gristmill.lake.address import check_numbered
from gristmill.lake.asset_kinds import RESOLUTION
from gristmill.lake.ledger.model import Recipe
from gristmill.recipes.drift.bounds import Bounds, check_bounds
from gristmill.recipes.duplicates.units import DocumentUnits, KeyUnits, MinHashUnits, NgramUnits, Unit
from gristmill.recipes.label import Score, Spans
from gristmill.recipes.option_types import check_types
from gristmill.recipes.source_versions import check_sources, versions_by_source

FINGERPRINTING = 1
"""Version of the way we compute and compare fingerprints. Raising it rebuilds all of them."""

MIB = 1 << 20

Scope = Literal["group", "source", "snapshot"]
"""What a unit is compared with; see Dedupe."""

NUMBERED_AGAIN = "documents numbered 2 or more"
"""The words for people of what KeyUnits mark: no document of a key is a duplicate of another."""


@dataclass(frozen=True, kw_only=True)
class Dedupe:
    """Finds duplicates among the documents of sources. Its results are the attribute set of that name.

    The first occurrence stays: by the order of resolution (see docs/reference/dedupe.md), then shard, then row.

    Attributes:
        name: ends in a number (`dedupe-documents-1`). If the meaning changes, take the next number.
        unit: unit of text that is compared.
        sources: the sources in their order, each as `<source>/<version>`.
        scope: whether a unit is compared with all sources before it (`group`), with earlier snapshots of its own source
            (`source`), or within its own snapshot alone (`snapshot`). Editions of a `replace` source never mark each
            other in any scope.
        buckets: number of ranges into which the fingerprints are divided. Each range is compared on its own, in
            parallel.
        confirm: whether the text of each duplicate is read again and compared with that of its first occurrence. For
            whole documents, paragraphs, lines and sentences.
        memory: most bytes that one worker may use for comparing, in MiB. More data goes through files.
        bounds: limits on the difference of its sets from those of earlier snapshots, and the largest share of documents
            that it may mark; outside, they are not published. It changes no mark. None: the check `volume` only warns.
        description: description for people.
        draft: whether the recipe may change under its name.
    """

    name: str
    unit: Unit
    sources: Sequence[str]
    scope: Scope = "group"
    buckets: Annotated[int, msgspec.Meta(ge=1, le=65536)] = 16
    confirm: bool = False
    memory: Annotated[int, msgspec.Meta(ge=16)] = 256
    bounds: Bounds | None = None
    description: str = ""
    draft: bool = False

    def __post_init__(self) -> None:
        """Checks the declaration.

        Raises:
            RecipeError: the name has no number, the sources are not each named once with a version, or the unit cannot
                be confirmed.
        """
        what = f"dedupe {self.name!r}"
        check_types(self, what)
        check_numbered(self.name, "dedupe")
        check_sources(self.sources, what)
        if self.numbered and self.scope != "snapshot":
            raise RecipeError(f"{what}: KeyUnits number the documents of one snapshot; say scope='snapshot'")
        takes = ("rows", "bytes", "duplicates") if self.marked == "documents" else ("rows", "bytes")
        check_bounds(self.bounds, what, takes)
        if self.confirm and isinstance(self.unit, NgramUnits | MinHashUnits | KeyUnits):
            near = "; MinHashUnits(exact=True) compares texts" if self.near else ""
            raise RecipeError(
                f"{what}: confirm=True compares documents, paragraphs, lines and sentences, not"
                f" {type(self.unit).__name__}; leave it out{near}"
            )

    @property
    def asset(self) -> str:
        """The address of its resolution."""
        return RESOLUTION.at(dedupe=self.name)

    @property
    def versions(self) -> Mapping[str, str]:
        """The version that is read of each source, by its name, in the declared order."""
        return versions_by_source(self.sources)

    @property
    def near(self) -> bool:
        """Whether near duplicates are searched, and not equal ones."""
        return isinstance(self.unit, MinHashUnits)

    @property
    def scored_by(self) -> tuple[str, ...]:
        """The attribute set whose score decides which document of a cluster is kept, if one does."""
        return (self.unit.score.partition("__")[0],) if isinstance(self.unit, MinHashUnits) and self.unit.score else ()

    @property
    def numbered(self) -> bool:
        """Whether the documents of each key are numbered, and not compared with earlier ones."""
        return isinstance(self.unit, KeyUnits)

    @property
    def hashed(self) -> str:
        """The word for people of what has a hash: a near duplicate has one for each band of its signature."""
        return "bands" if self.near else "units"

    @property
    def marked(self) -> str:
        """The word for people of what its marks are about."""
        return "documents" if self.near or isinstance(self.unit, DocumentUnits) else "units"

    @property
    def repeated(self) -> str:
        """The words for people of what its marks count."""
        return NUMBERED_AGAIN if self.numbered else f"duplicate {self.marked}"

    @property
    def repeated_characters(self) -> str:
        """The words for people of the characters (code points) of what its marks count."""
        return f"characters of {self.repeated}" if self.numbered else "duplicate characters"

    @property
    def labels(self) -> tuple[Score | Spans, ...]:
        """The labels of its attribute set."""
        if self.numbered:
            words = "place among the documents of the snapshot with its key, drawn by a hash; absent if it is alone"
            alike = "documents of the snapshot with the same key"
            return (
                Score("number", words, low=1, optional=True, exact=True),
                Score("size", alike, unit="documents", low=2, optional=True, exact=True),
            )
        if isinstance(self.unit, DocumentUnits):
            return (Score("duplicate", "1: an earlier document has the same key", low=0, high=1, optional=True),)
        if self.near:
            return (
                Score("duplicate", "1: the document is near another, which is kept", low=0, high=1, optional=True),
                Score(
                    "cluster", "number of the cluster; absent if it is near no other", low=0, optional=True, exact=True
                ),
                Score(
                    "size", "documents in the cluster at the time", unit="documents", low=2, optional=True, exact=True
                ),
                Score("similarity", "Jaccard similarity to the document that is kept", low=0, high=1, optional=True),
            )
        share = "share of its n-grams that occurred before" if isinstance(self.unit, NgramUnits) else "1"
        return (Spans("duplicate", f"parts of the text that occurred before; the score is {share}", low=0, high=1),)

    @property
    def declared(self) -> Mapping[str, Score | Spans]:
        """The labels by name, as a tagger declares its own."""
        return {label.name: label for label in self.labels}

    def declaration(self, label: str) -> Score | Spans | None:
        """The declaration of a label; None if it is not declared."""
        return self.declared.get(label)

    def applies_to(self, source: str) -> bool:
        """Whether the documents of a source are compared."""
        return source in self.versions

    @property
    def fingerprint_parameters(self) -> dict[str, Any]:
        """The options that change a fingerprint or the file that holds it, as JSON."""
        return {**self.unit.fingerprint_parameters, "buckets": self.buckets}

    @property
    def fingerprint_recipe(self) -> Recipe:
        """The recipe of its fingerprints, for ledgers."""
        return Recipe(self.name, FINGERPRINTING, self.fingerprint_parameters, self.draft)

    @property
    def recipe(self) -> Recipe:
        """The recipe of all that it makes, for ledgers.

        The memory is not in it: it changes no result. The sources are not: `order.json` records what was compared.
        """
        bounds = {"buckets": self.buckets, "scope": self.scope, "confirm": self.confirm}
        parameters = {**self.unit.parameters, **bounds}
        return Recipe(self.name, FINGERPRINTING, parameters, self.draft)
