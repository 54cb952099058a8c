"""What a tagger declares: a named, versioned function from documents to labels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gristmill.errors import DataError, GristmillError, RecipeError, StoreError, is_failure, words_of
from gristmill.lake.address import check_numbered
from gristmill.lake.ledger.model import Recipe
from gristmill.lake.rows.document import Document, Span

TAGGING = 1
"""Version of the way we write attribute sets. Raising it rebuilds all of them."""

Label = float | list[Span] | None
"""A score for the whole document, or scored spans of it, or None for no label."""

Labels = Mapping[str, Sequence[Label]]
"""For each label's name, one label per document."""


class TaggerFailed(DataError):  # noqa: N818 - as in gristmill.errors
    """A tagger failed for one document.

    Attributes:
        number: index of the document among those that the tagger was given.
        reason: the error, with its type.
    """

    def __init__(self, number: int, reason: str) -> None:
        self.number, self.reason = number, reason
        super().__init__(reason)

    def __reduce__(self) -> tuple[type["TaggerFailed"], tuple[int, str]]:
        return type(self), (self.number, self.reason)


@dataclass(frozen=True, kw_only=True)
class Tagger:
    """A named, versioned function from documents to labels. Its results are the attribute set of that name.

    Give exactly one of `document` and `batch`. `document` takes one document and returns a label per name. `batch`
    takes a sequence of documents and returns, for each name, a list with one label per document, in their order. Use
    `batch` for vectorised code.

    Attributes:
        name: ends in a number (`toxicity-1`). If the meaning changes, take the next number.
        document: one document to its labels.
        batch: documents to their labels.
        parameters: everything that changes the output, as JSON: thresholds, a model's sha256.
        description: for people.
        only: names of the sources that it tags; empty means all.
        draft: whether the recipe may change under its name.
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
        """The recipe of the attribute set, for a ledger."""
        return Recipe(self.name, TAGGING, dict(self.parameters), self.draft)

    def applies_to(self, source: str) -> bool:
        """Whether the documents of a source are tagged."""
        return not self.only or source in self.only

    def look(self, documents: Sequence[Document]) -> Labels:
        """Labels documents.

        Args:
            documents: any number of documents.

        Returns:
            For each label's name, one label per document, in their order.

        Raises:
            DataError: the tagger failed for a document, or returned another number of labels than documents.
            StoreError: a store did not answer.

        >>> doubt = Tagger(name="doubt-1", document=lambda document: {"questions": float(document.text.count("?"))})
        >>> doubt.look([Document(id=text, text=text, source="tales") for text in ("Why? How?", "So.")])
        {'questions': [2.0, 0.0]}
        """
        if self.batch is not None:
            labels = self.batch(documents)
        elif self.document is not None:
            rows = [self._one(self.document, number, document) for number, document in enumerate(documents)]
            labels = {name: [row.get(name) for row in rows] for name in sorted({name for row in rows for name in row})}
        else:  # pragma: no cover - __post_init__ forbids it
            labels = {}
        for name, values in labels.items():
            if len(values) != len(documents):
                raise DataError(f"tagger {self.name!r}: {len(values)} labels {name!r} for {len(documents)} documents")
        return labels

    def _one(
        self, look: Callable[[Document], Mapping[str, Label]], number: int, document: Document
    ) -> Mapping[str, Label]:
        """One document's labels. Every error names the document, except a store's, and too little memory."""
        try:
            return look(document)
        except (StoreError, MemoryError):
            raise
        except GristmillError as error:
            raise TaggerFailed(number, str(error)) from error
        except BaseException as error:
            if not is_failure(error):
                raise
            raise TaggerFailed(number, words_of(error)) from error
