"""Traces a document to the parts that were made from its shard, and to its line in the files of an export."""

import msgspec

from gristmill.lake.address import Place, export_index, part_at
from gristmill.lake.asset_kinds import EXPORT, names_of
from gristmill.lake.ledger.model import Shard
from gristmill.lake.ledger.receipts import objects_of
from gristmill.lake.store.protocol import Store
from gristmill.stages.export.codec import Release
from gristmill.stages.export.part import read_part_record
from gristmill.stages.export.release import read_release


class PartPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part that was made from the document's shard, in an asset of a kind whose rows are not traced.

    Attributes:
        asset: address of the asset.
        path: the folder of the part, or the path of the shard.
        why: why the part is about to change.
        lines: the files of an export that have the document, and the number of its line in each, from 1: that of the
            part, and that of the release.
    """

    asset: str
    path: str
    why: str = ""
    lines: tuple[tuple[str, int], ...] = ()


def folder_of(partition: Place, row: Shard) -> str:
    """The folder of a part; or the path of the shard, if the asset has no parts."""
    path = min(path for path, _, _ in objects_of(row, partition))
    part = part_at(path)
    return part[1] if part else path


def export_lines(store: Store, partition: Place, part: Shard, row: int) -> tuple[tuple[str, int], ...]:
    """The files that have a document, and the number of its line in each, from 1; empty if the format refused it.

    Args:
        store: the lake.
        partition: a slice of an export. For other kinds of assets there are no lines.
        part: the row of the table.
        row: number of the document in the mix's shard; -1: not known.

    Raises:
        DataError: the part's record is not valid, or the release of the index.
    """
    if partition.kind is not EXPORT or row < 0:
        return ()
    record = read_part_record(part, partition.table)
    found = record.line(row)
    if found is None:
        return ()
    name, line = found
    names = names_of(partition.asset)
    release = read_release(store, export_index(names["mix"], names["export"]))
    lines = ((record.folder + name, line + 1),)
    return lines + (_in_release(release, record.folder + name, line) if release else ())


def _in_release(release: Release, path: str, line: int) -> tuple[tuple[str, int], ...]:
    """The file of a release with a line of a part's file; empty if the release was made from other parts."""
    for file in release.files:
        before = 0
        for piece in file.pieces:
            if piece.path == path and piece.row <= line < piece.row + piece.rows:
                return ((release.folder + file.name, before + line - piece.row + 1),)
            before += piece.rows
    return ()
