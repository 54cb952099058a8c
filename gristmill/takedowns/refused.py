"""Rows of the quarantine that may be of wanted documents. The quarantine has the first bytes of a row only.

A row is another document if its reader tells its id, or if its reader takes ids from the row and the row has none of
those that are wanted. All other rows are reported as not searched.

A longer row is searched to its end in the raw object. Where it ends is not known there, so the rest of the object is
searched: an id behind the row cannot be told from one in it, and the row is reported as not searched.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gristmill.errors import GristmillError, RecipeError
from gristmill.lake.address import raw_folder
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.identity import Pair
from gristmill.lake.rows.quarantined import QuarantinedRow
from gristmill.lake.rows.row_blocks import HEAD
from gristmill.lake.rows.shard_file import read_blocks, split_rows, unpack_pieces
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.protocol import Store
from gristmill.recipes.raw_object import TOO_LONG
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.source import Source
from gristmill.takedowns.places import FoundPlace, Search
from gristmill.takedowns.refused_ids import ids_of_refused_row, is_json, is_object, unescape_json
from gristmill.takedowns.side_files import NUMBER, wanted_pairs_in_row
from gristmill.takedowns.wanted import Wanted
from gristmill.tracing.rows import Partition

EMPTY_LINE = "empty line"
"""The reason for the only refused row that has no byte: of others without one, none was kept."""
_WINDOW = 1 << 20
_SHOWN_ROWS = 3
_BYTE = re.compile(rb"\\+x([89a-f][0-9a-f])")
"""How the quarantine shows a byte that is no UTF-8."""


class RefusedPlace(NamedTuple):
    """A refused row that may be of a wanted document: the shard, the row's number in the quarantine, and the row."""

    pair: Pair
    shard: str
    number: int
    row: QuarantinedRow


def source_of_documents(documents: Partition, packages: Sequence[str]) -> Source | None:
    """The recipe of the source that a partition of documents belongs to; None if it is not on the shelves.

    Args:
        documents: the partition.
        packages: the shelves.
    """
    try:
        return find_recipe("sources", Source, packages, names_in_asset_address(documents.place.asset)["source"])
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
    for shard, _, number, row in _refused_rows(store, documents):
        for pair in _wanted_pairs_of_row(row, source, wanted, documents.place.snapshot):
            yield RefusedPlace(pair, shard, number, row)


def _wanted_pairs_of_row(row: QuarantinedRow, source: Source | None, wanted: Wanted, snapshot: str) -> list[Pair]:
    """The wanted documents that a row names: by its own id, by one of its strings, or by a word if it is no JSON."""
    own = ids_of_refused_row(row, source, wanted, snapshot) or set()
    found = [pair for name in sorted(own & wanted.by_id.keys()) for pair in wanted.by_id[name]]
    found = found or wanted_pairs_in_row(row.id, row.raw, wanted)
    if found or is_object(row.raw) or (is_json(row.raw) and _is_cut(row)):
        return found
    texts = [row.raw, *_possible_texts(_bytes_of_shown_row(row.raw), source)]
    return [pair for name, pairs in wanted.by_id.items() if _is_word(name, texts, source) for pair in pairs]


def _is_cut(row: QuarantinedRow) -> bool:
    """Whether the quarantine has less than the whole row."""
    return row.reason == TOO_LONG or len(row.raw.encode()) >= HEAD or not (row.raw or row.reason == EMPTY_LINE)


def _is_word(name: str, texts: Sequence[str], source: Source | None) -> bool:
    """Whether an id stands in a text of a table, of a web archive, or of damaged JSON, and is no part of a word."""
    signs = "".join(_reader_option(source, each) for each in ("delimiter", "quote", "escape"))
    word = re.escape(name) if re.search(r"\w", signs) else rf"(?<!\w){re.escape(name)}(?!\w)"
    return any(name in text and re.search(word, text) for text in texts)


