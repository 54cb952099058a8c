"""The first rows of a file of records, and which of their fields may be the id and the text."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gristmill.errors import shorten
from gristmill.peeking.draft import Call
from gristmill.peeking.head import Head

Row = Mapping[str, Any]

_IDS = (
    *("id", "_id", "uid", "uuid", "guid", "doc_id", "docid", "document_id", "record_id", "conversation_id"),
    *("message_id", "arxiv_id", "qid", "pid", "nr", "key", "url", "uri"),
)
"""Names of fields that may hold ids, the likeliest first."""
_TEXTS = ("text", "content", "raw_content", "body", "markdown", "article", "document", "story")
"""Names of fields that hold the text, the likeliest first."""
_PERHAPS = ("output", "answer", "response", "completion")
"""Names of fields that may hold the text, if there is no better one."""
_OTHERS = re.compile(r"(?i)(user|author|owner|parent|group|tree|site|type|category)_id$")
"""Names of ids of something else than the row."""
_ROLES = ("from", "speaker", "role", "author", "user", "name")
"""Keys of a turn that may say who speaks."""
_SAID = ("value", "content", "text", "utterance", "message")
"""Keys of a turn that may hold what is said."""
_ROWS = 200
_SHARE = 0.8
"""Share of the first lines that must be JSON objects."""
_TABLE_SHARE = 0.9
"""Share of the first rows that must have as many fields as the header."""
_TABLE_NAME = re.compile(r"(?i)\.[ct]sv(\.|$)")
_NAMED_TABLE_SHARE = 0.5
"""The same share for a file whose name says that it is a table: its reader refuses the other rows, one by one."""
_UTF8 = frozenset({"utf-8", "utf-8-sig"})
_DELIMITERS = ",\t;|"
_FIELDS_SHOWN = 20


def json_rows(head: Head) -> tuple[list[dict[str, Any]], int]:
    """The objects of the first lines, and how many of these lines are not objects.

    Without a file of JSON lines, there are no objects.

    Args:
        head: beginning of the file.
    """
    if head.text_encoding not in _UTF8 or not head.text.lstrip("\ufeff \t\r\n").startswith(
        ("{", "//", "#")  # comments, which readers refuse
    ):
        return [], 0
    rows: list[dict[str, Any]] = []
    lines = [line for line in head.lines if line.strip()][:_ROWS]
    for line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            rows.append(row)
    wrong = len(lines) - len(rows)
    return (rows, wrong) if rows and len(rows) >= _SHARE * len(lines) else ([], 0)


def array_rows(head: Head) -> list[dict[str, Any]]:
    """The first objects of a JSON array; empty if the file is not an array in UTF-8."""
    text = head.text.removeprefix("\ufeff").lstrip()
    if head.text_encoding not in _UTF8 or not re.match(r"\[\s*\{", text):
        return []
    rows: list[dict[str, Any]] = []
    decoder, at = json.JSONDecoder(), 1
    while len(rows) < _ROWS:
        found = re.compile(r"[\s,]*").match(text, at)
        at = found.end() if found else at
        try:
            row, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        if not isinstance(row, dict):
            return []
        rows.append(row)
    if not rows and not head.whole:  # one object is larger than what was read
        return [{}]
    return rows


def delimited_rows(head: Head) -> tuple[str, list[dict[str, str]], int]:
    """The first rows of a table with a header. If the file is not a table, they are empty.

    Args:
        head: beginning of the file.

    Returns:
        The delimiter, the rows, and how many others have another number of fields than the header.
    """
    text = head.text.removeprefix("\ufeff")
    if not head.whole:
        text = text[: text.rfind("\n") + 1]
    share = _NAMED_TABLE_SHARE if _TABLE_NAME.search(head.path.name) else _TABLE_SHARE
    best: tuple[str, list[list[str]]] = ("", [])
    for delimiter in _DELIMITERS:
        rows = _parse_delimited_table(text, delimiter, share, whole=head.whole)
        if rows and len(rows[0]) > len(best[1][0] if best[1] else ["x"]):
            best = delimiter, rows
    delimiter, rows = best
    if len(rows) < 2 or not _is_header(rows[0]):
        return "", [], 0
    fits = [dict(zip(rows[0], row, strict=True)) for row in rows[1:] if len(row) == len(rows[0])]
    return delimiter, fits, len(rows) - 1 - len(fits)


def _parse_delimited_table(text: str, delimiter: str, share: float, *, whole: bool) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if row:
                rows.append(row)
            if len(rows) > _ROWS:
                break
    except csv.Error:
        return []
    if not whole and len(rows) <= _ROWS:
        rows = rows[:-1]  # it may be cut off
    fit = sum(len(row) == len(rows[0]) for row in rows)
    return rows if rows and fit >= share * len(rows) else []


def _is_header(row: Sequence[str]) -> bool:
    """Whether a row may name columns: words, each once. One may be empty, as pandas leaves that of its index."""
    named = [name for name in row if name.strip()]
    plain = all(len(name) < 80 and not re.fullmatch(r"[-+\d.,eE]+", name) and "\n" not in name for name in named)
    return plain and len(set(row)) == len(row) and len(named) >= len(row) - 1


def fields_with_kinds(rows: Iterable[Row]) -> tuple[str, ...]:
    """The fields of some rows with their kinds, in the order in which they are seen; those of objects with dots.

    >>> fields_with_kinds([{"id": 1, "meta": {"url": "u"}}])
    ('id: number', 'meta.url: string')
    """
    kinds: dict[str, str] = {}
    for row in rows:
        for name, value in _flatten_row(row):
            if value is not None or name not in kinds:
                kinds[name] = _value_kind(value)
    shown = [f"{shorten(name, 60)}: {kind}" for name, kind in kinds.items()]
    more = [f"and {len(shown) - _FIELDS_SHOWN} more"] if len(shown) > _FIELDS_SHOWN else []
    return tuple(shown[:_FIELDS_SHOWN] + more)


def _flatten_row(row: Row, below: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, dict) and value and not below:
            yield from _flatten_row(value, f"{name}.")
        else:
            yield f"{below}{name}", value


def _value_kind(value: Any) -> str:
    if value is None:
        return "null"
    kinds = ((bool, "boolean"), (str, "string"), (int | float, "number"), (list, "list"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "object")


def guess_row_mapping(rows: Sequence[Row]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The options of a reader of rows, such as JsonLines: which field has the id, and which the text.

    Args:
        rows: the first rows of the file.

    Returns:
        The options, and notes on what is uncertain.
    """
    columns: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in _flatten_row(row):
            if value is not None:
                columns.setdefault(name, []).append(value)
    least = min(len(rows) - 1, _SHARE * len(rows))  # a value may be missing in one row of few
    full = {name: values for name, values in columns.items() if len(values) >= least}
    options: dict[str, Any] = {}
    notes: list[str] = []
    options["id_key"] = _guess_id_field(full)
    if options["id_key"] is None:
        notes.append("no field has an id for each row: ids are made of file and row number")
    elif options["id_key"].rpartition(".")[2].lower() not in _IDS:
        notes.append(f"the id is a guess: {options['id_key']} differs in each of the first {len(rows)} rows")
    turns = _turns_column_options(full)
    text = None
    if turns:
        options |= turns
    else:
        text = _guess_text_field({name: values for name, values in full.items() if name != options["id_key"]})
        if text is None:
            notes.append("no field has a text in each row")
        elif text != "text":
            options["format"] = Call("gristmill.recipes.row_format", "Text", {"text_key": text})
            notes += _text_field_notes(text)
    taken = filter(None, (options["id_key"], text, _turns_column(turns)))
    notes += [
        f"{name} is null, empty or missing in {missing} of the first {len(rows)} rows: they will be refused"
        for name in taken
        if (missing := len(rows) - sum(value != "" or name != options["id_key"] for value in full[name]))
    ]
    if options["id_key"] == "id":
        del options["id_key"]
    return options, tuple(notes)


