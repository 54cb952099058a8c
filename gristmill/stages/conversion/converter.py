"""Runs the converter of a source on a raw object, and tells whose fault an error is."""

from collections.abc import Iterator
from types import GeneratorType
from typing import Literal, overload

from gristmill.errors import DataError, GristmillError, defined_at, failed_at, is_failure
from gristmill.lake.address import raw_asset
from gristmill.lake.ledger.code import CHANGED_CODE
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.json_values import not_json_reason
from gristmill.lake.rows.raw_spans import RawSpan, SpannedRows
from gristmill.recipes.raw_object import TOO_LONG, Converted, RawObject, Refused, TooLong
from gristmill.recipes.source import Source


@overload
def convert_object(source: Source, raw: RawObject, snapshot: str) -> Iterator[Converted]: ...
@overload
def convert_object(
    source: Source, raw: RawObject, snapshot: str, *, at_once: Literal[True]
) -> Iterator[Converted | SpannedRows]: ...
def convert_object(
    source: Source, raw: RawObject, snapshot: str, *, at_once: bool = False
) -> Iterator[Converted | SpannedRows]:
    """Runs a source's converter on a raw object.

    Args:
        source: the source.
        raw: the raw object.
        snapshot: key of the snapshot, for messages.
        at_once: whether a reader may give many rows at once.

    Yields:
        The converted, copied and refused rows, and what was left out. Rows that a reader refused by itself are in
            `raw.refused`.

    Raises:
        DataError: the converter failed; the message names the object.
        MemoryError: the memory was not enough, which is not the converter's fault.
    """
    try:
        reader = source.reader
        if reader.gives_json:
            yield from reader.blocks(raw) if at_once else reader(raw)
            return
        rows = iter(source.convert(raw))
        for number, row in enumerate(rows):
            deep = isinstance(row, Document) and _check_metadata(row, rows, source, f"{snapshot}/{raw.name}", number)
            yield deep or row
    except TooLong as error:
        yield Refused(TOO_LONG, f"{raw.name}: {error}", b"", raw.size)
    except (GristmillError, MemoryError, GeneratorExit):  # GeneratorExit: nobody reads on
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        raise DataError(
            f"{raw_asset(source.name)}/{snapshot}/{raw.name}: the converter failed"
            f" ({failed_at(error, source.convert)}); mend it, or let it yield a Refused row; {CHANGED_CODE}"
        ) from error


def convert_with_spans(source: Source, raw: RawObject, snapshot: str) -> Iterator[tuple[Converted, RawSpan | None]]:
    """The results of a source's converter for a raw object, each row with its raw span; None if its reader tells none.

    Args:
        source: the source.
        raw: the raw object.
        snapshot: key of the snapshot, for messages.

    Raises:
        DataError: the converter failed; the message names the object.
    """
    for row in convert_object(source, raw, snapshot):
        raw_span = raw.take_raw_span()
        yield from ((refused, None) for refused in raw.take_refused())
        yield row, raw_span
    yield from ((refused, None) for refused in raw.take_refused())


def _check_metadata(
    row: Document, rows: Iterator[Converted], source: Source, where: str, number: int
) -> Refused | None:
    """Checks that metadata can be written as JSON, without a loss and without a choice.

    Returns:
        The refused row if they have too many levels.

    Raises:
        DataError: they cannot; the message names the converter's file and line, the raw object, the row and the key.
    """
    if not isinstance(row.metadata, dict):
        return None
    try:
        wrong = not_json_reason(row.metadata, "metadata")
    except RecursionError as error:
        return Refused(
            "nested too deeply", f"{where}: row {number}, id {row.id!r:.200}: {error}", repr(row.id).encode()
        )
    if wrong:
        frame = rows.gi_frame if isinstance(rows, GeneratorType) else None
        at = f"{frame.f_code.co_filename}, line {frame.f_lineno}" if frame else defined_at(source.convert)
        found = f"{where}: row {number}, id {row.id!r:.200}: {wrong}"
        raise DataError(f"{raw_asset(source.name)}/{found}, in the converter ({at})")
    return None
