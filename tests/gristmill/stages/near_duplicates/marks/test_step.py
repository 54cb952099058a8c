from pathlib import Path

import pytest
from nearlake import SHELVES, Near

from gristmill.errors import DataError
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import MARKS
from gristmill.lake.ledger.files import read_ledger
from gristmill.stages.near_duplicates.marks.step import NearMarksStep

ONE = "the mill grinds the grain of the whole valley day and night"
OTHER = "a b c d e f g h i j k l"


def test_each_shard_has_the_records_of_its_documents_by_row(tmp_path: Path) -> None:
    near = Near(tmp_path)
    near.add(("wiki", "1", {"a": ["", ONE, OTHER], "b": [], "c": [OTHER, "", ONE]}))
    near.resolve()
    rows = {name: [record["row"] for record in records] for name, records in near.mark(0).items()}
    assert rows == {"a": [1, 2], "b": [], "c": [0, 2]}
    ledger, parts = read_ledger(near.store, place(MARKS.at(dedupe="near-1", source="wiki"), "1"))
    assert [part.rows for part in parts] == [0, 0, 2]  # duplicates
    assert ledger.totals["in clusters"] == 4


def test_a_snapshot_that_is_in_no_round_is_refused(tmp_path: Path) -> None:
    near = Near(tmp_path)
    near.add(("wiki", "1", {"a": [ONE]}))
    with pytest.raises(DataError, match=r"wiki \(2\) is not resolved yet; resolve it"):
        near.make(NearMarksStep(near.dedupe, near.order, "wiki", "2", SHELVES))


def test_records_that_are_not_those_of_the_index_are_refused(tmp_path: Path) -> None:
    near = Near(tmp_path)
    near.add(("wiki", "1", {"a": [ONE, ONE], "b": [ONE]}))
    near.resolve()
    row, _ = near.clusters(1)
    path = f"{row.extra['folder']}0"
    data = bytearray(near.store.read(path))
    data[-1] ^= 1
    near.store.put(path, bytes(data))
    with pytest.raises(DataError, match="is not the file that its index describes; make its partition again"):
        near.mark(0)
