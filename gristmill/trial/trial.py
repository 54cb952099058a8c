"""Trial: runs a tagger on documents of a sample, as tagging would, and keeps what it says. Nothing is written."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gristmill.errors import GristmillError, StoreError, failed_at, is_failure
from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Label, Labels, Tagger, TaggerFailed
from gristmill.trial.pieces import Drawn

BATCH = 1 << 22
"""Code points of a batch, about as many as tagging gives to a tagger at once."""

AGAIN = 50
"""Documents that are tagged a second time, each alone."""


@dataclass(frozen=True)
class Failure:
    """A document that the tagger failed for."""

    drawn: Drawn
    reason: str


@dataclass
class Trial:
    """What a tagger says of documents.

    Attributes:
        labels: labels by name, one mapping for each document of `drawn`.
        drawn: the documents that it did not fail for, in their order.
        failures: failures of the tagger, one for each document without labels.
        differing: documents whose labels alone differ from those in a batch, with the name of such a label.
        opening: CPU seconds of the first document alone, in which a tagger opens its model.
        seconds: CPU seconds of all documents in batches.
        bytes: their texts in UTF-8.
    """

    labels: list[Mapping[str, Label]] = field(default_factory=list)
    drawn: list[Drawn] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    differing: list[tuple[Drawn, str]] = field(default_factory=list)
    opening: float = 0.0
    seconds: float = 0.0
    bytes: int = 0

    @property
    def names(self) -> list[str]:
        """All labels that a document has, sorted."""
        return sorted({name for row in self.labels for name, value in row.items() if value is not None})


def run_trial(tagger: Tagger, rows: Sequence[Drawn]) -> Trial:
    """Runs a tagger.

    Args:
        tagger: tagger to run.
        rows: the documents.

    Returns:
        The labels, and what went wrong.

    Raises:
        StoreError: a store that the tagger reads did not answer.
    """
    trial = Trial(bytes=sum(len(row.document.text.encode()) for row in rows))
    if rows:
        began = time.process_time()
        _label_documents(tagger, rows[:1])
        trial.opening = time.process_time() - began
    for some in _batches_of_rows(rows):
        began = time.process_time()
        found = _label_documents(tagger, some)
        trial.seconds += time.process_time() - began
        if isinstance(found, str):  # the documents that failed are found one by one
            singles = [(row, _label_documents(tagger, [row])) for row in some]
            found_all = [(row, each if isinstance(each, str) else _labels_of_row(each, 0)) for row, each in singles]
            if not any(isinstance(each, str) for _, each in found_all):
                trial.failures.append(Failure(some[0], f"only in a batch of {len(some)} documents: {found}"))
        else:
            found_all = [(row, _labels_of_row(found, number)) for number, row in enumerate(some)]
        for row, labels in found_all:
            if isinstance(labels, str):
                trial.failures.append(Failure(row, labels))
            else:
                trial.drawn.append(row)
                trial.labels.append(labels)
    trial.differing = list(_documents_labelled_differently(tagger, trial))
    return trial


def _batches_of_rows(rows: Sequence[Drawn]) -> Iterator[list[Drawn]]:
    some: list[Drawn] = []
    length = 0
    for row in rows:
        some.append(row)
        length += len(row.document.text)
        if length >= BATCH:
            yield some
            some, length = [], 0
    if some:
        yield some


def _label_documents(tagger: Tagger, rows: Sequence[Drawn]) -> Labels | str:
    """The labels of documents; or, as a string, why there are none."""
    try:
        return tagger.look(Batch([row.document for row in rows]))
    except StoreError:
        raise
    except TaggerFailed as error:
        return error.reason
    except GristmillError as error:
        return str(error)
    except BaseException as error:
        if not is_failure(error):
            raise
        return failed_at(error, tagger.batch or tagger.document)


def _labels_of_row(labels: Labels, number: int) -> dict[str, Label]:
    return {name: values[number] for name, values in labels.items()}


def _documents_labelled_differently(tagger: Tagger, trial: Trial) -> Iterator[tuple[Drawn, str]]:
    """The documents that get other labels when they are tagged alone, the last first."""
    for row, before in list(zip(trial.drawn, trial.labels, strict=True))[:AGAIN][::-1]:
        found = _label_documents(tagger, [row])
        if isinstance(found, str):
            yield row, found
            continue
        alone = _labels_of_row(found, 0)
        names = sorted(before.keys() | alone.keys())
        other = next((name for name in names if before.get(name) != alone.get(name)), None)
        if other is not None:
            yield row, other
