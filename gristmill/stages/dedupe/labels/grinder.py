"""The grinder of a dedupe set: it writes a shard from the fingerprints and the marks of its documents."""

from collections.abc import Iterator

import msgspec
import numpy as np
import orjson
import xxhash
from numpy.typing import NDArray

from gristmill.errors import DataError, RecipeError
from gristmill.execution.attribute_output import AttributeOutput
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.shard_grinder import ShardGrinder
from gristmill.execution.work import Item, Job, Outcome
from gristmill.lake.address import Place
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.rows.shard_file import split_rows, unpack_pieces
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.shelf import find_recipe
from gristmill.stages.dedupe.labels.marked_rows import MarkedRows
from gristmill.stages.fingerprints.binary_part import read_part_file
from gristmill.stages.fingerprints.spans import SpanTable
from gristmill.stages.tagging.label_lines import LabelLines

ROWS = 4096
"""Rows that are written together."""


class LabelsSpec(OneAssetSpec, frozen=True):
    """What all shards share.

    Attributes:
        dedupe: name of the recipe.
        fingerprints: the partition with the ids and spans.
        marks: the partition that says which hashes are duplicates.
        made_by: digest of the dedupe recipe.
    """

    dedupe: str
    fingerprints: Place
    marks: Place
    made_by: str


class LabelsItem(msgspec.Struct, frozen=True):
    """One shard: its fingerprints and marks, the digest of its documents' ids, and its inputs."""

    fingerprints: Shard
    marks: Shard
    ids: str
    inputs: tuple[Input, ...]


class LabelledRow(msgspec.Struct, frozen=True, gc=False):
    """A document, as far as its attribute row names it."""

    source: str
    id: str


class LabelledRows:
    """Some rows of a shard for LabelLines: their documents, and the lengths of their texts in code points."""

    def __init__(self, rows: list[LabelledRow], lengths: NDArray[np.int64]) -> None:
        self._rows, self.lengths = rows, lengths

    def __iter__(self) -> Iterator[LabelledRow]:
        return iter(self._rows)


class LabelsGrinder(ShardGrinder[LabelsSpec, LabelsItem]):
    """Grinds the shards of one partition."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._dedupe = find_recipe("dedupes", Dedupe, job.shelves, self._spec.dedupe)
        if self._dedupe.recipe.digest != self._spec.made_by:
            raise RecipeError(f"dedupe {self._dedupe.name!r}: this worker has another recipe than the run; update it")

    def grind(self, item: Item, body: LabelsItem) -> Outcome:
        output = AttributeOutput(self._store, self._spec, item.name, body.inputs, lambda: body.ids)
        return self.grind_shard(output, lambda: self._write_label_rows(body, output))

    def _write_label_rows(self, body: LabelsItem, output: AttributeOutput) -> None:
        table = self._spec.fingerprints.table
        name, ids = body.marks.name, self._document_id_lines(body, table)
        spans = read_part_file(self._store, body.fingerprints, table, "spans")
        marks = read_part_file(self._store, body.marks, self._spec.marks.table, "marks")
        printed, where = f"{table}: part {name}", f"{self._spec.marks.table}: part {name}"
        marked = MarkedRows.of(self._dedupe, SpanTable.decode(spans, printed), marks, where)
        if marked.marks != body.marks.rows:
            raise DataError(
                f"{where}: {body.marks.rows} rows in its ledger, but {marked.marks} duplicates are marked; make this"
                " partition again"
            )
        if marked.documents != len(ids):
            raise DataError(
                f"{table}: part {body.fingerprints.name} has {len(ids)} ids, but spans of {marked.documents}"
                " documents; make this partition again"
            )
        for first in range(0, len(ids), ROWS):
            rows = [
                LabelledRow(source, id_) for source, id_ in orjson.loads(b"[%b]" % b",".join(ids[first : first + ROWS]))
            ]
            lengths, columns = marked.columns(first, first + len(rows))
            named = [(f"{self._dedupe.name}__{name}", column, exact) for name, column, exact in columns]
            output.write(LabelLines(LabelledRows(rows, lengths)).encode(named))
        output.counts = marked.counts

    def _document_id_lines(self, body: LabelsItem, table: str) -> list[bytes]:
        """The lines with the (source, id) pairs of the documents, in the order of their rows."""
        path = f"{table}: part {body.fingerprints.name}, ids.gz"
        packed = read_part_file(self._store, body.fingerprints, table, "ids.gz")
        plain = b"".join(unpack_pieces([packed], path))
        if xxhash.xxh3_128_hexdigest(plain) != body.ids:
            raise DataError(f"{path}: not the ids of the documents; make this partition again")
        return split_rows(plain) if plain else []


grinder = LabelsGrinder
