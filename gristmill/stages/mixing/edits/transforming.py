"""Transforms over the rows of a block: which rows they change or drop, and what they count."""

from collections.abc import Iterable, Sequence

import msgspec

from gristmill.errors import DataError, MalformedRow
from gristmill.lake.ledger.code import CHANGED_CODE
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.json_values import first_non_utf8_string, not_json_reason
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.recipes.drift.drop_reasons import TRANSFORM
from gristmill.recipes.edits.transform import Drop, Transform, TransformFailed
from gristmill.recipes.shelf import find_recipe
from gristmill.stages.mixing.edits.edited_rows import EditedRows

_MEND = f"mend the transform, or drop such rows by a rule; {CHANGED_CODE}"


def transforms_of_selection(names: Iterable[str], shelves: Sequence[str]) -> tuple[Transform, ...]:
    """The transforms of a selection, in the order of application.

    Args:
        names: their names.
        shelves: the packages that hold them.

    Raises:
        RecipeError: a name is on no shelf.
    """
    return tuple(find_recipe("transforms", Transform, shelves, name) for name in names)


def apply_transform(rows: EditedRows, transform: Transform, path: str) -> None:
    """Applies one transform to the rows that are left.

    Args:
        rows: the rows of a block. They are changed.
        transform: the transform.
        path: path of the shard, for messages.

    Raises:
        MalformedRow: the transform failed for a row; names shard, row and reason.
        DataError: its function for batches failed.
    """
    who = f"{TRANSFORM}{transform.name}"
    numbers = rows.kept_rows()
    documents = rows.documents(numbers)
    try:
        answers = transform.apply(documents)
    except TransformFailed as error:
        row = rows.block.first + numbers[error.number]
        raise MalformedRow(path, row, f"{who}: {error.reason}", _MEND) from error
    except DataError as error:
        last = rows.block.first + (numbers[-1] if numbers else 0)
        raise DataError(f"{path}: rows {rows.block.first} to {last}: {error}; {_MEND}") from error
    for number, before, after in zip(numbers, documents, answers, strict=True):
        if isinstance(after, Drop):
            rows.drop_row(number, f"{who}: {after.reason}")
        elif after is not before:
            _apply_document_change(rows, number, before, after, who, path)


def _apply_document_change(
    rows: EditedRows, number: int, before: Document, after: Document, who: str, path: str
) -> None:
    if after.text != before.text:
        rows.change_text(number, before.text, after.text, who)
    if after.metadata is before.metadata:
        return
    try:
        wrong = not_json_reason(after.metadata, "metadata")
        encoded = msgspec.json.encode(after.metadata) if wrong is None else b""
    except UnicodeEncodeError as error:
        wrong, encoded = (
            first_non_utf8_string(after.metadata, "metadata") or f"its metadata cannot be written ({error})",
            b"",
        )
    except (RecursionError, OverflowError, *NOT_DECODED) as error:
        wrong, encoded = f"its metadata cannot be written ({error})", b""
    if wrong:
        raise MalformedRow(path, rows.block.first + number, f"{who}: {wrong}", _MEND)
    if after.metadata != before.metadata:
        rows.change_metadata(number, encoded, who)
