from pathlib import Path

import pytest

from gristmill.errors import Conflict
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.part_output import PartOutput, part_object_findings
from gristmill.lake.address import place
from gristmill.lake.ledger.model import Input
from gristmill.lake.ledger.receipts import Receipt
from gristmill.lake.ledger.stored_part import StoredPart
from gristmill.lake.store.folder import FolderStore

HERE = place("dedupe/lines-1/fingerprints/wiki", "2024")
INPUTS = (Input("sources/wiki/v0/documents", "a", "1"),)
SPEC = OneAssetSpec(place=HERE, token="run", recipe="r")


class Pair(PartOutput):
    """A part of two objects, which are open from the beginning."""

    def __init__(self, store: FolderStore) -> None:
        super().__init__(store, SPEC, "a", INPUTS)
        self.files = [self.uploads.open(f"{HERE.folder}part/{name}") for name in "xy"]

    def close(self) -> Receipt:
        for file in self.files:
            file.close()
        return self.part_receipt(StoredPart(self.uploads.objects), rows=2, length=9, content="c", ids="i")


def test_the_row_of_a_part_names_its_objects_and_the_receipt_their_versions(lake: FolderStore) -> None:
    part = Pair(lake)
    part.files[0].write(b"one")
    part.dropped, part.counts = {"late": 2, "early": 1}, {"z": 3}
    receipt = part.close()
    row, there = receipt.row, list(lake.list(HERE.folder))
    record = StoredPart.decode_from_row(row, HERE.table)
    assert (row.name, row.rows, row.bytes, row.length, row.content, row.ids) == ("a", 2, 3, 9, "c", "i")
    assert (row.recipe, row.inputs, row.counts, list(row.dropped)) == ("r", INPUTS, {"z": 3}, ["early", "late"])
    assert (row.sha256, row.objects) == (record.sha256, record.objects)
    assert receipt.stamps == {entry.path: entry.version for entry in there}
    assert list(part_object_findings(record, {entry.path: entry.size for entry in there})) == []


def test_a_part_that_fails_leaves_no_open_upload_and_keeps_what_is_published(lake: FolderStore) -> None:
    part = Pair(lake)
    part.files[0].close()
    part.abort()
    assert [entry.path for entry in lake.list(HERE.folder)] == [f"{HERE.folder}part/x"]
    assert list(Path(lake.url, ".incoming").iterdir()) == []


def test_a_part_whose_object_another_writer_wrote_is_aborted(lake: FolderStore) -> None:
    part = Pair(lake)
    lake.put(f"{HERE.folder}part/y", b"theirs")
    with pytest.raises(Conflict):
        part.close()
    part.abort()
    assert lake.read(f"{HERE.folder}part/y") == b"theirs"
    assert list(Path(lake.url, ".incoming").iterdir()) == []


def test_objects_that_are_gone_or_have_another_size_are_found() -> None:
    record = StoredPart({"f/a": ("1", 1), "f/b": ("2", 2), "f/c": ("3", 3)})
    assert [(each.path, each.what) for each in part_object_findings(record, {"f/a": 1, "f/b": 5})] == [
        ("f/b", "the object's bytes are 5, but its ledger says 2"),
        ("f/c", "there is no such object, but the ledger names it"),
    ]
