"""What a transform declares: a named function that changes the texts or the metadata of documents, or drops them.

A selection names transforms (`transforms=("unicode-repair-1",)`). They get the rows that it keeps, after its edits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET

from gristmill.errors import DataError, GristmillError, RecipeError, StoreError, error_in_words, is_failure
from gristmill.lake.address import check_numbered
from gristmill.lake.ledger.code import Code, join_codes
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.json_values import has_surrogate
from gristmill.plugins import Door
from gristmill.recipes.code.digest import check_same_output, code_of
from gristmill.recipes.option_types import check_types

_LONGEST_REASON = 100


@dataclass(frozen=True, slots=True)
class Drop:
    """The answer of a transform that drops a document.

    Attributes:
        reason: short reason; the ledger counts dropped rows by it. It must not name the document.
    """

    reason: str


Answer = str | Document | Drop
"""What a transform makes of a document: its new text, a changed document, or a Drop."""


class TransformFailed(DataError):  # noqa: N818 - as in gristmill.errors
    """A transform failed for one document.

    Attributes:
        number: index of the document among those that the transform was given.
        reason: description of the fault.
    """

    def __init__(self, number: int, reason: str) -> None:
        self.number, self.reason = number, reason
        super().__init__(reason)

    def __reduce__(self) -> tuple[type["TransformFailed"], tuple[int, str]]:
        return type(self), (self.number, self.reason)


@dataclass(frozen=True, kw_only=True)
class Transform:
    """A named, numbered function from documents to documents. The same document must always give the same answer.

    Give exactly one of `document` and `batch`. `document` takes one document and returns its new text, a changed
    document (`msgspec.structs.replace(document, text=..., metadata=...)`), or a Drop. `batch` takes a sequence of
    documents, and returns a sequence with such an answer for each.

    Attributes:
        name: ends in a number (`whitespace-1`). If the meaning changes, take the next number.
        document: one document to its answer.
        batch: documents to their answers, in their order.
        description: description for people.
        draft: whether its code may change under its name. What it made is made again then.
        same_output: whether an edit of its code gives the same output, so that nothing is made again. Give a `reason`.
        reason: reason why the output is the same. Another edit takes another reason.

    >>> upper = Transform(name="upper-1", document=lambda document: document.text.upper())
    >>> [changed] = upper.apply([Document(id="d1", source="tales", text="to be")])
    >>> changed.text
    'TO BE'
    """

    name: str
    document: Callable[[Document], Answer] | None = None
    batch: Callable[[Sequence[Document]], Sequence[Answer]] | None = None
    description: str = ""
    draft: bool = False
    same_output: bool = False
    reason: str = ""

    def __post_init__(self) -> None:
        """Checks the declaration.

        Raises:
            RecipeError: the name has no number, or not exactly one function is given.
        """
        what = f"transform {self.name!r}"
        check_types(self, what)
        check_numbered(self.name, "transform")
        check_same_output(what, same_output=self.same_output, reason=self.reason)
        if (self.document is None) == (self.batch is None):
            raise RecipeError(f"{what}: give exactly one of document= and batch=")

    def apply(self, documents: Sequence[Document]) -> list[Document | Drop]:
        """The changed documents, in their order.

        Args:
            documents: any number of documents.

        Raises:
            TransformFailed: it failed for a document, or its answer is not one that can be written.
            DataError: `batch` failed, or returned another number of answers than documents.
            StoreError: a store did not answer.
        """
        if self.batch is not None:
            answers = self._apply_batch_function(self.batch, documents)
        else:
            answers = [self._apply_document_function(number, document) for number, document in enumerate(documents)]
        return [
            self._check_changed_document(number, document, answer)
            for number, (document, answer) in enumerate(zip(documents, answers, strict=True))
        ]

    def _apply_batch_function(
        self, batch: Callable[[Sequence[Document]], Sequence[Answer]], documents: Sequence[Document]
    ) -> Any:
        try:
            answers = list(batch(documents))
        except (GristmillError, MemoryError):
            raise
        except BaseException as error:
            if not is_failure(error):
                raise
            raise DataError(f"transform {self.name!r}: batch= failed: {error_in_words(error)}") from error
        if len(answers) != len(documents):
            raise DataError(f"transform {self.name!r}: {len(answers)} answers for {len(documents)} documents")
        return answers

    def _apply_document_function(self, number: int, document: Document) -> Any:
        try:
            return self.document(document) if self.document is not None else None
        except (StoreError, MemoryError):
            raise
        except BaseException as error:
            if not is_failure(error):
                raise
            raise TransformFailed(number, error_in_words(error)) from error

    def _check_changed_document(self, number: int, before: Document, answer: Any) -> Document | Drop:
        if isinstance(answer, str):
            answer = before if answer == before.text else msgspec.structs.replace(before, text=answer)
        if isinstance(answer, Drop):
            if not answer.reason.strip() or not answer.reason.isprintable() or len(answer.reason) > _LONGEST_REASON:
                raise TransformFailed(number, f"Drop({answer.reason!r:.200}): give a reason of 1 to 100 characters")
            return answer
        if not isinstance(answer, Document):
            raise TransformFailed(number, f"returned {type(answer).__name__}; return a text, a Document or a Drop")
        same = ("id", "source", "added", "created")
        for name in (name for name in same if getattr(answer, name) != getattr(before, name)):
            raise TransformFailed(number, f"changed {name!r}; a transform changes text and metadata alone")
        if answer.metadata is UNSET and before.metadata is not UNSET:
            raise TransformFailed(number, "left the metadata out; give metadata={} to empty them")
        if not isinstance(answer.text, str) or has_surrogate(answer.text):
            raise TransformFailed(number, "the new text is not a string without lone surrogates")
        return answer


TRANSFORMS = Door[Transform](
    "transforms", "a Transform of this name", lambda name, it: isinstance(it, Transform) and it.name == name
)
"""The transforms that ship, and those of installed packages. A shelf has those that its modules import."""


def code_of_transforms(transforms: Sequence[Transform]) -> Code:
    """The code of several transforms, compared one by one: see join_codes().

    Args:
        transforms: the transforms, as a shelf gave them.
    """
    return join_codes({each.name: code_of(each) for each in transforms})
