"""The grinder of mixing: it joins a shard of documents row by row with its attributes, and copies the kept rows."""

from typing import Any

import msgspec

from gristmill.errors import StoreError
from gristmill.execution.document_writer import DocumentWriter
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.shard_grinder import ShardGrinder
from gristmill.execution.work import Item, Job, Outcome
from gristmill.lake.address import Place, blocklist_path
from gristmill.lake.ledger.counts import add_counts
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.rows.blocklists.blocklist import Blocklist, read_blocklist
from gristmill.lake.rows.blocklists.blocklist_files import record_blocklist_entries
from gristmill.recipes.code.digest import check_worker
from gristmill.recipes.edits.transform import code_of_transforms
from gristmill.recipes.selection import read_selection
from gristmill.stages.mixing.columns.absent_columns import AbsentColumns
from gristmill.stages.mixing.edits.transforming import transforms_of_selection
from gristmill.stages.mixing.held_out import HeldOutFlags
from gristmill.stages.mixing.row_filter import RowFilter


class MixingSpec(OneAssetSpec, frozen=True):
    """What all shards share.

    Attributes:
        documents: the partition that is read.
        selection: the parameters of its recipe, which are those of a selection.
        blocklists: digest of each blocklist when the run was planned, by name.
        optional: names of the columns that all rows of a shard may lack.
    """

    documents: Place
    selection: dict[str, Any]
    blocklists: dict[str, str]
    optional: tuple[str, ...] = ()


class MixingItem(msgspec.Struct, frozen=True):
    """One shard.

    Attributes:
        documents: the shard of documents that is read.
        sets: its shard of each attribute set, by the set's name.
        inputs: sources of the new shard's content.
    """

    documents: Shard
    sets: dict[str, Shard]
    inputs: tuple[Input, ...]


class MixingGrinder(ShardGrinder[MixingSpec, MixingItem]):
    """Grinds shards of one stream."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        spec = self._spec
        blocklists = [self._load_blocklist(name, digest) for name, digest in sorted(spec.blocklists.items())]
        selection = read_selection(spec.selection)
        transforms = transforms_of_selection(selection.transforms, job.shelves)
        check_worker(code_of_transforms(transforms), spec.code)
        self._filter = RowFilter(self._store, spec.documents, selection, blocklists, transforms)
        self._absence = AbsentColumns(self._store, spec.documents, selection.read_columns, spec.optional, job.shelves)
        self._held_out = selection.held_out

    def _load_blocklist(self, name: str, digest: str) -> Blocklist:
        blocklist = read_blocklist(self._store, name)
        if blocklist.digest != digest:
            raise StoreError(f"{blocklist_path(name)}: changed since this run was planned; run again")
        record_blocklist_entries(self._store, name)  # before a row is left out: whether an entry is lost is asked later
        return blocklist

    def grind(self, item: Item, body: MixingItem) -> Outcome:
        output = DocumentWriter(self._store, self._spec, item.name, body.inputs)
        return self.grind_shard(output, lambda: self._write_selected_rows(body, output))

    def _write_selected_rows(self, body: MixingItem, output: DocumentWriter) -> None:
        flags = HeldOutFlags(self._held_out) if self._held_out else None
        for block in self._filter.blocks(body.documents, body.sets, output.counts):
            output.write(*block.kept_rows())
            add_counts(output.dropped, block.dropped_counts())
            if flags:
                flags.add(block)
        if flags:
            add_counts(output.counts, flags.counts)
            output.extra = flags.bitmap_entry
        self._absence.check(body.documents, output.counts, body.sets)


grinder = MixingGrinder