def _text_field_notes(text: str) -> list[str]:
    if text.lower() in _PERHAPS:
        return [f"the text is a guess, by its name: {text}; another field may belong to it"]
    known = text.rpartition(".")[2].lower() in _TEXTS
    return [] if known else [f"the text is a guess: {text} has the longest strings"]


def _guess_id_field(columns: Mapping[str, Sequence[Any]]) -> str | None:
    for wanted in _IDS:
        for name, values in columns.items():
            likely = name.rpartition(".")[2].lower() == wanted
            if likely and _may_be_ids(values):
                return name
    for name, values in columns.items():
        if name.lower().endswith("_id") and not _OTHERS.search(name) and _may_be_ids(values):
            return name
    return None


def _may_be_ids(values: Sequence[Any]) -> bool:
    """Whether the values may be ids, and each is there once. A few may be empty, as a null in CSV is."""
    given = [value for value in values if value != ""]
    most = given and len(given) >= min(len(values) - 1, _SHARE * len(values))
    return bool(most) and all(_is_id(value) for value in given) and len(set(map(str, given))) == len(given)


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _guess_text_field(columns: Mapping[str, Sequence[Any]]) -> str | None:
    texts = {name: values for name, values in columns.items() if all(isinstance(value, str) for value in values)}
    for wanted in (*_TEXTS, *_PERHAPS):
        for name in texts:
            if name.lower() == wanted:
                return name
    return max(texts, key=lambda name: sum(map(len, texts[name])), default=None)


def _turns_column_options(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The options for a column of turns; empty without one."""
    for name, values in columns.items():
        turns = [turn for value in values if isinstance(value, list) for turn in value]
        if not turns or not all(isinstance(turn, dict) for turn in turns) or "." in name:
            continue
        keys = Counter(key for turn in turns for key, value in turn.items() if isinstance(value, str))
        common = {key for key, count in keys.items() if count >= min(len(turns) - 1, _SHARE * len(turns))}
        if {"role", "content"} <= common:
            options = {} if name == "messages" else {"messages_field": name}
            return {"format": Call("gristmill.recipes.row_format", "Chat", options)}
        role, content = (next((key for key in likely if key in common), "") for likely in (_ROLES, _SAID))
        if role and content:
            return {"format": Call("gristmill.recipes.row_format", "Chat"), "turns": _turns_call(name, role, content)}
    return {}


def _turns_column(options: Mapping[str, Any]) -> str | None:
    """The column of the turns, in the options of _turns_column_options(); None without any."""
    if "turns" in options:
        return str(options["turns"].options["column"])
    return str(options["format"].options.get("messages_field", "messages")) if options else None


def _turns_call(column: str, role: str, content: str) -> Call:
    """The call for turns of other forms than OpenAI's; the names of ShareGPT's roles are known."""
    module = "gristmill.readers.mapping.turns"
    if (role, content) == ("from", "value"):
        return Call(module, "sharegpt", {"column": column})
    return Call(module, "Turns", {"column": column, "role_key": role, "content_key": content})
