"""Proves edited rows: each is made again from the row that it was, and compared.

Rules, blocklists and rates are not applied again. The rows of the shard say which rows they kept.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.execution.finding import Finding
from gristmill.execution.work import Say
from gristmill.lake.address import Place, attributes_beside, place
from gristmill.lake.asset_kinds import ATTRIBUTES, DOCUMENTS, kind_of
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.adopted import ShardFile, open_shard
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Ledger, Shard
from gristmill.lake.ledger.receipts import read_run_note
from gristmill.lake.rows.shard_file import split_rows
from gristmill.lake.store.hashing import hash_object
from gristmill.lake.store.json_object import NOT_DECODED, read_free_form
from gristmill.lake.store.protocol import Store
from gristmill.recipes.edits.transform import Transform, code_of_transforms
from gristmill.recipes.selection import Selection, may_change_rows, read_selection
from gristmill.stages.mixing.edits.row_bytes import text_of_line
from gristmill.stages.mixing.edits.transforming import transforms_of_selection
from gristmill.stages.mixing.filtered_block import FilteredBlock
from gristmill.stages.mixing.row_filter import RowFilter


def edit_findings(store: Store, partition: Place, shelves: Sequence[str], say: Say) -> Iterator[Finding]:
    """Findings unless each row is what the recipe in the ledger makes of the row of its id.

    Nothing is compared if the documents or a set that was read have changed since: then the partition is due, and its
    audit says so. A damaged object is reported by its own audit.

    Args:
        store: the lake.
        partition: a dataset version, or a slice of a mix. Those whose recipe copies rows have no findings.
        shelves: the packages that have the transforms.
        say: function that receives a note if the rows cannot be compared, because a transform is missing or has other
            code.
    """
    try:
        head, shards = read_ledger(store, partition)
    except DataError:
        return
    documents = _unchanged_documents(store, head) if may_change_rows(head.recipe.parameters) else None
    if documents is None:
        return
    with read_free_form(partition.ledger):
        selection = read_selection(head.recipe.parameters)
    transforms = _same_transforms(store, partition, selection, shelves, say)
    if transforms is None:
        return
    again = _MadeAgain(store, documents, selection, transforms)
    for shard in shards:
        yield from _shard_edit_findings(store, partition, shard, again)


def _unchanged_documents(store: Store, head: Ledger) -> Place | None:
    """The documents that were read; None if they, or the sets that were read with them, are others now."""
    read = [each for each in head.inputs if kind_of(each.asset) in {DOCUMENTS, ATTRIBUTES}]
    try:
        same = all(read_ledger(store, place(each.asset, each.snapshot))[0].upstream == each for each in read)
    except DataError:
        return None
    return next((place(e.asset, e.snapshot) for e in read if same and kind_of(e.asset) is DOCUMENTS), None)


def _same_transforms(
    store: Store, partition: Place, selection: Selection, shelves: Sequence[str], say: Say
) -> tuple[Transform, ...] | None:
    """The transforms of the recipe; None if they are not those that made the rows."""
    who = f"{partition.asset} ({partition.snapshot}): its rows were not made again and compared"
    try:
        transforms = transforms_of_selection(selection.transforms, shelves)
    except RecipeError as error:
        say(f"{who}: {error}")
        return None
    if code_of_transforms(transforms).has_changed(read_run_note(store, partition).codes):
        say(f"{who}: the code of {', '.join(selection.transforms)} has changed since they were made")
        return None
    return transforms


def _shard_edit_findings(store: Store, partition: Place, shard: Shard, again: "_MadeAgain") -> Iterator[Finding]:
    file = open_shard(store, partition, shard, sized=False)
    path = file.path
    if file.store.head(path) is None:
        return
    finding: Finding | None = None
    own = True  # whether the finding is about rows that could be read, so that the shard itself need not be proven
    try:
        written = _WrittenRows(line for block in file.blocks() for line in split_rows(block))
        finding = again.first_other(shard.name, written, path)
    except DataError as error:
        finding, own = Finding(path, None, f"its rows cannot be made again: {error}"), False
    except StoreError:
        if again.is_whole(shard.name) and hash_object(file.store, path) == shard.sha256:
            raise  # nothing is damaged, so the lake does not answer
    if finding and again.is_whole(shard.name) and (own or hash_object(file.store, path) == shard.sha256):
        yield finding


class _RowName(msgspec.Struct):
    """What an edit of a row does not change."""

    id: str | int  # adopted rows may have integer ids
    source: str


class _WrittenRows:
    """The rows of a shard in their order, matched with the rows that they were selected from."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._decode = msgspec.json.Decoder(_RowName).decode
        self._number = -1
        self._next: tuple[int, bytes, Pair] | None = None
        self.matched: list[tuple[int, bytes]] = []
        self._read_next_rows()

    def _read_next_rows(self) -> None:
        line = next(self._lines, None)
        self._number += 1
        try:
            row = None if line is None else self._decode(line)
        except NOT_DECODED:
            row = None  # the audit of the rows reports it
        self._next = None if row is None or line is None else (self._number, line, (row.source, str(row.id)))

    def match_kept_rows(self, pairs: Sequence[Pair]) -> NDArray[np.bool_]:
        """Which of some rows were kept. `matched` has the number and the bytes of each of these."""
        chosen = np.zeros(len(pairs), np.bool_)
        self.matched = []
        for number, pair in enumerate(pairs):
            if self._next is not None and self._next[2] == pair:
                chosen[number] = True
                self.matched.append(self._next[:2])
                self._read_next_rows()
        return chosen


