"""The id that the document of a refused row would have: readers tell it, or take it from the row or from its path."""

import json
import re
import string
from itertools import islice, product
from pathlib import PurePosixPath
from typing import Any

from gristmill.lake.identity import Pair
from gristmill.lake.rows.quarantined import QuarantinedRow
from gristmill.lake.rows.shard_file import PACKINGS
from gristmill.recipes.reader import RowIds
from gristmill.recipes.source import Source
from gristmill.stages.conversion.quarantine import LONGEST_ID
from gristmill.takedowns.wanted import Wanted

_MOST = 100
"""Ids that a row may have, if it has the keys of its id at several places."""
_ESCAPES = re.compile(r'(?:\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt]))+')
"""Escapes of JSON. Two that stand together may be one character."""


def pairs_of_refused_row(row: QuarantinedRow, source: Source, wanted: Wanted, snapshot: str) -> list[Pair] | None:
    """The wanted documents whose id and source a refused row has as its own; None if these are not known.

    A row may have the id of another document in any of its fields, such as a rating. A row of another source may have
    the same id.

    Args:
        row: the row.
        source: the recipe of its source.
        wanted: the documents.
        snapshot: key of its snapshot.
    """
    own = ids_of_refused_row(row, source, wanted, snapshot)
    if not own or len(own) > 1 or "" in own:
        return None
    pairs, sources = wanted.by_id.get(min(own), []), _sources_of_refused_row(row, source)
    if sources is None:
        return None if pairs else []
    return [pair for pair in pairs if pair[0] in sources]


def _sources_of_refused_row(row: QuarantinedRow, source: Source) -> set[str] | None:
    """The sources that the document of a refused row may have; None if that is not known."""
    names, ids = {source.name, source.read_as}, source.reader.row_ids()
    field = ids.source if ids else source.reader.source_key
    if field is None:
        return names
    found = _field_values_in_json(row.raw, field)
    told = found - {""}
    if told:
        return told if found == told and len(told) == 1 else None
    return names if ids and not ids.needs_source else None


def ids_of_refused_row(row: QuarantinedRow, source: Source | None, wanted: Wanted, snapshot: str) -> set[str] | None:
    """The ids that a refused row may have as its own: one, unless it has a key of its id at several places.

    Args:
        row: the row.
        source: the recipe of its source; None: nobody knows it.
        wanted: the documents.
        snapshot: key of its snapshot.

    Returns:
        The ids; an empty string stands for a missing id. None: the reader makes the ids, and did not give this row's.
    """
    if row.id:  # readers of older versions told the end of the id alone; the quarantine has its begin if it is long
        ends = (f":{row.id}", f"/{row.id}")
        part = len(row.id) >= LONGEST_ID or (row.id not in wanted.by_id and any(n.endswith(ends) for n in wanted.by_id))
        return None if part else {row.id}
    ids = source.reader.row_ids() if source else None
    if ids is None:
        return None
    if ids.kind == "path":
        return {_refused_file_path(row, ids)}
    if ids.kind == "number":
        if row.row is None or "raw" in PurePosixPath(row.file).parts:  # the id begins below the last folder `raw`
            return None
        return {f"{name}:{row.row}" for name in (f"{snapshot}/{row.file}", row.file)}
    return _field_values_in_json(row.raw, ids.name) if ids.kind == "field" else _ids_from_template(row.raw, ids.name)


def _ids_from_template(text: str, template: str) -> set[str] | None:
    """The ids that a template makes of the values in a text; None if it has not all of them."""
    parts = list(string.Formatter().parse(template))
    values = [_field_values_in_json(text, each) for _, each, _, _ in parts if each]
    ids = {""} if any("" in each for each in values) else set[str]()
    for chosen in islice(product(*(sorted(each - {""}) for each in values)), _MOST):
        left = iter(chosen)
        ids.add("".join(f"{literal}{next(left)}" if each else literal for literal, each, _, _ in parts))
    return ids or None  # no row of JSON has it: a table, or a damaged row


def _refused_file_path(row: QuarantinedRow, ids: RowIds) -> str:
    """The path of a refused file: in its archive, or below the snapshot without the ending of its packing."""
    if row.member:
        return f"{row.file}/{row.member}" if ids.in_archive else row.member
    name = row.file
    for end in PACKINGS:
        name = name.removesuffix(end)
    return name


def _field_values_in_json(text: str, path: str) -> set[str]:
    """The values of a field in a text of JSON, at any depth, if they are strings or whole numbers.

    One of them is empty if the text is a whole row that has no such value at this path.

    >>> sorted(_field_values_in_json('{"id": "7", "rating": "8", "meta": {"id": 9', "id"))
    ['7', '9']
    >>> sorted(_field_values_in_json('{"meta": {"id": 9}}', "id"))
    ['', '9']
    >>> _field_values_in_json('{"meta": {"id": 9}}', "meta.id")
    {'9'}
    """
    found = re.findall(rf'"{re.escape(path.rpartition(".")[2])}"\s*:\s*(?:"((?:[^"\\]|\\.)*)"|(-?[0-9]+)\b)', text)
    row = _decode_json(text)
    own = _value_at_path(row, path)
    exact = {str(own) if isinstance(own, str | int) and not isinstance(own, bool) else ""}
    return {unescape_json(string) or number for string, number in found} | (exact if isinstance(row, dict) else set())


def _value_at_path(row: Any, path: str) -> Any:
    """The value at a path with dots; None if the row has no such field. A field of exactly this name comes first."""
    if not isinstance(row, dict) or path in row:
        return row.get(path) if isinstance(row, dict) else None
    name, _, rest = path.partition(".")
    return _value_at_path(row.get(name), rest) if rest else None


def is_object(text: str) -> bool:
    """Whether a row is JSON to its end. In other rows an id may stand without quotes.

    Args:
        text: text of the row.
    """
    return is_json(text) and _decode_json(text) is not None


def is_json(text: str) -> bool:
    """Whether a row begins as JSON does.

    Args:
        text: text of the row.
    """
    return text.lstrip()[:1] in {"{", "["}


def _decode_json(text: str) -> Any:
    """The value that a text encodes as JSON; None if the text is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def unescape_json(text: str) -> str:
    r"""The text of JSON without escapes.

    Args:
        text: JSON, or a piece of it.

    >>> unescape_json(r'{"id": "\u0064\/7\ud83d\ude00"}')
    '{"id": "d/7😀"}'
    """
    return _ESCAPES.sub(lambda found: str(json.loads(f'"{found[0]}"')), text)
