"""Files beside shards that name documents or have copies of their texts: each is read whole."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec
import orjson

from gristmill.errors import GristmillError
from gristmill.lake.address import Place
from gristmill.lake.asset_kinds import LABELS, MODEL, names_in_asset_address
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.derived import columns_folder, columns_path, examples_path
from gristmill.lake.ledger.model import Shard
from gristmill.lake.ledger.walk import list_assets
from gristmill.lake.rows.shard_file import read_blocks, split_rows
from gristmill.lake.store.json_object import NOT_DECODED, decode_object
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.erasures import text_digest
from gristmill.scores.examples import ExamplesFile
from gristmill.takedowns.places import Area, FoundPlace, Search
from gristmill.takedowns.wanted import Wanted
from gristmill.tracing.rows import Partition

_ROWS = re.compile(r"(labels|models)/.*\.jsonl(\.gz|\.zst)?")
"""Files of labelled sets and models that are read whole."""


def _found_side_place(pair: Pair, area: Area, there: Place, shard: str, where: str) -> FoundPlace:
    return FoundPlace(*pair, area, there.asset, there.snapshot, shard, where)


def wanted_pairs_in_row(name: str, text: str, wanted: Wanted) -> list[Pair]:
    """The wanted documents whose id is the one that a row has, and those whose id is one of the strings in its text.

    Args:
        name: the id of the row.
        text: content of the row, JSON or the begin of it. A key that stands there twice counts twice.
        wanted: the documents.
    """
    strings = {name, *_strings_in_json(text)}
    return [pair for name, pairs in wanted.by_id.items() if name in strings for pair in pairs]


class _NamedRow(msgspec.Struct):
    source: str | None = None
    id: str | int = ""


_row = msgspec.json.Decoder(_NamedRow)


def pairs_in_row(line: bytes, wanted: Wanted) -> list[Pair]:
    """The wanted documents that a row of any form names: their id is one of its strings, at any depth.

    A row of another source is another document, even if it has the same id. An empty source is none.

    Args:
        line: the line of the row.
        wanted: the documents.

    >>> wanted = Wanted({("pages", "7"): ""})
    >>> [pairs_in_row(row, wanted) for row in (b'{"id": 1, "turns": [{"id": "7"}]}', b'{"id": "7", "source": "a"}')]
    [[('pages', '7')], []]
    """
    try:
        row = _row.decode(line)
    except NOT_DECODED:
        row = _NamedRow()
    text = line.decode("utf-8", "replace")
    found = wanted_pairs_in_row(str(row.id), text, wanted)
    if not found or not row.source:
        return found
    strings = list(_strings_in_json(text))
    own = "" if strings.count("source") > 1 or strings.count(str(row.id)) > 1 else str(row.id)
    return [pair for pair in found if pair[1] != own or pair[0] == row.source]


_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
NUMBER = re.compile(r'"id"\s*:\s*(-?[0-9]+)')
"""An id that is a number, in a JSON text."""


def _strings_in_json(text: str) -> Iterator[str]:
    """The strings of a JSON text, and the numbers that are ids. A string that has quotes may itself be a row."""
    for found in _STRING.findall(text):
        try:
            value = orjson.loads(f'"{found}"') if "\\" in found else found
        except orjson.JSONDecodeError:
            value = found
        yield value
        if '"' in value:
            yield from value.split('"')[1:-1]  # also behind a quote that opens no string
            yield from _strings_in_json(value)
    yield from NUMBER.findall(text)


def example_places(store: Store, attributes: Partition, wanted: Wanted, search: Search) -> Iterator[FoundPlace]:
    """The excerpts that people are shown of wanted documents.

    Args:
        store: the lake.
        attributes: the partition of an attribute set.
        wanted: the documents.
        search: search that learns that the file was read.

    Raises:
        DataError: the file is wrong.
    """
    path = examples_path(attributes.place)
    tagged = store.read_tagged(path)
    if tagged is None:
        return
    file = decode_object(tagged[0], ExamplesFile, path, "examples", "remove it")
    for each in file.examples:
        if (each.source, each.id) in wanted.reasons:
            where = f"{path}: an excerpt ({each.end} {each.label})"
            yield _found_side_place((each.source, each.id), "examples", attributes.place, each.shard, where)
    search.read.add(path)


def column_places(
    store: Store, partition: Partition, wanted: Wanted, rows: Mapping[str, Collection[Pair]], search: Search
) -> Iterator[FoundPlace]:
    """The columns beside shards that name wanted documents. Those of another content than the shard has are read.

    Args:
        store: the lake.
        partition: partition of documents or of a set.
        wanted: the documents.
        rows: wanted documents that each shard has, by its name.
        search: search that learns which files were read; and which cannot be, if no shard with such documents is beside
            them.
    """
    shards = {columns_path(partition.place, name): shard for name, shard in partition.shards.items()}
    for entry in store.list(columns_folder(partition.place)):
        shard = shards.get(entry.path)
        if shard is None:
            continue  # no ledger names it: see accounted.py
        pairs = set(rows.get(shard.name, ()))
        try:
            pairs |= _stale_pairs(store, partition.place, shard, wanted)
            search.read.add(entry.path)
        except GristmillError as error:
            if not pairs:
                search.note_skipped("columns", entry.path, str(error).removeprefix(f"{entry.path}: "))
        for pair in sorted(pairs):
            yield _found_side_place(pair, "columns", partition.place, shard.name, entry.path)


def _stale_pairs(store: Store, there: Place, shard: Shard, wanted: Wanted) -> set[Pair]:
    """The wanted documents in columns of another content; none if they have that of the shard."""
    from gristmill.scores.column_file import has_columns, read_pairs  # noqa: PLC0415 - pyarrow takes 0.4 s to import

    if has_columns(store, there, shard):
        return set()
    return {pair for pair in read_pairs(store, columns_path(there, shard.name)) if pair in wanted.reasons}


def labelled_places(store: Store, wanted: Wanted, search: Search) -> Iterator[FoundPlace]:
    """The rows of labelled sets, and of the test items of models, that name a wanted document or have its text.

    Args:
        store: the lake.
        wanted: the documents.
        search: search that has the texts of the documents; learns which files were read, and which cannot be.
    """
    for asset in (*list_assets(store, LABELS), *list_assets(store, MODEL)):
        for entry in store.list(f"{asset}/"):
            if _ROWS.fullmatch(entry.path):
                try:
                    yield from _places_named_in_file(store, entry.path, asset, wanted, search.texts)
                    search.read.add(entry.path)
                except GristmillError as error:
                    search.note_skipped("labels", entry.path, error)


def _places_named_in_file(
    store: Store, path: str, asset: str, wanted: Wanted, texts: Mapping[str, list[Pair]]
) -> Iterator[FoundPlace]:
    number, name = 0, names_in_asset_address(asset).get("labels", "")
    for block in read_blocks(store, path):
        for line in split_rows(block):
            row = _decode_set_row(line)
            for pair in _pairs_in_labels(row, line, name, wanted, texts):
                own = row.source if pair == (row.source, row.id) else ""
                yield FoundPlace(*pair, "labels", asset, "", "", f"{path}: row {number}", by_id_of=own)
            number += 1


class _RowOfSet(msgspec.Struct):
    source: str = ""
    text: str = ""
    id: Any = ""


_row_of_set = msgspec.json.Decoder(_RowOfSet)


def _decode_set_row(line: bytes) -> _RowOfSet:
    try:
        return _row_of_set.decode(line)
    except NOT_DECODED:
        return _RowOfSet()


def _pairs_in_labels(
    row: _RowOfSet, line: bytes, name: str, wanted: Wanted, texts: Mapping[str, list[Pair]]
) -> list[Pair]:
    """The wanted documents that a row of a set names. Rows of a file that people brought have the set's name as their
    source, whatever source they came from: then the id or the text decides.
    """
    if not name or row.source != name:
        return pairs_in_row(line, wanted)
    found = [*wanted_pairs_in_row("", line.decode("utf-8", "replace"), wanted), *texts.get(text_digest(row.text), ())]
    return list(dict.fromkeys(found))
