"""The units of text that are compared for duplicates: documents, paragraphs, lines, sentences, n-grams, signatures."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, get_args

import msgspec

from gristmill.errors import RecipeError
from gristmill.recipes.option_types import check_types

Normalisation = Literal["", "white-space-1", "words-1"]
"""How a text is changed before it is compared; see gristmill.text.units.normalisation. Empty: not at all."""


_AFTER = frozenset({"threshold", "least", "exact", "keeper", "score", "verification"})
"""Options that change no fingerprint."""
_NUMBERED = frozenset({"rule", "verification"})
"""Numbers of rules. That of the first rule is in no parameters: older ledgers have none."""


class _Unit:
    """What all units share."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The options as JSON, with the name of the unit, without the number of a first rule."""
        options: dict[str, Any] = asdict(self)  # type: ignore[call-overload]
        given = {name: each for name, each in options.items() if name not in _NUMBERED or each > 1}
        return {"unit": type(self).__name__.removesuffix("Units").lower(), **given}

    @property
    def first_rules(self) -> list[str]:
        """The options whose rule is the first, which has a known fault, and is kept for sets that are finished."""
        return sorted(name for name in _NUMBERED if getattr(self, name, 0) == 1)

    @property
    def fingerprint_parameters(self) -> dict[str, Any]:
        """Those of the parameters that change a fingerprint. The others change only what is done with them."""
        return {name: value for name, value in self.parameters.items() if name not in _AFTER}

    def __post_init__(self) -> None:
        check_types(self, type(self).__name__)


@dataclass(frozen=True, kw_only=True)
class DocumentUnits(_Unit):
    """Whole documents, compared by a key. A null, absent or empty key is never a duplicate; it is counted.

    A number is compared as its decimal digits: 1, 1.0 and "1" are one key.

    Attributes:
        key: `text`, or the path of a string or a number in the document, such as `metadata.url`.
        normalised: normalisation of the key before it is compared.
    """

    key: str = "text"
    normalised: Normalisation = ""

    def __post_init__(self) -> None:
        """Checks the options.

        Raises:
            RecipeError: one is of another type, or the key is no path.
        """
        super().__post_init__()
        if not all(self.key.split(".")) or self.key.split(".")[0] not in {"text", "id", "metadata"}:
            raise RecipeError(
                f"{type(self).__name__}: key {self.key!r} is no path; give 'text', 'id' or 'metadata.<field>'"
            )


@dataclass(frozen=True, kw_only=True)
class KeyUnits(DocumentUnits):
    """Whole documents, numbered from 1 among those of their snapshot that have the same key, such as a host.

    A hash of snapshot, shard and row draws the order. A rule on the number is a cap: see
    gristmill.recipes.mixture.caps. A document without a key has no number, and is counted.
    """


@dataclass(frozen=True, kw_only=True)
class ParagraphUnits(_Unit):
    """ParagraphUnits: the text between separators. Empty ones, and ones of white space alone, are skipped.

    Attributes:
        separator: text between two paragraphs.
        min_length: paragraphs with fewer code points are skipped.
        min_words: paragraphs with fewer words between white space are skipped.
        normalised: normalisation of a paragraph before it is compared.
    """

    separator: Annotated[str, msgspec.Meta(min_length=1)] = "\n"
    min_length: Annotated[int, msgspec.Meta(ge=0)] = 0
    min_words: Annotated[int, msgspec.Meta(ge=0)] = 0
    normalised: Normalisation = ""


@dataclass(frozen=True, kw_only=True)
class LineUnits(_Unit):
    """Lines without white space at both ends. Empty ones are skipped.

    Attributes:
        min_length: lines with fewer code points are skipped.
        normalised: normalisation of a line before it is compared.
    """

    min_length: Annotated[int, msgspec.Meta(ge=0)] = 0
    normalised: Normalisation = ""


