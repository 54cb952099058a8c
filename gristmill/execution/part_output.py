"""The writer of a part: several objects in folders that are never changed, which one row of the table names.

A stage's part opens its objects here, and says in close() what they hold.
"""

from collections.abc import Iterator, Mapping

from gristmill.execution.finding import Finding, difference_in_words
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.write_shards import ShardOutput
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.ledger.receipts import Receipt
from gristmill.lake.ledger.stored_part import StoredPart
from gristmill.lake.store.hashing import HashedUpload, Uploads
from gristmill.lake.store.protocol import Store


class PartOutput(ShardOutput):
    """A part that is being written.

    Args:
        store: the lake.
        spec: settings of the partition.
        name: name of the part in the table.
        inputs: sources of the part's content.
        kind: class of the uploads.

    Attributes:
        uploads: objects of the part.
    """

    def __init__(
        self,
        store: Store,
        spec: OneAssetSpec,
        name: str,
        inputs: tuple[Input, ...],
        kind: type[HashedUpload] = HashedUpload,
    ) -> None:
        super().__init__(spec, name, inputs)
        self.uploads = Uploads(store, kind)

    def part_receipt(self, record: StoredPart, *, rows: int, length: int, content: str, ids: str) -> Receipt:
        """The receipt of the part, once its objects are published.

        Args:
            record: record of the part.
            rows: number of rows.
            length: size of the unpacked rows, in bytes.
            content: digest of the content.
            ids: digest of the (source, id) pairs of the rows; empty if there are no such rows.
        """
        row = Shard(self.name, rows, record.bytes, length, record.sha256, content, ids, "", (), extra=record.as_extra())
        return self.build_receipt(row, self.uploads.versions)

    def abort(self) -> None:
        """Aborts what is not published. Published objects are not read: readers accept only what a ledger names."""
        self.uploads.abort()


def part_object_findings(record: StoredPart, sizes: Mapping[str, int]) -> Iterator[Finding]:
    """Findings on objects of a part that are missing or have another size.

    Args:
        record: record of the part.
        sizes: size in bytes of each object that is there, by its path.
    """
    for path, (_, size) in sorted(record.objects.items()):
        if path not in sizes:
            yield Finding(path, None, "there is no such object, but the ledger names it")
        elif sizes[path] != size:
            yield Finding(path, None, difference_in_words("the object's bytes are", sizes[path], size))
