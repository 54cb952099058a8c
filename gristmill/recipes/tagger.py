"""What a tagger declares: a named, versioned function from documents to labels, and what the labels mean."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError, GristmillError, RecipeError, StoreError, failed_at, is_failure, known_names
from gristmill.lake.address import check_numbered
from gristmill.lake.ledger.model import Recipe
from gristmill.lake.rows.document import Document, Span
from gristmill.lake.rows.label_values import (
    LabelRange,
    declaration_of_label,
    first_wrong_label,
    is_label_name,
    is_span_array,
    listed_spans,
)
from gristmill.plugins import Door
from gristmill.recipes.batch import Batch
from gristmill.recipes.code.digest import check_same_output
from gristmill.recipes.drift.bounds import Bounds, check_bounds
from gristmill.recipes.label import Score, Spans
from gristmill.recipes.option_types import Json, check_types
from gristmill.text.huge.limits import MEND, MOST_SPANS, TooManySpans

__all__ = ["TAGGING", "Column", "Label", "Labels", "Score", "Spans", "Tagger", "TaggerFailed"]

TAGGING = 1
"""Version of the way we write attribute sets. Raising it rebuilds all of them."""

Label = float | list[Span] | None
"""A score for the whole document, or scored spans of it, or None for no label."""

Labels = Mapping[str, Sequence[Label]]
"""For each label's name, one label for each document."""

OVERLAPS = "overlaps"
"""The parameter of taggers that look for parts of evaluation sets; see gristmill.recipes.models.overlaps."""

Column = Sequence[Label] | NDArray[Any]
"""One label per document: a list, or an array of numbers, in which a masked one (`numpy.ma`) is None."""


class TaggerFailed(DataError):  # noqa: N818 - as in gristmill.errors
    """A tagger failed for one document.

    Attributes:
        number: index of the document among those that the tagger was given.
        reason: the error, with its type.
        mend: advice for a person; empty: mend the tagger.
    """

    def __init__(self, number: int, reason: str, mend: str = "") -> None:
        self.number, self.reason, self.mend = number, reason, mend
        super().__init__(reason)

    def __reduce__(self) -> tuple[type["TaggerFailed"], tuple[int, str, str]]:
        return type(self), (self.number, self.reason, self.mend)


