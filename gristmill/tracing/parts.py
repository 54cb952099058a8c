"""Traces a document to the parts that were made from its shard, and to its line in the files of an export."""

import msgspec

from gristmill.lake.address import Place, export_index, part_at
from gristmill.lake.asset_kinds import EXPORT, names_in_asset_address
from gristmill.lake.ledger.files import read_head
from gristmill.lake.ledger.model import Shard
from gristmill.lake.ledger.receipts import objects_of_row
from gristmill.lake.store.json_object import read_free_form
from gristmill.lake.store.protocol import Store
from gristmill.recipes.export import format_of_parameters
from gristmill.recipes.export_formats.codec import Release
from gristmill.recipes.export_formats.formats import codec_of_format
from gristmill.stages.export.part import ExportedPart
from gristmill.stages.export.release import read_release


class SamplePlace(msgspec.Struct, frozen=True):
    """A sample in a file that is read at random.

    Attributes:
        path: path of the file.
        key: key of the sample; empty if the format has none.
        offset: its first byte in the file.
    """

    path: str
    key: str
    offset: int


class PartPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part that was made from the document's shard, in an asset of a kind whose rows are not traced.

    Attributes:
        asset: address of the asset.
        path: the folder of the part, or the path of the shard.
        why: reason why the part is about to change.
        lines: the files of an export that have the document, and the number of its line in each, from 1: that of the
            part, and that of the release.
        samples: the same documents as a loader finds them at random, if the format allows it.
        release: the folder of the release that names the part's file where it is; empty if a release copies it.
    """

    asset: str
    path: str
    why: str = ""
    lines: tuple[tuple[str, int], ...] = ()
    samples: tuple[SamplePlace, ...] = ()
    release: str = ""


def part_folder(partition: Place, row: Shard) -> str:
    """The folder of a part; or the path of the shard, if the asset has no parts."""
    path = min(path for path, _, _ in objects_of_row(row, partition))
    part = part_at(path)
    return part[1] if part else path


def trace_part(store: Store, partition: Place, part: Shard, row: int, why: str = "") -> PartPlace:
    """A part, and where its files have a document; no file has it if the format refused it.

    Args:
        store: the lake.
        partition: a slice of an export. In other kinds of assets no lines are looked for.
        part: the row of the table.
        row: number of the document in the mix's shard; -1: not known.
        why: reason why the part is about to change; if it is, no lines are looked for.

    Raises:
        DataError: the part's record is wrong, or the release of the index.
    """
    bare = PartPlace(partition.asset, part_folder(partition, part), why)
    if partition.kind is not EXPORT or row < 0 or why:
        return bare
    record, head = ExportedPart.decode_from_row(part, partition.table), read_head(store, partition)
    found = record.line(row)
    if found is None or head is None:
        return bare
    path, line = record.folder + found[0], found[1]
    names = names_in_asset_address(partition.asset)
    release = read_release(store, export_index(names["mix"], names["export"]))
    lines = ((path, line + 1), *(_file_in_release(release, path, line) if release else ()))
    with read_free_form(partition.ledger):
        codec = codec_of_format(format_of_parameters(head.recipe.parameters["format"]))
    samples = [(file, codec.sample(file, number - 1, store.stream)) for file, number in lines]
    named = release.folder if release and any(file.path == path for file in release.named) else ""
    return msgspec.structs.replace(
        bare,
        lines=lines,
        samples=tuple(SamplePlace(file, *sample) for file, sample in samples if sample),
        release=named,
    )


def _file_in_release(release: Release, path: str, line: int) -> tuple[tuple[str, int], ...]:
    """The file of a release with a line of a part's file; empty if the release was made from other parts."""
    for file in release.files:
        before = 0
        for piece in file.pieces:
            if piece.path == path and piece.row <= line < piece.row + piece.rows:
                return ((release.folder + file.name, before + line - piece.row + 1),)
            before += piece.rows
    return ()