@dataclass(frozen=True, kw_only=True)
class SentenceUnits(_Unit):
    """Runs of sentences, as C4 compares runs of three. Each run is one span; runs overlap.

    Attributes:
        count: sentences in a run.
        normalised: normalisation of a run before it is compared.
        rule: the number of the rule that says where a sentence begins and ends. With 2, a bracket that opens behind a
            wide mark such as `。` begins the next sentence; 1 gives it to the one before. 1 is the default, because it
            gives what finished sets of recipes without a number have.
    """

    count: Annotated[int, msgspec.Meta(ge=1, le=10)] = 3
    normalised: Normalisation = ""
    rule: Annotated[int, msgspec.Meta(ge=1, le=2)] = 1


@dataclass(frozen=True, kw_only=True)
class NgramUnits(_Unit):
    """Paragraphs, compared by their word n-grams. The score of a paragraph is the share of its n-grams that occurred
    before.

    Attributes:
        length: words in an n-gram.
        stride: words between the beginnings of two n-grams.
        threshold: paragraphs with a lower share get no span.
        separator: text between two paragraphs.
        skip_short: whether paragraphs of fewer than `length` words are skipped; else they are one shorter n-gram.
        normalised: normalisation of a paragraph before its words are taken.
    """

    length: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 13
    stride: Annotated[int, msgspec.Meta(ge=1)] = 1
    threshold: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0
    separator: Annotated[str, msgspec.Meta(min_length=1)] = "\n"
    skip_short: bool = False
    normalised: Normalisation = ""


@dataclass(frozen=True, kw_only=True)
class MinHashUnits(_Unit):
    """Signatures of documents, for near duplicates: bands of MinHash values over word n-grams.

    Two documents of Jaccard similarity s share a band with probability 1 - (1 - s**rows)**bands.

    Source: Broder 1997, "On the resemblance and containment of documents".

    Attributes:
        ngram: words in an n-gram.
        bands: number of bands.
        rows: MinHash values in a band.
        seed: seed of the hash functions.
        normalised: normalisation of a text before its words are taken.
        least: pairs whose similarity is estimated below this are no duplicates.
        exact: whether pairs are compared by the exact Jaccard similarity of their n-grams, read from their texts.
        keeper: choice of the document of a cluster that is kept: the oldest (the first by rank), the longest, or the
            one with the highest score of `score`.
        score: the score that `keeper="score"` takes, such as `quality-1__good`.
        verification: the number of the rule that says which candidates are compared. 2 finds more; 1 is the default,
            because it gives what finished sets of recipes without a number have.
    """

    ngram: Annotated[int, msgspec.Meta(ge=1, le=100)] = 5
    bands: Annotated[int, msgspec.Meta(ge=1, le=256)] = 14
    rows: Annotated[int, msgspec.Meta(ge=1, le=64)] = 8
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] = 1
    normalised: Normalisation = "words-1"
    least: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5
    exact: bool = False
    keeper: Literal["oldest", "longest", "score"] = "oldest"
    score: str = ""
    verification: Annotated[int, msgspec.Meta(ge=1, le=2)] = 1

    def __post_init__(self) -> None:
        """Checks the options.

        Raises:
            RecipeError: one is of another type or range, or a score is given without its rule or the other way round.
        """
        super().__post_init__()
        if (self.keeper == "score") != bool(self.score):
            raise RecipeError("MinHashUnits: give keeper='score' and the score= that it takes together, or neither")


Unit = DocumentUnits | KeyUnits | ParagraphUnits | LineUnits | SentenceUnits | NgramUnits | MinHashUnits
"""What is compared."""


def unit_of_parameters(parameters: Mapping[str, Any]) -> Unit:
    """The unit that has these parameters; an option that is not given has its default.

    >>> unit_of_parameters({"unit": "line", "min_length": 3, "normalised": ""})
    LineUnits(min_length=3, normalised='')
    """
    (kind,) = (kind for kind in get_args(Unit) if kind.__name__.removesuffix("Units").lower() == parameters["unit"])
    made: Unit = kind(**{name: value for name, value in parameters.items() if name != "unit"})
    return made
