"""Tagging: every tagger looks at every document and says what it saw, row by row, aligned."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gristmill.errors import DataError, GristmillError, RecipeError, StoreError
from gristmill.lake.address import check_numbered
from gristmill.lake.ledger.model import Recipe
from gristmill.lake.rows.document import Document, Span

TAGGING = 1
"""Version of the way we write attribute sets; the next number rebuilds all of them."""

Label = float | list[Span] | None
"""A score for the whole document, scored spans of it, or None: nothing to say."""

Labels = Mapping[str, Sequence[Label]]
"""For each label's name, one label a document."""


class Stumbled(DataError):  # noqa: N818 - as in gristmill.errors
    """A tagger failed over one document; `number` is its place among those that it was given."""

    def __init__(self, number: int, reason: str) -> None:
        self.number, self.reason = number, reason
        super().__init__(reason)

    def __reduce__(self) -> tuple[type["Stumbled"], tuple[int, str]]:
        return type(self), (self.number, self.reason)


@dataclass(frozen=True, kw_only=True)
class Tagger:
    """A named, versioned function from documents to labels; its results are the attribute set of that name.

    Exactly one of `document` and `batch` is given. `document` takes one document and gives a label for each
    name. `batch` takes a sequence of documents and gives, for each label's name, one label a document in their
    order: the form in which a tagger can be vectorised.

    Attributes:
        name: ends in its number (`toxicity-1`); another meaning takes the next number.
        document: one document to its labels.
        batch: documents to their labels.
        parameters: whatever changes the output, as JSON: thresholds, a model's sha256.
        description: for people.
        only: the sources it applies to; empty: all.
        draft: whether it may change under its name.
    """

    name: str
    document: Callable[[Document], Mapping[str, Label]] | None = None
    batch: Callable[[Sequence[Document]], Labels] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    only: frozenset[str] = frozenset()
    draft: bool = False

    def __post_init__(self) -> None:
        """Checks the declaration.

        Raises:
            RecipeError: the name has no number, or not exactly one function is given.
        """
        check_numbered(self.name, "tagger")
        if (self.document is None) == (self.batch is None):
            raise RecipeError(f"tagger {self.name!r}: give exactly one of document= and batch=")

    @property
    def recipe(self) -> Recipe:
        """What changes the set."""
        return Recipe(self.name, TAGGING, dict(self.parameters), self.draft)

    def applies_to(self, source: str) -> bool:
        """Whether a source's documents are tagged."""
        return not self.only or source in self.only

    def look(self, documents: Sequence[Document]) -> Labels:
        """One label a document, for each label's name.

        Raises:
            DataError: the tagger did not say something of every document, or something that is no label.
        """
        if self.batch is not None:
            labels = self.batch(documents)
        elif self.document is not None:
            each = [self._one(self.document, number, document) for number, document in enumerate(documents)]
            labels = {name: [one.get(name) for one in each] for name in sorted({n for one in each for n in one})}
        else:  # pragma: no cover - __post_init__ forbids it
            labels = {}
        for name, values in labels.items():
            if len(values) != len(documents):
                raise DataError(f"tagger {self.name!r}: {len(values)} labels {name!r} for {len(documents)} documents")
        return labels

    def _one(
        self, look: Callable[[Document], Mapping[str, Label]], number: int, document: Document
    ) -> Mapping[str, Label]:
        """One document's labels; whatever goes wrong says over which document."""
        try:
            return look(document)
        except StoreError:
            raise
        except GristmillError as error:
            raise Stumbled(number, str(error)) from error
        except Exception as error:
            raise Stumbled(number, f"{type(error).__name__}: {error}") from error