class _MadeAgain:
    """The edits and transforms of a recipe, over the documents that it read."""

    def __init__(self, store: Store, documents: Place, selection: Selection, transforms: Sequence[Transform]) -> None:
        self._store, self._documents = store, documents
        self._selection = replace(selection, columns=(), include=(), exclude=(), blocklists=(), rate=1.0, held_out=None)
        self._transforms = transforms
        self._shards = self._shard_table(documents)
        self._sets = {name: self._shard_table(attributes_beside(documents, name)) for name in self._selection.sets}

    def _shard_table(self, partition: Place) -> Mapping[str, Shard]:
        return {row.name: row for row in read_ledger(self._store, partition)[1]}

    def first_other(self, name: str, written: _WrittenRows, path: str) -> Finding | None:
        """The finding on the first row of a shard that is not as it is made again; None if all are.

        Raises:
            DataError: an edit or a transform failed.
        """
        if name not in self._shards:
            return None
        rows = RowFilter(
            self._store, self._documents, self._selection, (), self._transforms, chosen=written.match_kept_rows
        )
        beside = {each: shards[name] for each, shards in self._sets.items()}
        finding: Finding | None = None
        for block in rows.blocks(self._shards[name], beside, {}):
            finding = finding or _first_differing_row(block, written.matched, path)
        return finding

    def is_whole(self, name: str) -> bool:
        """Whether the objects that a shard was made from have the bytes that their ledgers name."""
        read = [(self._documents, self._shards)]
        read += [(attributes_beside(self._documents, each), shards) for each, shards in self._sets.items()]
        return all(_is_whole(open_shard(self._store, at, shards[name], sized=False)) for at, shards in read)


def _is_whole(file: ShardFile) -> bool:
    return bool(file.store.head(file.path)) and hash_object(file.store, file.path) == file.shard.sha256


def _first_differing_row(block: FilteredBlock, matched: Sequence[tuple[int, bytes]], path: str) -> Finding | None:
    lines = split_rows(block.block)
    by_pair = {pair: number for number, pair in enumerate(block.pairs)}
    decode = msgspec.json.Decoder(_RowName).decode
    for row, found in matched:
        identity = decode(found)
        number = by_pair[identity.source, str(identity.id)]
        who = f"id {str(identity.id)!r} (source {identity.source!r})"
        if block.decisions[number]:
            reason = block.reasons[block.decisions[number] - 1]
            return Finding(path, row, f"{who} is here, but its recipe drops it: {reason}")
        made = block.edits.get(number, lines[number])
        if made != found:
            return Finding(path, row, f"{who} is not what its recipe makes of it: {text_difference(made, found)}")
    return None


def text_difference(made: bytes, found: bytes) -> str:
    """The place where the texts of two rows differ. They are not shown: an edit may have removed what nobody may read.

    Args:
        made: a row as it is made again, as JSON.
        found: the row in the lake, as JSON.
    """
    try:
        texts = text_of_line(made), text_of_line(found)
    except DataError:
        return "it has no text"
    if texts[0] == texts[1]:
        return "another field than its text differs"
    pairs = zip(*texts, strict=False)
    same = next((place for place, (one, other) in enumerate(pairs) if one != other), min(map(len, texts)))
    return f"its text differs from code point {same} on"
