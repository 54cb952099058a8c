"""The audit of what a dedupe recipe makes but its labels: fingerprints, runs, verdicts, clusters and marks.

A row of the table must follow from the files of its part: its sizes and digests from all of them, and its counts from
what each kind writes. See verification/audit.py.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import xxhash

from gristmill.errors import DataError
from gristmill.execution.finding import Finding, differs, guarded, unreadable
from gristmill.execution.work import Say
from gristmill.lake.address import Place
from gristmill.lake.asset_kind import AssetKind
from gristmill.lake.asset_kinds import CLUSTERS, FINGERPRINTS, HASH_RUNS, MARKS, VERDICTS, kind_of
from gristmill.lake.ledger.files import dump
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.shard_file import rows_of, unpacked_whole
from gristmill.lake.store.protocol import Store
from gristmill.stages.dedupe.columns import COUNTS, FOUND, HASHES, POSITIONS, REPEATS, row_bytes
from gristmill.stages.dedupe.marks.grinder import NOT_CONFIRMED
from gristmill.stages.dedupe.marks.key_numbers import KEY_MARK
from gristmill.stages.fingerprints.binary_part import BinaryPartRecord, part_name, read_part_file, sealed
from gristmill.stages.fingerprints.reader import HASH_BYTES, FingerprintPart
from gristmill.stages.near_duplicates.cluster_files import CLUSTER, MEMBER, records_of
from gristmill.stages.near_duplicates.labelled import largest_of, sizes_by_power
from gristmill.stages.near_duplicates.mark_records import NEAR_MARK
from gristmill.verification.ledger import LedgerProof, part_strays
from gristmill.verification.shard import prove_object

if TYPE_CHECKING:
    import numpy as np


def dedupe_findings(store: Store, partition: Place, say: Say) -> Iterator[Finding]:
    """Findings on head, table, inputs, the bytes of each file, and on rows that do not follow from the files."""
    proof = LedgerProof(store, partition)
    yield from proof.findings
    if proof.head is None:
        return
    yield from proof.upstream()
    for row in proof.shards:
        yield from guarded(store, partition.table, _part(store, partition, row))
    yield from part_strays(store, partition, proof.shards, say)


def _part(store: Store, partition: Place, row: Shard) -> Iterator[Finding]:
    who = f"part {row.name}"
    try:
        record = BinaryPartRecord.of_row(row, partition.table)
    except DataError as error:
        yield unreadable(partition.table, error)
        return
    wrong = False
    for name, content in record.contents.items():
        path = record.folder + name
        for finding in prove_object(store, path, *record.objects[path], content):
            wrong = True
            yield finding
    folder = f"{partition.folder}{part_name(row.recipe, row.name, row.inputs)}/"
    if record.folder != folder:
        yield Finding(partition.table, None, f"{who}: {differs('its folder is', folder, record.folder)}")
    for name, recorded, made in _other_fields(row, sealed(row, record)):
        yield Finding(partition.table, None, f"{who}: {differs(f'its {name} is', made, recorded)}")
    if wrong:
        return  # a damaged part is not decoded
    found = _READ[partition.kind](_ReadPart(store, partition, row, record))
    for name, recorded, made in _other_numbers(row, record, found):
        yield Finding(partition.table, None, f"{who}: {differs(f'{name} of its files:', made, recorded)}")


def _other_fields(row: Shard, made: Shard) -> Iterator[tuple[str, Any, Any]]:
    """The name of each field in which a row differs from that which its record gives, and both values."""
    one, other = (msgspec.json.decode(dump(each)) for each in (row, made))
    for name in sorted(one.keys() | other.keys()):
        if one.get(name) != other.get(name):
            yield name, one.get(name, "nothing"), other.get(name, "nothing")


class _ReadPart(NamedTuple):
    """A part whose files have the digests that its row names."""

    store: Store
    place: Place
    row: Shard
    record: BinaryPartRecord

    def number(self, name: str, width: int) -> int:
        """The number of records in a file.

        Raises:
            DataError: the file is not there, or it is cut.
        """
        path = self.record.folder + name
        if path not in self.record.objects:
            raise DataError(f"{self.place.table}: part {self.row.name} has no file {name!r}; make this partition again")
        number, rest = divmod(self.record.objects[path][1], width)
        if rest:
            raise DataError(f"{path}: it is cut; make its partition again")
        return number

    def records(self, name: str, kind: "np.dtype[np.void]") -> "np.ndarray[tuple[int], np.dtype[np.void]]":
        """The records in a file."""
        return records_of(read_part_file(self.store, self.row, self.place.table, name), kind, self.record.folder + name)


class _Numbers(NamedTuple):
    """What the files of a part give.

    Attributes:
        rows: number of its rows.
        counts: its counters, by name; those that no file gives are not among them.
        facts: the same of its facts.
        others: whether it may have counters and facts that no file gives.
        ids: digest of its ids.
    """

    rows: int
    counts: Mapping[str, int] = {}
    facts: Mapping[str, Any] = {}
    others: bool = False
    ids: str = ""


def _other_numbers(row: Shard, record: BinaryPartRecord, found: _Numbers) -> Iterator[tuple[str, Any, Any]]:
    """The name of each number in which a row differs from the files, and both values."""
    pairs = [("rows", row.rows, found.rows), ("ids", row.ids, found.ids), ("dropped", row.dropped, {})]
    for field, recorded, made in (("counts", row.counts, found.counts), ("facts", record.facts, found.facts)):
        names = sorted(made.keys() if found.others else recorded.keys() | made.keys())
        pairs += [(f"{field}.{name}", recorded.get(name), made.get(name)) for name in names]
    yield from (pair for pair in pairs if pair[1] != pair[2])


def _fingerprints(part: _ReadPart) -> _Numbers:
    reader = FingerprintPart(part.store, part.row, part.place.table)
    ids = unpacked_whole(
        read_part_file(part.store, part.row, part.place.table, "ids.gz"), f"{part.record.folder}ids.gz"
    )
    spans, rows = reader.spans(), len(rows_of(ids))
    hashes = {spans.hashes, int(reader.offsets[-1]), part.number("hashes", HASH_BYTES)}
    if spans.documents != rows or len(hashes) > 1:
        raise DataError(f"{part.place.table}: part {part.row.name}: its files are not of the same documents")
    if "signatures" in part.record.contents:
        reader.signatures()
    facts = {"documents": rows, "spans": len(spans.starts), "hashes": spans.hashes}
    counts = {name: facts[name] for name in ("spans", "hashes")}
    return _Numbers(rows, counts, facts, others=True, ids=xxhash.xxh3_128_hexdigest(ids))


def _runs(part: _ReadPart) -> _Numbers:
    distinct, repeats = part.number("hashes", row_bytes(HASHES)), part.number("repeats", row_bytes(REPEATS))
    firsts, counts = part.number("positions", row_bytes(POSITIONS)), part.number("counts", row_bytes(COUNTS))
    if firsts != distinct or counts > distinct:
        raise DataError(f"{part.place.table}: part {part.row.name}: its files are not of the same hashes")
    return _Numbers(distinct + repeats, {"distinct": distinct, "repeats": repeats})


def _verdicts(part: _ReadPart) -> _Numbers:
    facts = {name: part.record.facts.get(name) for name in ("matrix", "histogram", "largest")}
    return _Numbers(sum(part.number(name, row_bytes(FOUND)) for name in part.record.contents), {}, facts)


def _clusters(part: _ReadPart) -> _Numbers:
    members = [part.records(name, MEMBER) for name in part.record.contents if name.isdigit()]
    clusters = part.records("clusters", CLUSTER)
    facts = {
        "sizes": sizes_by_power(clusters["size"].tolist()),
        "largest": msgspec.to_builtins(largest_of(clusters)),
    }
    duplicates = sum(int(each["duplicate"].sum()) for each in members)
    counts = {"clusters": len(clusters), "duplicates": duplicates}
    return _Numbers(sum(map(len, members)), counts, facts, others=True)


def _marks(part: _ReadPart) -> _Numbers:
    if any(kind_of(each.asset) is CLUSTERS for each in part.row.inputs):
        marks = part.records("marks", NEAR_MARK)
        return _Numbers(int(marks["duplicate"].sum()), {"in clusters": len(marks)})
    if any(each.shard == "positions" for each in part.row.inputs):  # the documents of each key are numbered
        return _Numbers(int((part.records("marks", KEY_MARK)["number"] > 1).sum()))
    counts = {name: number for name, number in part.row.counts.items() if name == NOT_CONFIRMED}
    return _Numbers(part.number("marks", 4), counts)


_READ: Mapping[AssetKind, Callable[[_ReadPart], _Numbers]] = {
    FINGERPRINTS: _fingerprints,
    HASH_RUNS: _runs,
    VERDICTS: _verdicts,
    CLUSTERS: _clusters,
    MARKS: _marks,
}