def _reader_option(source: Source | None, name: str) -> str:
    value = getattr(source.convert, name, None) if source else None
    return value if isinstance(value, str) else ""


def _bytes_of_shown_row(shown: str) -> bytes:
    """The bytes of a row that the quarantine shows."""
    return _BYTE.sub(lambda found: bytes.fromhex(found[1].decode()), shown.encode())


def _possible_texts(data: bytes, source: Source | None) -> list[str]:
    """The texts that bytes may stand for: as their reader decodes them, with and without escapes and doubled quotes."""
    try:
        text = data.decode(_reader_option(source, "encoding") or "utf-8", "replace")
    except LookupError:
        text = data.decode("utf-8", "replace")
    quote, escape = _reader_option(source, "quote"), _reader_option(source, "escape")
    texts = [text, unescape_json(text), text.replace("\0", "")]
    if quote:
        texts.append(text.replace(quote * 2, quote))
    if escape:
        texts.append(re.sub(re.escape(escape) + "(.)", r"\1", text, flags=re.DOTALL))
    return texts


def _may_contain_id(data: bytes, name: str) -> bool:
    """Whether an id may stand in bytes that are no UTF-8. Other encodings keep the characters of ASCII alone."""
    if name.isascii() or (b"\0" not in data and "\ufffd" not in data.decode("utf-8", "replace")):
        return False
    pieces = re.split(r"([^\x00-\x7f]+)", name)
    parts = [f"[\x80-\xff].{{0,{4 * len(each)}}}" if n % 2 else re.escape(each) for n, each in enumerate(pieces)]
    return b"\0" in data or re.search("".join(parts), data.decode("latin-1"), re.DOTALL) is not None


def quarantine_places(
    store: Store, documents: Partition, source: Source | None, wanted: Wanted, search: Search
) -> Iterator[FoundPlace]:
    """The places of refused rows with the id of a wanted document.

    Args:
        store: the lake.
        documents: the partition of documents.
        source: the recipe of its source, which says how ids are made.
        wanted: the documents.
        search: search that learns which rows may be of a wanted document, though its id was not found.

    Raises:
        DataError: a row is wrong.
    """
    there = documents.place
    unread: dict[str, dict[str, list[str]]] = {}
    for shard, path, number, row in _refused_rows(store, documents):
        found = _wanted_pairs_of_row(row, source, wanted, there.snapshot)
        for pair in found:
            where = f"{path}: row {number} ({row.reason})"
            recipe = names_in_asset_address(there.asset)["source"]
            yield FoundPlace(*pair, "quarantine", there.asset, there.snapshot, shard, where, by_id_of=recipe)
        why = "" if found else _unread_row_reason(store, documents, row, source, wanted)
        if why:
            unread.setdefault(path, {}).setdefault(why, []).append(f"row {number} ({row.reason})")
    for path, reasons in unread.items():
        search.unread_rows[path] = "; ".join(f"{_first_rows_in_words(rows)}: {why}" for why, rows in reasons.items())


def _first_rows_in_words(rows: Sequence[str]) -> str:
    more = f" and {len(rows) - _SHOWN_ROWS:,} more" if len(rows) > _SHOWN_ROWS else ""
    return ", ".join(rows[:_SHOWN_ROWS]) + more


def _refused_rows(store: Store, documents: Partition) -> Iterator[tuple[str, str, int, QuarantinedRow]]:
    """Each refused row: the shard, the quarantine's path, the row's number in it, and the row.

    Raises:
        DataError: a row is wrong.
    """
    for name, shard in documents.shards.items():
        if shard.quarantine is None:
            continue
        path, number = documents.place.quarantine_path(name), 0
        for block in read_blocks(store, path, shard.quarantine.sha256):
            for line in split_rows(block):
                yield (
                    name,
                    path,
                    number,
                    decode_object(line, QuarantinedRow, path, "refused rows", "make its shard again"),
                )
                number += 1


