"""The audit of what is derived from documents and attribute sets: columns and examples. See gristmill/scores."""

import tempfile
from collections.abc import Iterator, Sequence

from gristmill.errors import DataError, StoreError
from gristmill.execution.finding import Finding
from gristmill.execution.work import Say
from gristmill.lake.address import Place
from gristmill.lake.asset_kinds import ATTRIBUTES, DOCUMENTS
from gristmill.lake.ledger.derived import columns_folder, columns_path, examples_path
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.blocklist import listed_pairs
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Store
from gristmill.scores.column_file import ColumnsFile, open_columns, open_document_columns
from gristmill.scores.document_columns import DocumentColumnsHead, make_document_columns
from gristmill.scores.examples import false_examples, holds_listed
from gristmill.scores.label_columns import ColumnsHead, make_columns

MEND = "delete it: `gristmill report` or `gristmill preview` makes it again"


def derived_findings(store: Store, partition: Place, shards: Sequence[Shard], say: Say) -> Iterator[Finding]:
    """Findings on columns and examples that differ from what their shards give, and on examples of what is taken down.

    Columns of another content are no finding, because nobody uses them; `say` receives a note on them.

    Args:
        store: the lake.
        partition: of documents, or of a set.
        shards: the rows of its ledger's table.
        say: receives notes.
    """
    by_path = {columns_path(partition, shard.name): shard for shard in shards}
    for path in sorted(entry.path for entry in store.list(columns_folder(partition))):
        shard = by_path.get(path)
        if shard is None or _open(store, partition, shard) is None:
            say(f"{path}: made from another shard than the ledger names, so nobody uses it; {MEND}")
        elif not _same(store, partition, shard):
            yield Finding(path, None, "its values are not those of its shard", MEND)
    for each in false_examples(store, partition, shards) if partition.kind is ATTRIBUTES else ():
        where = f"shard {each.shard}, row {each.row} (id {each.id!r})"
        yield Finding(examples_path(partition), None, f"its example of {each.label} is not what {where} gives", MEND)
    try:
        if holds_listed(store, partition, listed_pairs(store)):
            what = "it has an excerpt of a document that a blocklist names, or cannot be read"
            yield Finding(examples_path(partition), None, what, "run gristmill gc, which removes it")
    except DataError as error:
        say(f"{examples_path(partition)}: not compared with the blocklists: {error}")


def _open(
    store: Store, partition: Place, shard: Shard
) -> ColumnsFile[DocumentColumnsHead] | ColumnsFile[ColumnsHead] | None:
    if partition.kind is DOCUMENTS:
        return open_document_columns(store, partition, shard)
    return open_columns(store, partition, shard)


def _same(store: Store, partition: Place, shard: Shard) -> bool:
    """Whether the columns of a shard are those that it gives. A shard that cannot be read has findings of its own."""
    stored = _open(store, partition, shard)
    if stored is None:
        return False
    head = stored.head
    try:
        values = stored.table()
    except DataError:
        return False
    with tempfile.TemporaryDirectory(prefix="gristmill-verify-") as folder:
        target = open_store(folder, {})
        try:
            if isinstance(head, DocumentColumnsHead):
                make_document_columns(store, partition, shard, head.fields, target)
            else:
                make_columns(store, partition, shard, head.kinds, target, head.lists)
        except (DataError, StoreError):
            return True
        again = _open(target, partition, shard)
        return again is not None and again.head == head and bool(again.table().equals(values))
