"""Rows of the quarantine that may be of wanted documents. The quarantine has the first bytes of a row only.

A longer row is searched to its end in the raw object. Where it ends is not known there, so the rest of the object is
searched: an id behind the row cannot be told from one in it, and the row is reported as not searched.
"""

import re
import string
from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import NamedTuple

import orjson

from gristmill.errors import GristmillError, RecipeError
from gristmill.lake.address import raw_folder
from gristmill.lake.asset_kinds import names_of
from gristmill.lake.identity import Pair
from gristmill.lake.rows.quarantined import QuarantinedRow
from gristmill.lake.rows.row_blocks import HEAD
from gristmill.lake.rows.shard_file import read_blocks, rows_of, unpacked
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.protocol import Store
from gristmill.recipes.shelf import find
from gristmill.recipes.source import Source
from gristmill.takedowns.places import FoundPlace, Search
from gristmill.takedowns.side_files import NUMBER, pairs_in
from gristmill.takedowns.wanted import Wanted
from gristmill.tracing.rows import Partition

EMPTY_LINE = "empty line"
"""The reason for the only refused row that has no byte: of others without one, none was kept."""
_WINDOW = 1 << 20
_MOST = 100
"""Ids that a row may have, if it has the keys of its id at several places."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([\"\\/]))")


class RefusedPlace(NamedTuple):
    """A refused row that may be of a wanted document: the shard, the row's number in the quarantine, and the row."""

    pair: Pair
    shard: str
    number: int
    row: QuarantinedRow


def source_of(documents: Partition, packages: Sequence[str]) -> Source | None:
    """The recipe of the source that a partition of documents belongs to; None if it is not on the shelves.

    Args:
        documents: the partition.
        packages: the shelves.
    """
    try:
        return find("sources", Source, packages, names_of(documents.place.asset)["source"])
    except RecipeError:
        return None


def refused_rows(store: Store, documents: Partition, source: Source | None, wanted: Wanted) -> Iterator[RefusedPlace]:
    """The refused rows with the id of a wanted document: as their own id, or in the first bytes of the row.

    Rows of another source of the same id are among them: a refused row has no valid source.

    Args:
        store: the lake.
        documents: the partition of documents.
        source: the recipe of its source, which says how ids are made.
        wanted: the documents.

    Raises:
        DataError: a row is wrong.
    """
    for shard, _, number, row in _rows(store, documents):
        for pair in _pairs(row, source, wanted):
            yield RefusedPlace(pair, shard, number, row)


def own_pairs(name: str, text: str, source: Source, wanted: Wanted) -> list[Pair] | None:
    """The wanted documents whose id a refused row has as its own; None if its own id is not known.

    A row may have the id of another document in any of its fields, such as a rating.

    Args:
        name: its id, if its reader said it.
        text: of the row, JSON or the begin of it.
        source: the recipe of its source.
        wanted: the documents.
    """
    own = _own_ids(name, text, source)
    return None if len(own) != 1 else wanted.by_id.get(own.pop(), [])


def _pairs(row: QuarantinedRow, source: Source | None, wanted: Wanted) -> list[Pair]:
    """The wanted documents that a row names: by its own id, or by one of its strings."""
    own = _own_ids(row.id, row.raw, source) if source else set()
    made = [pair for name in sorted(own & wanted.by_id.keys()) for pair in wanted.by_id[name]]
    found = made or pairs_in(row.id, row.raw, wanted)
    return found or ([] if _is_json(row.raw) and not _is_broken(row.raw) else _pairs_in_text(row.raw, wanted))


def _is_broken(text: str) -> bool:
    """Whether a row is no JSON to its end, so that an id may stand in it without quotes. One of HEAD bytes is cut."""
    if len(text.encode()) >= HEAD:
        return False
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return True
    return False


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in {"{", "["}


