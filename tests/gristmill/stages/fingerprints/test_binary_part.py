"""Parts of dedupe assets: files, their record, and what is refused."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from gristmill.errors import DataError
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.lake.address import place
from gristmill.lake.ledger.model import Input
from gristmill.lake.store.open import Lake
from gristmill.stages.fingerprints.binary_part import BinaryPart, BinaryPartRecord, read_part_file

PLACE = place("dedupe/lines-1/fingerprints/wiki", "2024")
INPUTS = (Input("sources/wiki/v0/documents", "a", "digest"),)
SPEC = OneAssetSpec(place=PLACE, token="run", recipe="r")


def test_files_are_read_back_and_a_changed_byte_is_an_error(tmp_path: Path) -> None:
    store = Lake(str(tmp_path)).store()
    part = BinaryPart(store, SPEC, "a", INPUTS, ids="i")
    file = part.file("hashes")
    file.write(b"one")
    file.write(memoryview(b"two"))
    part.rows, part.facts = 2, {"units": 3}
    row = part.close().row
    assert read_part_file(store, row, PLACE.table, "hashes") == b"onetwo"
    assert (row.rows, row.bytes, BinaryPartRecord.decode_from_row(row, "").facts) == (2, 6, {"units": 3})
    store.put(part.folder + "hashes", b"onetwO")
    with pytest.raises(DataError, match="another sha256"):
        read_part_file(store, row, PLACE.table, "hashes")
    with pytest.raises(DataError, match="no file 'rows'"):
        read_part_file(store, row, PLACE.table, "rows")


def test_other_inputs_give_another_folder_and_equal_files_equal_rows(tmp_path: Path) -> None:
    store = Lake(str(tmp_path)).store()
    first = BinaryPart(store, SPEC, "a", INPUTS)
    again = BinaryPart(store, replace(SPEC, token="other"), "a", INPUTS)
    first.file("hashes").write(b"x")
    row = first.close().row
    again.file("hashes").write(b"x")
    assert again.close().row == row
    assert BinaryPart(store, replace(SPEC, recipe="s"), "a", INPUTS).folder != first.folder
