"""Compares a shard that was made again with the row of the ledger's table, and with the objects of the lake."""

from collections.abc import Iterator, Sequence

from gristmill.derivation.earlier_counts import earlier_counts
from gristmill.derivation.row_difference import first_different_row
from gristmill.execution.finding import Finding
from gristmill.lake.address import Place
from gristmill.lake.asset_kinds import RAW, kind_of
from gristmill.lake.identity import HASH_BYTES, ROW_BYTES
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.rows.shard_file import read_blocks, split_rows, unpack_pieces
from gristmill.lake.rows.unpacking import unpack_gzip
from gristmill.lake.store.protocol import Store
from gristmill.stages.fingerprints.binary_part import BinaryPartRecord

_COUNTED = ("rows", "ids", "dropped", "counts")
_PACKED = ("objects", "contents")
"""The fields of `extra` that depend on how gzip packs, which differs among machines."""


def shard_differences(store: Store, scratch: Store, partition: Place, old: Shard, new: Shard) -> Iterator[Finding]:
    """Findings unless a shard that was made again is the recorded one.

    How its objects are packed is not compared: gzip's bytes depend on the machine.

    Args:
        store: the lake.
        scratch: store of the objects that were made again, by the same paths.
        partition: the partition.
        old: the recorded row of the table.
        new: the row of the shard that was made again.
    """
    if any(kind_of(each.asset) is RAW for each in new.inputs):
        yield from _raw_input_findings(partition, old, new)
    if partition.kind.immutable:
        yield from _part_file_findings(store, scratch, partition, old, new)
    else:
        if (old.content, old.length) != (new.content, new.length):
            yield _first_row_difference(store, scratch, partition.shard(old.name))
        yield from _id_index_findings(store, scratch, partition, old, new)
        yield from _quarantine_findings(store, scratch, partition, old, new)
    for name in _COUNTED:
        recorded, made = getattr(old, name), getattr(new, name)
        if recorded != made and not (name == "counts" and recorded == earlier_counts(made)):
            was, again = _differing_value(recorded, made), _differing_value(made, recorded)
            what = f"shard {old.name}: {name} is {was}, but made again {again}"
            yield Finding(partition.table, None, what)
    if _extra_fields(old) != _extra_fields(new):
        yield Finding(partition.table, None, f"shard {old.name}: its field extra differs from that made again")


def _differing_value(value: object, other: object) -> object:
    """A value of the table; of counters only those that the other has not."""
    if not isinstance(value, dict) or not isinstance(other, dict):
        return value
    return {name: count for name, count in value.items() if other.get(name) != count}


def _extra_fields(row: Shard) -> dict[str, object]:
    return {name: value for name, value in row.extra.items() if name not in _PACKED}


def _raw_input_findings(partition: Place, old: Shard, new: Shard) -> Iterator[Finding]:
    """Findings on raw objects that have other bytes than recorded: only reading them shows it."""
    recorded, made = _shards_by_name(old.inputs), _shards_by_name(new.inputs)
    for name in sorted(recorded.keys() | made.keys()):
        was, now = recorded.get(name, "not an input"), made.get(name, "not an input")
        if was != now:
            what = f"shard {old.name} was made from {'/'.join(name)} as {was}, which is {now}"
            yield Finding(partition.table, None, what)
    if recorded == made and old.inputs != new.inputs:
        what = f"shard {old.name}: its inputs are in another order, or are there more than once"
        yield Finding(partition.table, None, what)


def _shards_by_name(inputs: Sequence[Input]) -> dict[tuple[str, str], str]:
    return {(each.asset, each.shard): each.content for each in inputs}


def _first_row_difference(store: Store, scratch: Store, path: str) -> Finding:
    """The finding on the first row of a file that differs."""
    other = first_different_row(_read_rows(store, path), _read_rows(scratch, path))
    if other is None:  # the object is the right one, so the table lies
        return Finding(path, None, "made again it has these rows, but its ledger names others")
    return Finding(path, other[0], other[1])


def _read_rows(store: Store, path: str) -> Iterator[bytes]:
    if store.head(path) is not None:
        yield from (row for block in read_blocks(store, path) for row in split_rows(block))


def _id_index_findings(store: Store, scratch: Store, partition: Place, old: Shard, new: Shard) -> Iterator[Finding]:
    """A finding unless the id index has the same hashes and row numbers, and the same raw spans."""
    if old.index == new.index:
        return
    path = partition.index(old.name)
    found, made = _id_index_sections(store, path, old.rows), _id_index_sections(scratch, path, new.rows)
    if len(found[0]) + len(found[1]) > HASH_BYTES * old.rows and found != made:  # else of 0.1, without these
        what = "row numbers" if found[0] != made[0] else "raw spans"
        yield Finding(path, None, f"its {what} are not those made again")


def lacks_row_numbers(store: Store, partition: Place, row: Shard) -> bool:
    """Whether the id index of a shard has hashes alone, as version 0.1 made it: nothing else of it is compared."""
    entry = store.head(partition.index(row.name)) if row.index else None
    return entry is not None and bool(row.rows) and entry.size == HASH_BYTES * row.rows


def _id_index_sections(store: Store, path: str, rows: int) -> tuple[bytes, bytes]:
    """The sections of an id index: hashes and row numbers, and the raw spans, unpacked."""
    data = store.read(path)
    cut = (HASH_BYTES + ROW_BYTES) * rows
    return data[:cut], b"".join(unpack_gzip([data[cut:]], path)) if data[cut:] else b""


def _quarantine_findings(store: Store, scratch: Store, partition: Place, old: Shard, new: Shard) -> Iterator[Finding]:
    if old.quarantine == new.quarantine:
        return
    path = partition.quarantine_path(old.name)
    other = first_different_row(_read_rows(store, path), _read_rows(scratch, path))
    if other:
        yield Finding(path, *other)
    counts = [row.quarantine.rows if row.quarantine else 0 for row in (old, new)]
    if counts[0] != counts[1]:
        what = f"shard {old.name}: {counts[0]} rows were refused, but made again {counts[1]}"
        yield Finding(partition.table, None, what)


def _part_file_findings(store: Store, scratch: Store, partition: Place, old: Shard, new: Shard) -> Iterator[Finding]:
    """Findings on the files of a part that differ."""
    recorded, made = (BinaryPartRecord.decode_from_row(row, partition.table).contents for row in (old, new))
    folder = BinaryPartRecord.decode_from_row(new, partition.table).folder
    for name in sorted(recorded.keys() | made.keys()):
        path = folder + name
        if recorded.get(name) == made.get(name):
            continue
        if name not in recorded or name not in made:
            here = "is not made again" if name in recorded else "is missing: it is made again"
            yield Finding(path, None, f"this file of part {old.name} {here}")
        elif not name.endswith(".gz") or _unpacked_bytes(store, path) != _unpacked_bytes(scratch, path):
            yield Finding(path, None, "made again it has other bytes")


def _unpacked_bytes(store: Store, path: str) -> bytes:
    return b"".join(unpack_pieces([store.read(path)], path))
