"""EditedRows: the rows of a block while a selection edits them. It keeps what changed, what is dropped, and counts."""

from collections.abc import Sequence
from functools import cached_property

import msgspec
import numpy as np

from gristmill.errors import DataError, MalformedRow
from gristmill.lake.rows.batches import decode_rows
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.shard_file import split_rows
from gristmill.recipes.selection import CHANGED
from gristmill.stages.mixing.edits.row_bytes import Values, object_value_bytes, replace_row_values, text_of_value
from gristmill.stages.mixing.filtered_block import FilteredBlock

_RENDERED = ("messages", "input_ids")
"""The keys of metadata from which the text of a chat row, or of a prebuilt row, is rendered."""


class EditedRows:
    """The rows of a block that a selection keeps.

    Args:
        block: the rows, and the decisions of blocklists, rules and rate about them.
        path: path of the shard, for messages.

    Attributes:
        block: the block as it was given.
        counts: number of changes, by name.
    """

    def __init__(self, block: FilteredBlock, path: str) -> None:
        self.block, self._path = block, path
        self.counts: dict[str, int] = {}
        self._decisions = block.decisions.copy()
        self._reasons = list(block.reasons)
        self._texts: dict[int, str] = {}
        self._metadata: dict[int, bytes] = {}
        self._whole: dict[int, bytes] = {}
        self._fields: dict[int, Values] = {}
        self._decoder = msgspec.json.Decoder(Document)

    @cached_property
    def lines(self) -> list[bytes]:
        """The bytes of each row as it was read."""
        return split_rows(self.block.block)

    def kept_rows(self) -> list[int]:
        """The numbers of the rows in the block that are not dropped."""
        return list(np.flatnonzero(self._decisions == 0).tolist())

    def changed_rows(self) -> list[int]:
        """The numbers of the rows that are not dropped, and whose text changed."""
        return [number for number in sorted(self._texts) if not self._decisions[number]]

    def text(self, number: int) -> str:
        """The text of a row as it is now.

        Raises:
            MalformedRow: the row has no string "text".
        """
        if number in self._texts:
            return self._texts[number]
        try:
            return text_of_value(self._original_values(number).get("text"))
        except DataError as error:
            raise MalformedRow(self._path, self.block.first + number, str(error)) from error

    def _original_values(self, number: int) -> Values:
        """The bytes of each value of a row as it was read. They are found once."""
        if number not in self._fields:
            self._fields[number] = object_value_bytes(self.lines[number])
        return self._fields[number]

    def documents(self, numbers: Sequence[int]) -> list[Document]:
        """The rows as they are now.

        Raises:
            MalformedRow: one is not a document.
        """
        lines = b"".join(part for number in numbers for part in (self.line(number), b"\n"))
        try:
            return decode_rows(self._decoder, lines, self._path, 0)
        except MalformedRow:  # its number is among these rows; the row's own number is in the block
            first = self.block.first
            return [
                decode_rows(self._decoder, self.line(number) + b"\n", self._path, first + number)[0]
                for number in numbers
            ]

    def drop_row(self, number: int, reason: str) -> None:
        """Drops a row that was kept so far."""
        if reason not in self._reasons:
            self._reasons.append(reason)
        self._decisions[number] = 1 + self._reasons.index(reason)

    def change_text(self, number: int, before: str, text: str, who: str) -> None:
        """Gives a row another text.

        Args:
            number: number of the row in the block.
            before: the text as it is now.
            text: the new text.
            who: name of what changed it; the counts begin with it.

        Raises:
            MalformedRow: the text is the rendering of a chat or of tokens, which would still hold what was removed.
        """
        self._check_not_rendered(number)
        self._texts[number] = text
        self._count_change(f"{who}: rows changed", 1)
        self._count_change(f"{who}: characters before", len(before))
        self._count_change(f"{who}: characters after", len(text))

    def change_metadata(self, number: int, metadata: bytes, who: str) -> None:
        """Gives a row other metadata, as JSON."""
        self._metadata[number] = metadata
        self._count_change(f"{who}: metadata changed", 1)

    def replace_row_bytes(self, number: int, line: bytes) -> None:
        """Gives a row other bytes as a whole. It is not edited after this."""
        self._whole[number] = line

    def line(self, number: int) -> bytes:
        """The bytes of a row as it is now, without a line feed."""
        if number in self._whole:
            return self._whole[number]
        changed: dict[str, bytes] = {}
        if number in self._texts:
            changed["text"] = msgspec.json.encode(self._texts[number])
        if number in self._metadata:
            changed["metadata"] = self._metadata[number]
        line = self.lines[number]
        return replace_row_values(line, changed, self._original_values(number)) if changed else line

    def edited_block(self) -> FilteredBlock:
        """The block with its edits, and with the decisions of edits and transforms."""
        numbers = self._texts.keys() | self._metadata.keys() | self._whole.keys()
        made = {number: self.line(number) for number in sorted(numbers) if not self._decisions[number]}
        edits = {number: line for number, line in made.items() if line != self.lines[number]}
        if edits:
            self._count_change(CHANGED, len(edits))
        return self.block._replace(decisions=self._decisions, reasons=self._reasons).with_edits(edits)

    def _count_change(self, name: str, number: int) -> None:
        self.counts[name] = self.counts.get(name, 0) + number

    def _check_not_rendered(self, number: int) -> None:
        metadata = self._original_values(number).get("metadata", msgspec.Raw(b"null"))
        if b"[" not in bytes(metadata):
            return
        for key in _RENDERED:
            value = object_value_bytes(metadata).get(key)
            if value is not None and bytes(value).startswith(b"["):
                raise MalformedRow(
                    self._path,
                    self.block.first + number,
                    f"its text is rendered from metadata.{key}, so an edit of the text alone would leave the rest",
                    "drop such rows by a rule, or edit them in the source",
                )
