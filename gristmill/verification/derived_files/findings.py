"""The audit of what is derived from documents and attribute sets: columns and examples. See gristmill/scores."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.execution.finding import Finding
from gristmill.execution.work import Say
from gristmill.lake.address import Place
from gristmill.lake.asset_kinds import DOCUMENTS, names_in_asset_address
from gristmill.lake.ledger.derived import columns_folder, columns_path, examples_path
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.blocklists.blocklist import listed_pairs
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Store
from gristmill.scores.column_file import ColumnsFile, open_columns, open_document_columns
from gristmill.scores.described import has_kinds
from gristmill.scores.document_columns import DocumentColumnsHead, make_document_columns
from gristmill.scores.examples import has_blocklisted_example
from gristmill.scores.label_columns import ColumnsHead, make_columns
from gristmill.scores.label_kinds import declared_kinds
from gristmill.verification.derived_files.examples_proof import MEND, extreme_findings


def derived_findings(
    store: Store, partition: Place, shards: Sequence[Shard], say: Say, shelves: Sequence[str] = ()
) -> Iterator[Finding]:
    """Findings on columns that differ from what their shard gives, and on examples of a document that is taken down.

    Labels of columns have the kinds that their tagger declares. `say` receives a note if the shelves do not have it.

    Columns of another content are no finding, because nobody uses them; `say` receives a note on them. ExamplesProof
    compares examples with their documents.

    Args:
        store: the lake.
        partition: partition of documents, or of a set.
        shards: the rows of its ledger's table.
        say: function that receives notes.
        shelves: the packages that have the taggers.
    """
    paths = sorted(entry.path for entry in store.list(columns_folder(partition)))
    if paths:
        kinds = None if partition.kind is DOCUMENTS else _declared_label_kinds(store, partition, shelves, say)
        yield from _column_findings(store, partition, shards, paths, kinds, say)
    yield from extreme_findings(store, partition, shards, say)
    try:
        if has_blocklisted_example(store, partition, listed_pairs(store)):
            what = "it has an excerpt of a document that a blocklist names, or cannot be read"
            yield Finding(examples_path(partition), None, what, "run gristmill gc, which removes it")
    except DataError as error:
        say(f"{examples_path(partition)}: not compared with the blocklists: {error}")


def _declared_label_kinds(store: Store, partition: Place, shelves: Sequence[str], say: Say) -> Mapping[str, str] | None:
    """The kinds of the labels of a set; None, and a note, if the shelves do not tell them."""
    name = names_in_asset_address(partition.asset)["set"]
    try:
        kinds = declared_kinds(shelves, name, store.url)
        why = "no recipe on the shelves declares them" if kinds is None else ""
    except RecipeError as error:
        kinds, why = None, str(error)
    if why:
        say(f"{columns_folder(partition)}: not proven, the kinds of the labels of {name}: {why}")
    return kinds


def _column_findings(
    store: Store,
    partition: Place,
    shards: Sequence[Shard],
    paths: Sequence[str],
    kinds: Mapping[str, str] | None,
    say: Say,
) -> Iterator[Finding]:
    by_path = {columns_path(partition, shard.name): shard for shard in shards}
    with tempfile.TemporaryDirectory(prefix="gristmill-verify-") as folder:
        again = open_store(folder, {})
        for path in paths:
            shard = by_path.get(path)
            stored = _open_columns_file(store, partition, shard) if shard else None
            if shard is None or stored is None:
                say(f"{path}: made from another shard than the ledger names, so nobody uses it; {MEND}")
            elif isinstance(stored.head, ColumnsHead) and not has_kinds(stored.head, kinds):
                yield Finding(path, None, "its labels have other kinds than their tagger declares", MEND)
            elif not _has_same_columns(store, partition, shard, again):
                yield Finding(path, None, "its values are not those of its shard", MEND)
            # the folders above it stay: to make and remove them for each small shard is a tenth of all time
            Path(folder, path).unlink(missing_ok=True)


def _open_columns_file(
    store: Store, partition: Place, shard: Shard
) -> ColumnsFile[DocumentColumnsHead] | ColumnsFile[ColumnsHead] | None:
    if partition.kind is DOCUMENTS:
        return open_document_columns(store, partition, shard)
    return open_columns(store, partition, shard)


def _has_same_columns(store: Store, partition: Place, shard: Shard, target: Store) -> bool:
    """Whether the columns of a shard are those that it gives. A shard that cannot be read has findings of its own.

    `target`: where they are made again.
    """
    stored = _open_columns_file(store, partition, shard)
    if stored is None:
        return False
    head = stored.head
    try:
        values = stored.table()
    except DataError:
        return False
    try:
        if isinstance(head, DocumentColumnsHead):
            make_document_columns(store, partition, shard, head.fields, target)
        else:
            make_columns(store, partition, shard, head.kinds, target, head.lists)
    except (DataError, StoreError):
        return True
    again = _open_columns_file(target, partition, shard)
    return again is not None and again.head == head and bool(again.table().equals(values))
