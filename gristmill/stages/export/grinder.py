"""The grinder of exports: makes one part from one shard of the mix.

The name of a part's folder has the digest of everything that the part is made from. So a part is never changed: other
inputs give another folder, and the ledger names the folder that is valid.
"""

from typing import Any

import msgspec

from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.part_output import PartOutput
from gristmill.execution.shard_grinder import ShardGrinder
from gristmill.execution.work import Item, Job, Outcome
from gristmill.lake.address import Place
from gristmill.lake.ledger.adopted import ShardFile, open_shard
from gristmill.lake.ledger.folders.pinned_upload import PinnedUpload
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.ledger.receipts import Receipt
from gristmill.lake.store.hashing import HashedUpload
from gristmill.lake.store.protocol import Store
from gristmill.recipes.code.digest import check_worker
from gristmill.recipes.export import format_of_parameters
from gristmill.recipes.export_formats.codec import Codec
from gristmill.recipes.export_formats.formats import code_of_format, codec_of_format
from gristmill.stages.export.part import ExportedPart, PartWriter, unpacked_content_digest
from gristmill.stages.mixing.held_out import held_out_row_flags


class ExportSpec(OneAssetSpec, frozen=True):
    """What all parts share.

    Attributes:
        documents: the slice of the mix.
        format: the format, as JSON.
        validation: the share of documents that the mix holds out.
    """

    documents: Place
    format: dict[str, Any]
    validation: float


class ExportItem(msgspec.Struct, frozen=True):
    """One part: the name of its folder, the mix's shard that it is made from, and its inputs."""

    folder: str
    shard: Shard
    inputs: tuple[Input, ...]


class ExportGrinder(ShardGrinder[ExportSpec, ExportItem]):
    """Grinds the parts of one slice."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        declared = format_of_parameters(self._spec.format)
        check_worker(code_of_format(declared), self._spec.code)
        self._codec = codec_of_format(declared)
        self._codec.check(self._store)

    def grind(self, item: Item, body: ExportItem) -> Outcome:  # noqa: ARG002 - as in ShardGrinder
        output = _ExportOutput(self._store, self._spec, body, self._codec)
        file = open_shard(self._store, self._spec.documents, body.shard)
        return self.grind_shard(output, lambda: write_documents(file, output.part))


def write_documents(file: ShardFile, part: PartWriter) -> None:
    """Writes all documents of a shard into a part.

    Args:
        file: the shard's file.
        part: part that receives them.

    Raises:
        DataError: a document contradicts itself, or the shard has other rows or ids than its table says.
        StoreError: the shard is being rebuilt.
    """
    for block in file.blocks():
        part.write(file.path, block)
    file.check_ids(part.ids)


class _ExportOutput(PartOutput):
    """A part that is being written, and its future row of the table."""

    def __init__(self, store: Store, spec: ExportSpec, body: ExportItem, codec: Codec) -> None:
        super().__init__(store, spec, body.shard.name, body.inputs, PinnedUpload)
        self._ids, self._folder = body.shard.ids, f"{spec.place.folder}{body.folder}/"
        self.part = PartWriter(
            codec, body.folder, self._create_export_file, store, spec.validation, held_out_row_flags(body.shard)
        )

    def _create_export_file(self, name: str) -> HashedUpload:
        return self.uploads.open(self._folder + name)

    def close(self) -> Receipt:
        files = self.part.close()
        self.dropped, self.counts = self.part.dropped, self.part.counts
        record = ExportedPart(self.uploads.objects, self._folder, files, self.part.ids.rows)
        rows = sum(file.facts.rows for file in files.values())
        length = sum(file.facts.length for file in files.values())
        return self.part_receipt(
            record, rows=rows, length=length, content=unpacked_content_digest(files), ids=self._ids
        )


grinder = ExportGrinder
