"""TransformTrial: runs a transform on documents of a sample, as mixing would, and shows what it changes."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gristmill.errors import DataError
from gristmill.lake.rows.document import Document
from gristmill.recipes.edits.transform import Drop, Transform
from gristmill.text.differences import first_differences
from gristmill.trial.pieces import Drawn, DrawnSample
from gristmill.trial.trial import AGAIN, Failure


@dataclass
class TransformTrial:
    """What a transform makes of documents.

    Attributes:
        answers: the documents that it did not fail for, each with its answer.
        failures: failures of the transform, one for each document without an answer.
        differing: documents that get another answer when they are given alone.
        seconds: CPU seconds of all documents together.
    """

    answers: list[tuple[Drawn, Document | Drop]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    differing: list[Drawn] = field(default_factory=list)
    seconds: float = 0.0


def try_transform(transform: Transform, rows: Sequence[Drawn]) -> TransformTrial:
    """Runs a transform. Nothing is written.

    Args:
        transform: transform to run.
        rows: the documents.

    Returns:
        The results, and what went wrong.

    Raises:
        StoreError: a store that the transform reads did not answer.
    """
    trial = TransformTrial()
    began = time.process_time()
    found = _transform_answers(transform, rows)
    trial.seconds = time.process_time() - began
    if isinstance(found, str):  # the documents that it fails for are found one by one
        for row in rows:
            alone = _transform_answers(transform, [row])
            if isinstance(alone, str):
                trial.failures.append(Failure(row, alone))
            else:
                trial.answers.append((row, alone[0]))
        if not trial.failures:
            trial.failures.append(Failure(rows[0], f"only with all {len(rows)} documents: {found}"))
        return trial
    trial.answers = list(zip(rows, found, strict=True))
    trial.differing = [row for row, answer in trial.answers[:AGAIN] if _transform_answers(transform, [row]) != [answer]]
    return trial


def _transform_answers(transform: Transform, rows: Sequence[Drawn]) -> list[Document | Drop] | str:
    """The answers; or, as a string, why they are missing."""
    try:
        return transform.apply([row.document for row in rows])
    except DataError as error:
        return str(error)


def transform_lines(transform: Transform, sample: DrawnSample, trial: TransformTrial, examples: int) -> Iterator[str]:
    """The lines of a trial, for a terminal. Texts in them are not escaped yet.

    Args:
        transform: transform that was tried.
        sample: the documents.
        trial: trial with its results.
        examples: changed and dropped documents that are shown.
    """
    yield f"{transform.name} on {sample.asset} ({sample.snapshot}): {len(sample.rows):,} rows, drawn by hash"
    size = sum(len(row.document.text.encode()) for row in sample.rows) / 1e6
    yield f"  {size / max(trial.seconds, 1e-6):,.2f} MB a CPU second ({trial.seconds:.3f} s for {size:,.2f} MB)"
    yield from (f"  failed: {_document_place(failure.drawn)}: {failure.reason}" for failure in trial.failures[:20])
    for row in trial.differing[:examples]:
        yield f"  alone, {_document_place(row)} gets another answer: the answer to a document must not depend on others"
    kept = [(row, answer) for row, answer in trial.answers if isinstance(answer, Document)]
    changed = [(row, answer) for row, answer in kept if answer.text != row.document.text]
    metadata = sum(answer.metadata != row.document.metadata for row, answer in kept)
    before = sum(len(row.document.text) for row, _ in changed)
    after = sum(len(answer.text) for _, answer in changed)
    yield f"texts changed: {len(changed):,} of {len(trial.answers):,} rows, from {before:,} to {after:,} code points"
    if metadata:
        yield f"metadata changed: {metadata:,} rows"
    for row, answer in changed[:examples]:
        yield f"  {_document_place(row)}"
        for each in first_differences(row.document.text, answer.text, 3):
            yield f"    - {_escape_line(each.before)}"
            yield f"    + {_escape_line(each.after)}"
    reasons: dict[str, list[Drawn]] = {}
    for row, drop in trial.answers:
        if isinstance(drop, Drop):
            reasons.setdefault(drop.reason, []).append(row)
    for reason, rows in sorted(reasons.items()):
        yield f"dropped: {reason}: {len(rows):,} rows"
        for row in rows[:examples]:
            yield f"  {_document_place(row)}"
            yield f"    | {_escape_line(row.document.text[:100])}"


def _document_place(drawn: Drawn) -> str:
    return f"{drawn.shard} row {drawn.row} (id {drawn.document.id!r})"


def _escape_line(text: str) -> str:
    return " ".join(text.split("\n"))