def _pairs_in_text(text: str, wanted: Wanted) -> list[Pair]:
    """The wanted documents whose id stands in a row that is no JSON, such as one of a table or of a web archive."""
    found = [name for name in wanted.by_id if name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
    return [pair for name in found for pair in wanted.by_id[name]]


def _own_ids(name: str, text: str, source: Source) -> set[str]:
    """The ids that a refused row may have as its own: one, unless it has a key of its id at several places."""
    template, key = getattr(source.convert, "id_template", None), getattr(source.convert, "id_key", "id")
    if name:
        return {name}
    if template is None:
        return _values(text, key) if key else set()
    parts = list(string.Formatter().parse(template))
    values = [sorted(_values(text, each)) for _, each, _, _ in parts if each]
    ids = set[str]()
    for chosen in islice(product(*values), _MOST):
        left = iter(chosen)
        ids.add("".join(f"{literal}{next(left)}" if each else literal for literal, each, _, _ in parts))
    return ids


def _values(text: str, path: str) -> set[str]:
    """The values of a field in a text of JSON, at any depth, if they are strings or whole numbers.

    >>> sorted(_values('{"id": "7", "rating": "8", "meta": {"id": 9', "id"))
    ['7', '9']
    """
    found = re.findall(rf'"{re.escape(path.rpartition(".")[2])}"\s*:\s*(?:"((?:[^"\\]|\\.)*)"|(-?[0-9]+)\b)', text)
    return {_plain(string.encode()) or number for string, number in found}


def quarantine_places(
    store: Store, documents: Partition, source: Source | None, wanted: Wanted, search: Search
) -> Iterator[FoundPlace]:
    """The places of refused rows with the id of a wanted document.

    Args:
        store: the lake.
        documents: the partition of documents.
        source: the recipe of its source, which says how ids are made.
        wanted: the documents.
        search: learns which rows are not in the quarantine to their end, and may be of a wanted document.

    Raises:
        DataError: a row is wrong.
    """
    there = documents.place
    for shard, path, number, row in _rows(store, documents):
        found = _pairs(row, source, wanted)
        for pair in found:
            where = f"{path}: row {number} ({row.reason})"
            recipe = names_of(there.asset)["source"]
            yield FoundPlace(*pair, "quarantine", there.asset, there.snapshot, shard, where, by_id_of=recipe)
        whole = bool(row.id or row.raw or row.reason == EMPTY_LINE) and len(row.raw.encode()) < HEAD
        why = "" if found or whole else _why_unsearched(store, documents, row, wanted)
        if why:
            search.skip("quarantine", f"{path}: row {number} ({row.reason})", why)


def _rows(store: Store, documents: Partition) -> Iterator[tuple[str, str, int, QuarantinedRow]]:
    """Each refused row: the shard, the quarantine's path, the row's number in it, and the row.

    Raises:
        DataError: a row is wrong.
    """
    for name, shard in documents.shards.items():
        if shard.quarantine is None:
            continue
        path, number = documents.place.quarantine(name), 0
        for block in read_blocks(store, path, shard.quarantine.sha256):
            for line in rows_of(block):
                yield (
                    name,
                    path,
                    number,
                    decode_object(line, QuarantinedRow, path, "refused rows", "make its shard again"),
                )
                number += 1


def _why_unsearched(store: Store, documents: Partition, row: QuarantinedRow, wanted: Wanted) -> str:
    """Why a row of which the quarantine has the first bytes only may be of a wanted document; empty if it is not."""
    short = f"the quarantine has its first {HEAD >> 20} MiB only" if row.raw else "the quarantine has no byte of it"
    mend = "take the row out of the raw object, and make it again"
    if row.offset is None or row.member:
        return f"{short}, and its place in {row.file or 'the raw data'} is not known to the byte; {mend}"
    folder = raw_folder(names_of(documents.place.asset)["source"])
    try:
        for path in (f"{folder}{documents.place.snapshot}/{row.file}", f"{folder}{row.file}"):
            if store.head(path) is not None:
                texts = _texts(store, path, row.offset, _longest(wanted))
                named = any(_names(text, wanted, json=_is_json(row.raw)) for text in texts)
                return f"{short}, and {path} has such an id behind byte {row.offset}; {mend}" if named else ""
    except GristmillError as error:
        return f"{short}, and {error}"
    return f"{short}, and {row.file} is not in the lake; {mend}"


def _longest(wanted: Wanted) -> int:
    """Characters that the longest id may have, each of them escaped, with what stands around it."""
    return 6 * max(map(len, wanted.by_id), default=0) + 64


def _texts(store: Store, path: str, offset: int, overlap: int) -> Iterator[str]:
    """The text of a raw object from a byte on, without escapes of JSON, in pieces that overlap.

    Raises:
        DataError: the object cannot be unpacked.
    """
    held, skipped = b"", 0
    for piece in unpacked(store.stream(path), path):
        left = max(0, min(len(piece), offset - skipped))
        skipped += left
        held += piece[left:]
        if len(held) >= _WINDOW + overlap:
            yield _plain(held)
            held = held[-overlap:]
    yield _plain(held)


def _plain(data: bytes) -> str:
    r"""The text of JSON without escapes.

    >>> _plain(rb'{"id": "\u0064\/7"}')
    '{"id": "d/7"}'
    """
    return _ESCAPE.sub(lambda found: found[2] or chr(int(found[1], 16)), data.decode("utf-8", "replace"))


def _names(text: str, wanted: Wanted, *, json: bool) -> bool:
    """Whether a text may name a wanted document. `json`: it is of a row of JSON."""
    if not json:
        return bool(_pairs_in_text(text, wanted))
    return any(f'"{name}"' in text for name in wanted.by_id) or not wanted.by_id.keys().isdisjoint(NUMBER.findall(text))
