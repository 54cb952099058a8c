"""The record of a part in the row of its table: written and read in one place."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from gristmill.errors import DataError
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.lake.address import cache_asset, place
from gristmill.lake.ledger.files import table_bytes
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.folder import FolderStore
from gristmill.stages.token_cache.part import (
    Part,
    PartObjects,
    PartRecord,
    PartShard,
    part_records,
    row_with_folder,
    row_with_shard,
)
from gristmill.stages.token_cache.statistics import TokenStatistics

FOLDER = "token_caches/m/t-1/s/train/2024/part-00000-ab/"
RECORD = PartRecord(
    {FOLDER + "b": ("22", 2), FOLDER + "a": ("11", 1)},
    {"train": FOLDER},
    {
        "one": PartShard("c1", {"train": (0, 2, 0, 5)}, TokenStatistics(bytes=7, lengths=(0, 2)), (1,)),
        "none": PartShard("c2", {"train": (0, 0, 0, 0)}),
        "old": PartShard("c3", {"train": (2, 1, 5, 4)}),
    },
)


def row(name: str, record: PartRecord | None = RECORD) -> Shard:
    extra = record.as_extra() if record else {}
    return Shard(name=name, rows=0, bytes=0, length=0, sha256="", content="", ids="", recipe="", inputs=(), extra=extra)


def test_a_record_is_read_as_it_was_written() -> None:
    written = msgspec.json.decode(table_bytes([row("p")]), type=Shard)
    assert PartRecord.decode_from_row(written, "t") == RECORD
    assert PartObjects.decode_from_row(written, "t") == PartObjects(RECORD.objects, RECORD.folders)
    assert part_records([written]) == {"p": RECORD}


def test_a_record_counts_rows_documents_and_bytes() -> None:
    shards = RECORD.shards
    assert [(each.rows, each.documents, each.is_counted) for each in shards.values()] == [
        (2, 3, True),
        (0, 0, True),
        (1, 1, False),  # version 0.1 counted nothing
    ]
    assert RECORD.bytes == 3
    assert RECORD.in_order("train") == [("none", (0, 0, 0, 0)), ("one", (0, 2, 0, 5)), ("old", (2, 1, 5, 4))]
    assert RECORD.in_order("validation") == []


def test_the_digest_of_the_objects_does_not_depend_on_their_order() -> None:
    turned = msgspec.structs.replace(RECORD, objects=dict(reversed(RECORD.objects.items())))
    other = msgspec.structs.replace(RECORD, objects={**RECORD.objects, FOLDER + "a": ("12", 1)})
    assert turned.sha256 == RECORD.sha256 != other.sha256


def test_a_row_without_a_record_is_named_or_left_out() -> None:
    with pytest.raises(DataError, match=r"t: part q: its row does not say where .* make this slice"):
        PartRecord.decode_from_row(row("q", None), "t")
    assert part_records([row("q", None), row("p")]) == {"p": RECORD}


def test_a_record_with_rows_of_a_split_but_no_folder_is_no_record() -> None:
    extra = {**RECORD.as_extra(), "folders": {}}
    homeless = msgspec.structs.replace(row("q"), extra=extra)
    with pytest.raises(DataError, match=r"t: part q: its row does not say .*it has rows of train, but no folder"):
        PartRecord.decode_from_row(homeless, "t")
    with pytest.raises(DataError, match=r"t: part q: its row names no folder of train; make this slice"):
        PartObjects.decode_from_row(homeless, "t").split_folder("train", "q", "t")
    assert PartObjects.decode_from_row(row("p"), "t").split_folder("train", "p", "t") == FOLDER


def test_a_row_whose_record_has_wrong_types_holds_no_shard_and_no_folder() -> None:
    wrong = msgspec.structs.replace(row("q"), extra={"shards": 1, "folders": []})
    assert row_with_shard([wrong], "old") is None
    assert row_with_folder([wrong], "train", FOLDER) is None


def test_rows_are_found_by_shard_and_by_folder() -> None:
    rows = [row("q", None), row("p")]
    assert row_with_shard(rows, "old") is rows[1]
    assert row_with_shard(rows, "new") is None
    assert row_with_folder(rows, "train", FOLDER) is rows[1]
    assert row_with_folder(rows, "validation", FOLDER) is None


def test_a_shard_of_other_rows_than_its_ledger_says_ends_no_part(lake: FolderStore) -> None:
    spec = OneAssetSpec(place=place(cache_asset("m", "t-1", "s"), "2024"), token="run", recipe="r")
    part = Part(lake, spec, "p", (), "part-00000-ab", ("train",), {"input_ids": "int32"}, {})
    shard = msgspec.structs.replace(row("one", None), rows=3)
    part.begin_shard()
    part.writers["train"].append_batch({"input_ids": (np.arange(5, dtype=np.int32), np.array([2, 3]))})
    with pytest.raises(DataError, match="shard one: 3 documents in its ledger, but 2 were tokenized"):
        part.end_shard(shard, TokenStatistics(), (), "")
    part.end_shard(shard, TokenStatistics(), (1,), "")
    part.writers["train"].append_batch({"input_ids": (np.ones(300_000, np.int32), np.array([300_000]))})
    part.abort()
    assert list(lake.list("")) == []
    assert list(Path(lake.url, ".incoming").iterdir()) == []
