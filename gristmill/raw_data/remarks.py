"""What people should know of their raw data, though nothing is wrong: what is not read, and what is slow."""

from collections.abc import Iterator

from gristmill.errors import shorten
from gristmill.lake.address import documents_asset, place
from gristmill.lake.ledger.files import read_head
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.endings import unselected_in_words
from gristmill.raw_data.scan import RawScan, Seen, Unread
from gristmill.recipes.source import Everything, OneToOne, Source

MANY = 2000
"""Number of objects of a snapshot from which on a shard for each of them is slow."""

SMALL = 256 << 10
"""Mean size in bytes below which objects are small: the cost of a shard exceeds that of its rows."""

SHARD_BYTES = 256 << 20
"""Bytes of raw data for each shard that a remark recommends; at least FEWEST shards."""

FEWEST = 16


def raw_remarks(source: Source, scan: RawScan, lake: Store, folder: str) -> Iterator[str]:
    """Remarks on the raw data of a source, each in words with its mend.

    Args:
        source: the recipe.
        scan: a complete scan.
        lake: store that tells which snapshots were made.
        folder: address of the raw data, as people see it.

    Yields:
        The remarks, without the name of the folder.
    """
    yield from unread_file_remarks(source, scan, folder)
    if scan.control.count:
        names = _counted_noun(scan.control, "name")
        yield f"{names}: read, but with a control character in the name; rename what is yours"
    for snapshot, seen in sorted(scan.seen.items()):
        if source.adopts or not _is_slow(source, seen):
            continue
        if read_head(lake, place(documents_asset(source.name, source.versions[0]), snapshot)) is None:
            count = max(FEWEST, -(-seen.bytes // SHARD_BYTES))
            yield (
                f"snapshot {snapshot}: {seen.objects:,} objects of {seen.bytes // seen.objects:,} bytes on average"
                f" would become as many shards; shards=Hashed({count}) in the recipe of {source.name!r} gathers them,"
                " and is several times faster; decide before v0 is made, because it is another recipe then"
            )


def unread_file_remarks(source: Source, scan: RawScan, folder: str) -> Iterator[str]:
    """Remarks on the files that a source does not read: hidden ones, those of other endings, those in no snapshot.

    Args:
        source: the recipe.
        scan: a complete scan.
        folder: address of the raw data, as people see it.

    Yields:
        At most three remarks, each with the mend.
    """
    if scan.dotted.count:
        yield f"{_counted_noun(scan.dotted, 'hidden file')}: not read, as files of a desktop or an editor"
    if scan.unmatched:
        option = "sets= or folders=" if source.adopts else f"select={shorten(repr(source.select))}"
        yield (
            f"{unselected_in_words(scan.unmatched)}: not read; if they are to be read, change {option} in the recipe of"
            f" {source.name!r}"
        )
    if scan.apart.count:
        yield (
            f"{_counted_noun(scan.apart, 'file')}: not read, because in no snapshot; {_left_out_mend(source, folder)}"
        )


def _counted_noun(left_out: Unread, noun: str) -> str:
    plural = "" if left_out.count == 1 else "s"
    such = repr(left_out.first) if left_out.count == 1 else f"such as {left_out.first!r}"
    return f"{left_out.count:,} {noun}{plural}, {such}"


def _left_out_mend(source: Source, folder: str) -> str:
    if isinstance(source.partition, Everything):
        return "rename them"
    return (
        f"move them into a snapshot's folder, {folder}2024/ say, or give the recipe of {source.name!r}"
        " partition=Everything(), which makes all files one snapshot"
    )


def _is_slow(source: Source, seen: Seen) -> bool:
    return isinstance(source.shards, OneToOne) and seen.objects > MANY and seen.bytes < SMALL * seen.objects