def _unread_row_reason(
    store: Store, documents: Partition, row: QuarantinedRow, source: Source | None, wanted: Wanted
) -> str:
    """Why a row in which no id was found may be of a wanted document; empty if it is not."""
    own = ids_of_refused_row(row, source, wanted, documents.place.snapshot)
    ids = source.reader.row_ids() if source else None
    tells = bool(row.id) or (ids is not None and ids.kind == "path")
    if (own is not None and tells) or row.reason == EMPTY_LINE:
        return ""
    if _is_cut(row):
        why = _unsearched_row_reason(store, documents, row, source, wanted)
        if why:
            return why
    if any(_may_contain_id(_bytes_of_shown_row(row.raw), name) for name in wanted.by_id):
        return "it has bytes that are no UTF-8, and may have such an id in another encoding"
    if own is None and _may_have_wanted_source(documents, source, wanted):
        return "its reader makes the ids, and has not told that of this row"
    return ""


def _may_have_wanted_source(documents: Partition, source: Source | None, wanted: Wanted) -> bool:
    """Whether rows of a source may have a source that is asked for."""
    if source is not None and source.reader.source_key is not None:
        return True
    names = {source.name, source.read_as} if source else {names_in_asset_address(documents.place.asset)["source"]}
    return any(name in names for name, _ in wanted.reasons)


def _unsearched_row_reason(
    store: Store, documents: Partition, row: QuarantinedRow, source: Source | None, wanted: Wanted
) -> str:
    """Why a row of which the quarantine has the first bytes only may be of a wanted document; empty if it is not."""
    short = "the quarantine has its first bytes only" if row.raw else "the quarantine has no byte of it"
    mend = "take the row out of the raw object, and make it again"
    if row.offset is None or row.member:
        return f"{short}, and its place in {row.file or 'the raw data'} is not known to the byte; {mend}"
    folder = raw_folder(names_in_asset_address(documents.place.asset)["source"])
    try:
        paths = [f"{folder}{documents.place.snapshot}/{row.file}", f"{folder}{row.file}"]
        paths = [path for path in paths if store.head(path) is not None]
        for path in paths:
            pieces = _overlapping_pieces(store, path, row.offset, _longest_id_bytes(wanted))
            if any(_may_name_wanted(piece, source, wanted, json=is_json(row.raw)) for piece in pieces):
                return f"{short}, and {path} has such an id behind byte {row.offset}; {mend}"
    except GristmillError as error:
        return f"{short}, and {error}"
    return "" if paths else f"{short}, and {row.file} is not in the lake; {mend}"


def _longest_id_bytes(wanted: Wanted) -> int:
    """Bytes that the longest id may have, each character two escapes, with what stands around it."""
    return 12 * max(map(len, wanted.by_id), default=0) + 64


def _overlapping_pieces(store: Store, path: str, offset: int, overlap: int) -> Iterator[bytes]:
    """The unpacked bytes of a raw object from one on, in pieces that overlap.

    Raises:
        DataError: the object cannot be unpacked.
    """
    held, skipped = b"", 0
    for piece in unpack_pieces(store.stream(path), path):
        left = max(0, min(len(piece), offset - skipped))
        skipped += left
        held += piece[left:]
        if len(held) >= _WINDOW + overlap:
            yield held
            held = held[-overlap:]
    yield held


def _may_name_wanted(data: bytes, source: Source | None, wanted: Wanted, *, json: bool) -> bool:
    """Whether bytes may name a wanted document. `json`: they are of rows of JSON."""
    texts = _possible_texts(data, source)
    if any(_may_contain_id(data, name) for name in wanted.by_id):
        return True
    if not json:
        return any(_is_word(name, texts, source) for name in wanted.by_id)
    text = texts[1]
    return any(f'"{name}"' in text for name in wanted.by_id) or not wanted.by_id.keys().isdisjoint(NUMBER.findall(text))
