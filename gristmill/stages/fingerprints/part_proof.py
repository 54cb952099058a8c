"""BinaryPartKind: the audit of parts of binary files, which fingerprints, runs, verdicts, clusters and marks are.

A row of the table must follow from the files of its part: its sizes and digests from all of them, and its counts from
what each kind writes.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from gristmill.errors import DataError
from gristmill.execution.finding import Finding, difference_in_words, prove_object, unreadable_finding
from gristmill.lake.address import Place
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.protocol import Store
from gristmill.stages.fingerprints.binary_part import BinaryPartRecord, part_name, read_part_file, seal_row
from gristmill.stages.kind import KindBehaviour, KnownPart


def _differing_fields(row: Shard, made: Shard) -> Iterator[tuple[str, Any, Any]]:
    """The name of each field in which a row differs from that which its record gives, and both values."""
    one, other = (msgspec.json.decode(as_json(each)) for each in (row, made))
    for name in sorted(one.keys() | other.keys()):
        if one.get(name) != other.get(name):
            yield name, one.get(name, "nothing"), other.get(name, "nothing")


class ReadPart(NamedTuple):
    """A part whose files have the digests that its row names.

    Attributes:
        store: the lake.
        place: place of its partition.
        row: row of the part in the table of its ledger.
        record: record of its files, from the row.
    """

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

    def read(self, name: str) -> bytes:
        """All bytes of a file."""
        return read_part_file(self.store, self.row, self.place.table, name)


class Numbers(NamedTuple):
    """What the files of a part give.

    Attributes:
        rows: number of its rows.
        counts: counters of the row, by name; those that no file gives are not among them.
        facts: the same of its facts.
        others: whether it may have counters and facts that no file gives.
        ids: digest of its ids.
    """

    rows: int
    counts: Mapping[str, int] = {}
    facts: Mapping[str, Any] = {}
    others: bool = False
    ids: str = ""


def _differing_numbers(row: Shard, record: BinaryPartRecord, found: Numbers) -> Iterator[tuple[str, Any, Any]]:
    """The name of each number in which a row differs from the files, and both values."""
    pairs = [("rows", row.rows, found.rows), ("ids", row.ids, found.ids), ("dropped", row.dropped, {})]
    for field, recorded, made in (("counts", row.counts, found.counts), ("facts", record.facts, found.facts)):
        names = sorted(made.keys() if found.others else recorded.keys() | made.keys())
        pairs += [(f"{field}.{name}", recorded.get(name), made.get(name)) for name in names]
    yield from (pair for pair in pairs if pair[1] != pair[2])


class BinaryPartKind(KindBehaviour):
    """A kind whose parts are binary files."""

    def numbers(self, part: ReadPart) -> Numbers:
        """The numbers that the files of a part give.

        Args:
            part: the part.

        Raises:
            DataError: its files contradict each other, or one is cut or missing.
        """
        raise NotImplementedError

    def findings(self, part: KnownPart) -> Iterator[Finding]:
        """See KindBehaviour.

        Returns:
            One finding for each fault.
        """
        store, partition, row = part
        who = f"part {row.name}"
        try:
            record = BinaryPartRecord.decode_from_row(row, partition.table)
        except DataError as error:
            yield unreadable_finding(partition.table, error)
            return
        wrong = False
        for name, content in record.contents.items():
            path = record.folder + name
            for finding in prove_object(store, path, *record.objects[path], content):
                wrong = True
                yield finding
        folder = f"{partition.folder}{part_name(row.recipe, row.name, row.inputs)}/"
        if record.folder != folder:
            yield Finding(
                partition.table, None, f"{who}: {difference_in_words('its folder is', folder, record.folder)}"
            )
        for name, recorded, made in _differing_fields(row, seal_row(row, record)):
            yield Finding(partition.table, None, f"{who}: {difference_in_words(f'its {name} is', made, recorded)}")
        if wrong:
            return  # a damaged part is not decoded
        for name, recorded, made in _differing_numbers(row, record, self.numbers(ReadPart(*part, record))):
            yield Finding(
                partition.table, None, f"{who}: {difference_in_words(f'{name} of its files:', made, recorded)}"
            )
