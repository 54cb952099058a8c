"""Editor: it changes the rows that a selection keeps: by its edits, then by its transforms, then their fields."""

from collections.abc import Sequence

from gristmill.errors import MalformedRow, RecipeError
from gristmill.lake.address import Place
from gristmill.lake.ledger.counts import add_counts
from gristmill.recipes.drift.drop_reasons import EDITS, TOO_FEW_BYTES, TOO_LITTLE_LEFT, TOO_SHORT
from gristmill.recipes.edits.edit import WHITE_SPACE
from gristmill.recipes.edits.transform import Transform
from gristmill.recipes.selection import Selection
from gristmill.stages.mixing.edits.edited_rows import EditedRows
from gristmill.stages.mixing.edits.shaping import RowShape
from gristmill.stages.mixing.edits.stretches import SpanOutside, apply_edits, edited_stretches
from gristmill.stages.mixing.edits.transforming import apply_transform
from gristmill.stages.mixing.filtered_block import FilteredBlock


class Editor:
    """The edits and transforms of a selection.

    Args:
        selection: the recipe.
        transforms: the transforms that it names, in its order.
        documents: the partition that is read.

    Raises:
        RecipeError: they are not those that it names.
    """

    def __init__(self, selection: Selection, transforms: Sequence[Transform], documents: Place) -> None:
        if [each.name for each in transforms] != list(selection.transforms):
            raise RecipeError(f"the transforms {', '.join(selection.transforms)} of the selection were not opened")
        self._selection, self._transforms = selection, transforms
        shapes = selection.keep or selection.discard or selection.merge or selection.origin
        self._shape = RowShape(selection, documents) if shapes else None
        self._columns = [edit.column.name for edit in selection.edits]

    def edit(self, block: FilteredBlock, path: str, counts: dict[str, int], shard: str) -> FilteredBlock:
        """The block with its edits. Rows that are dropped already are not looked at.

        Args:
            block: the decisions of blocklists, rules and rate.
            path: path of the shard, for messages.
            counts: counter that receives the numbers of changed rows and characters, and of rows with a field that was
                written over.
            shard: name of the shard.

        Raises:
            MalformedRow: a span is not a part of its text, or a transform failed; names shard, row and mend.
        """
        rows = EditedRows(block, path)
        self._edit_spans(rows, path)
        for each in self._transforms:
            apply_transform(rows, each, path)
        self._drop_short(rows)
        if self._shape is not None:
            for number in rows.kept_rows():
                labels = {name: each[number] for name, each in block.labels.items()}
                line, row = rows.line(number), block.first + number
                rows.replace_row_bytes(number, self._shape.shape_row(line, labels, shard, row, rows.counts))
        finished = rows.edited_block()
        add_counts(counts, rows.counts)
        return finished

    def _drop_short(self, rows: EditedRows) -> None:
        """Drops rows whose texts are short now. Only `least_bytes` looks at rows that nothing changed."""
        if self._selection.shortest:
            for number in rows.changed_rows():
                if len(rows.text(number)) < self._selection.shortest:
                    rows.drop_row(number, TOO_SHORT)
        if self._selection.least_bytes:
            for number in rows.kept_rows():
                if len(rows.text(number).strip(WHITE_SPACE).encode()) < self._selection.least_bytes:
                    rows.drop_row(number, TOO_FEW_BYTES)

    def _edit_spans(self, rows: EditedRows, path: str) -> None:
        """Applies the edits. Only rows that have a span are looked at."""
        edits = self._selection.edits
        columns = [rows.block.values[name] for name in self._columns]
        for number in rows.kept_rows() if columns else ():
            marked = [column[number] for column in columns]
            if not any(marked):
                continue
            text = rows.text(number)
            try:
                parts = edited_stretches(edits, marked, len(text), self._selection.overlaps)
            except SpanOutside as error:
                mend = "make the attribute set again: it is of other texts"
                raise MalformedRow(path, rows.block.first + number, str(error), mend) from error
            if not parts:
                continue
            covered = sum(part.end - part.start for part in parts)
            if (len(text) - covered) / len(text) < self._selection.least_kept:
                rows.drop_row(number, TOO_LITTLE_LEFT)
                continue
            after = apply_edits(text, edits, parts)
            if after != text:
                rows.change_text(number, text, after, EDITS)