@dataclass(frozen=True, kw_only=True)
class Tagger:
    """A named, versioned function from documents to labels. Its results are the attribute set of that name.

    Give exactly one of `document`, `batch` and `open`. `document` takes one document and returns a label for each name.
    `batch` takes a sequence of documents and returns, for each name, a list with one label for each document, in their
    order, or an array of numbers; a masked one (`numpy.ma`) is None. Spans of a document with whole scores may be an
    array of integers, shape (n, 3). Use `batch` for vectorised code. `open` takes the files of models, and returns a
    function like `batch`.

    Attributes:
        name: ends in a number (`toxicity-1`). If the meaning changes, take the next number.
        document: one document to its labels.
        batch: documents to their labels. It gets a Batch, which all taggers of a run share.
        open: function that takes the path of each model in `models`, by its name, and returns what `batch` is. It is
            called once a process. The path is that of the model's one file, or of the folder of a model that was
            brought as one.
        models: names of the models that `open` reads. Each is an input of the set: a model that is made anew makes the
            sets of its taggers out of date, and no others.
        labels: declarations of what the tagger returns: a Score or Spans for each name. Every result is compared with
            them, and so is every rule that names a label. None declares nothing, so nothing is compared. They are for
            checks and for people: a change of them rebuilds nothing.
        parameters: everything that changes the output, as JSON: thresholds, a model's sha256.
        description: description for people.
        only: names of the sources that it tags; empty means all. A name that ends with `*` means all sources whose
            names begin so, even if there are not any.
        draft: whether the recipe may change under its name.
        same_output: whether an edit of its code gives the same output, so that nothing is made again. Give a `reason`.
        reason: reason why the output is the same. Another edit takes another reason.
        bounds: limits on the difference of its sets from those of earlier snapshots; outside, they are not published.
            It changes no label. None: the check `volume` only warns.
        needs: the modules that its function imports when it is called, each with the package to install, such as
            `{"spacy": "spacy>=3.8"}`. A missing one is told before anything is ground. It changes no output.
    """

    name: str
    document: Callable[[Document], Mapping[str, Label]] | None = None
    batch: Callable[[Batch], Mapping[str, Any]] | None = None
    open: Callable[[Mapping[str, Path]], Callable[[Batch], Mapping[str, Any]]] | None = None
    models: tuple[str, ...] = ()
    labels: Sequence[Score | Spans] | None = None
    parameters: Json = field(default_factory=dict)
    description: str = ""
    only: Collection[str] = frozenset()
    draft: bool = False
    same_output: bool = False
    reason: str = ""
    bounds: Bounds | None = None
    needs: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Checks the declaration.

        Raises:
            RecipeError: the name has no number, not exactly one function is given, or a label is declared twice.
        """
        what = f"tagger {self.name!r}"
        check_types(self, what)
        check_numbered(self.name, "tagger")
        check_same_output(what, same_output=self.same_output, reason=self.reason)
        if [self.document, self.batch, self.open].count(None) != 2:
            raise RecipeError(f"{what}: give exactly one of document=, batch= and open=")
        if (self.open is None) != (not self.models):
            raise RecipeError(f"{what}: give open= and the models= that it reads together, or neither")
        for model in self.models:
            check_numbered(model, f"{what}: model")
        check_bounds(self.bounds, what, ("rows", "bytes", "scores"))
        if self.labels is None:
            return
        names = [label.name for label in self.labels]
        for name in names:
            if names.count(name) > 1:
                raise RecipeError(f"{what}: label {name!r} is declared twice")
            if name.startswith(f"{self.name}__"):
                raise RecipeError(f"{what}: label {name!r}: leave out the name of the set, which is added")
        for name in self.bounds.scores if self.bounds else ():
            if self.declaration(name) is None:
                raise RecipeError(f"{what}: bounds, scores: no label {name!r}; {known_names(name, names)}")

    @property
    def declared(self) -> Mapping[str, Score | Spans] | None:
        """The declared labels by name; None if nothing is declared."""
        return None if self.labels is None else {label.name: label for label in self.labels}

    @property
    def searches(self) -> bool:
        """Whether it looks for parts of evaluation sets. If it finds none in a whole run, people should know."""
        return OVERLAPS in self.parameters

    @property
    def recipe(self) -> Recipe:
        """The recipe of the attribute set, for a ledger."""
        exact = sorted(label.name for label in self.labels or () if label.exact)
        models = {"models": list(self.models)} if self.models else {}
        parameters = {**self.parameters, **({"exact": exact} if exact else {}), **models}
        return Recipe(self.name, TAGGING, parameters, self.draft)

    def opened(self, files: Mapping[str, Path]) -> "Tagger":
        """The tagger with its models: what it opened is its `batch`. A tagger without models is returned as it is.

        Args:
            files: path of each model, by name, as for `open`.

        Raises:
            RecipeError: `open` returned no function.
        """
        if self.open is None:
            return self
        batch = self.open(files)
        if not callable(batch):
            raise RecipeError(
                f"tagger {self.name!r}: open= returned {_type_in_words(batch)}; return a function like batch="
            )
        return replace(self, open=None, models=(), batch=batch)

    def applies_to(self, source: str) -> bool:
        """Whether the documents of a source are tagged."""
        return not self.only or declaration_of_label(source, dict.fromkeys(self.only, True)) is True

    def declaration(self, label: str) -> Score | Spans | None:
        """The declaration of a label, by its name or by a pattern; None if it is not declared."""
        return declaration_of_label(label, self.declared or {})

    def is_exact(self, label: str) -> bool:
        """Whether the scores of a label are written with all their digits."""
        declaration = self.declaration(label)
        return declaration is not None and declaration.exact

    def look(self, documents: Sequence[Document]) -> Labels:
        """Labels documents.

        Args:
            documents: any number of documents.

        Returns:
            For each label's name, one label for each document, in their order.

        Raises:
            TaggerFailed: the tagger failed for a document, or gave it a label that is not declared, of another kind, or
                out of its range.
            DataError: it returned no mapping, or another number of labels than documents.
            StoreError: a store did not answer.
            RecipeError: the tagger reads models, and was not opened with them.

        >>> doubt = Tagger(name="doubt-1", document=lambda document: {"questions": float(document.text.count("?"))})
        >>> doubt.look([Document(id=text, text=text, source="tales") for text in ("Why? How?", "So.")])
        {'questions': [2.0, 0.0]}
        """
        columns = self.columns(documents)
        return {
            name: column.tolist() if isinstance(column, np.ndarray) else list(map(listed_spans, column))
            for name, column in columns.items()
        }

    def columns(self, documents: Sequence[Document]) -> Mapping[str, Column]:
        """Labels documents as `look` does, but arrays of numbers from `batch=` stay arrays: they are written faster.

        Args:
            documents: any number of documents.

        Returns:
            For each label's name, a list or an array of one label for each document, in their order.

        Raises:
            TaggerFailed: as in `look`.
            RecipeError: as in `look`.
            GristmillError: another one, as in `look`.
        """
        batch = Batch.of(documents)
        if self.batch is not None:
            try:
                labels = self._columns_of_batch_result(self.batch(batch), len(batch))
            except TooManySpans as error:
                raise TaggerFailed(error.number, str(error), MEND) from error
        elif self.document is not None:
            rows = [self._label_one_document(self.document, number, document) for number, document in enumerate(batch)]
            names = dict.fromkeys(name for row in rows for name in row)
            for wrong in (name for name in names if not is_label_name(name)):
                raise TaggerFailed(next(i for i, row in enumerate(rows) if wrong in row), _label_name_problem(wrong))
            labels = {name: [row.get(name) for row in rows] for name in sorted(names)}
        else:
            raise RecipeError(
                f"tagger {self.name!r}: it reads {', '.join(self.models)}; look with tagger.opened(files)"
            )
        self._check_labels(labels, batch.lengths.tolist())
        return labels

    def _label_one_document(
        self, look: Callable[[Document], Mapping[str, Label]], number: int, document: Document
    ) -> Mapping[str, Label]:
        """One document's labels. Every error names the document, except a store's, and too little memory."""
        try:
            labels = look(document)
            if type(labels) is dict:
                return labels
            if isinstance(labels, Mapping):
                return dict(labels)
        except (StoreError, MemoryError):
            raise
        except TooManySpans as error:
            raise TaggerFailed(number, str(error), MEND) from error
        except GristmillError as error:
            raise TaggerFailed(number, str(error)) from error
        except BaseException as error:
            if not is_failure(error):
                raise
            raise TaggerFailed(number, failed_at(error, look)) from error
        raise TaggerFailed(
            number, f"document= returned {_type_in_words(labels)}; return a mapping from names to labels"
        )

    def _columns_of_batch_result(self, labels: Any, count: int) -> dict[str, Column]:
        """What `batch` returned, if it is lists or arrays of one label for each document."""
        what = f"tagger {self.name!r}"
        if not isinstance(labels, Mapping):
            raise DataError(
                f"{what}: batch= returned {_type_in_words(labels)}; return a mapping from names to lists of labels"
            )
        columns: dict[str, Column] = {}
        for name, values in labels.items():
            if not is_label_name(name):
                raise DataError(f"{what}: {_label_name_problem(name)}")
            if isinstance(values, np.ndarray) and values.ndim != 1:
                raise DataError(
                    f"{what}: label {name!r} is an array of shape {values.shape}; return one of shape ({count},)"
                )
            if isinstance(values, str | bytes | Mapping | set | frozenset) or not hasattr(values, "__len__"):
                raise DataError(
                    f"{what}: label {name!r} is {_type_in_words(values)}; return a list of one label for each document"
                )
            if len(values) != count:
                raise DataError(f"{what}: {len(values)} labels {name!r} for {count} documents")
            columns[name] = (
                _contiguous_number_column(values) if isinstance(values, np.ndarray) else _values_as_list(values)
            )
        return columns

    def _check_labels(self, labels: Mapping[str, Column], lengths: Sequence[int]) -> None:
        """Compares labels with their declarations, and what is not declared with what can be written."""
        declared = self.declared
        unknown = (
            [name for name in labels if declaration_of_label(name, declared) is None] if declared is not None else []
        )
        for name in sorted(unknown):
            number = next((i for i, value in enumerate(labels[name]) if value is not None), 0)
            raise TaggerFailed(number, f"label {name!r} is not in its labels=; {known_names(name, declared or ())}")
        vast = [number for number, length in enumerate(lengths) if length > MOST_SPANS]
        for name, values in labels.items():
            label = declaration_of_label(name, declared) if declared is not None else None
            kind, bounds = (label.kind, LabelRange(label.low, label.high)) if label else (None, LabelRange())
            wrong = first_wrong_label(values, lengths, kind, bounds, optional=label is None or label.optional)
            if wrong:
                raise TaggerFailed(wrong[0], f"label {name!r}: {wrong[1]}")
            for number in vast:
                if _span_count(values[number]) > MOST_SPANS:
                    raise TaggerFailed(number, str(TooManySpans(name)), MEND)
        for name, label in (declared or {}).items():
            if lengths and name not in labels and not label.optional:
                raise TaggerFailed(0, f"label {name!r} is missing, and it is not declared optional=True")


TAGGERS = Door[Tagger]("taggers", "a Tagger of this name", lambda name, it: isinstance(it, Tagger) and it.name == name)
"""The taggers that ship, and those of installed packages. A module of the shelf `taggers/` that imports one has it."""


def _contiguous_number_column(values: NDArray[Any]) -> Column:
    """An array of numbers in a form that is written, also if its tagger changes its own; a list of other values."""
    if values.dtype.kind == "b":
        return values.astype(np.int8)
    if values.dtype.kind in "iu":
        return values.astype(values.dtype.newbyteorder("="))
    if values.dtype.kind == "f" and values.dtype.itemsize <= np.dtype(np.float64).itemsize:
        return values.astype(np.float64)
    return _values_as_list(values)


def _values_as_list(values: Any) -> list[Any]:
    """The values of an array, a tuple or another sequence; masked ones of `numpy.ma` are None."""
    if isinstance(values, list):
        return values
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    return listed if isinstance(listed, list) else [listed]


def _span_count(label: Any) -> int:
    """How many spans a label has; 0 for a score."""
    return len(label) if isinstance(label, list) or is_span_array(label) else 0


def _label_name_problem(name: object) -> str:
    return f"label {name!r}: a label's name is a string without white space, such as word_count"


def _type_in_words(value: object) -> str:
    return "None" if value is None else f"{value!r:.40} ({type(value).__name__})"
