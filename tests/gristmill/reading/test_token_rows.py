"""Rows of a token cache: whose they are, in both splits, and after the mix changed."""

from pathlib import Path
from typing import Any

import pytest
from testkit import SHELVES, SNAPSHOT, Mill
from tracelake import even, in_mix, make_trace_lake, text
from wholelake import CACHE, STREAM, flip, rewrite

from gristmill.api import open_lake, open_split
from gristmill.errors import DataError, RecipeError
from gristmill.reading import token_rows
from gristmill.reading.opened_lake import OpenedLake

IDS = ("even", "tiny-1", "pages")


@pytest.fixture(scope="module")
def split_lake(tmp_path_factory: pytest.TempPathFactory) -> OpenedLake:
    """A lake of two splits and three parts; a third of the documents is held out."""
    return open_lake(str(make_trace_lake(tmp_path_factory.mktemp("split") / "lake", even()).root), {}, shelves=SHELVES)


def test_each_document_is_in_one_split_and_decodes_to_its_text(split_lake: OpenedLake) -> None:
    train, held = (list(split_lake.tokens(*IDS, split, decoded=True)) for split in ("train", "validation"))
    assert len(train) > len(held) > 0
    documents = {row["id"]: row for row in split_lake.mix("even", snapshots=[SNAPSHOT])}
    assert sorted(int(row["id"][4:]) for row in train + held) == sorted(in_mix())
    for row in train + held:
        assert text(int(row["id"][4:])) in row["text"]
        assert (row["shard"], row["row"]) == (documents[row["id"]]["shard"], documents[row["id"]]["row"])


def test_rows_are_those_that_the_trainer_reads(split_lake: OpenedLake, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = open_split(split_lake, *IDS)
    expected = [stream.row("input_ids", number).tolist() for number in range(stream.rows)]
    assert [row["input_ids"] for row in split_lake.tokens(*IDS)] == expected
    monkeypatch.setattr(token_rows, "ELEMENTS", 25)
    batches = list(split_lake.tokens(*IDS, columns=["input_ids", "row"]).batches())
    assert [ids for batch in batches for ids in batch["input_ids"].to_pylist()] == expected
    assert len(batches) > len(split_lake.tokens(*IDS)) / 4


def test_columns_shards_snapshots_and_limit(split_lake: OpenedLake) -> None:
    everything = list(split_lake.tokens(*IDS))
    shard = everything[0]["shard"]
    own = list(split_lake.tokens(*IDS, shards=[shard], columns=["id"]))
    assert own == [{"id": row["id"]} for row in everything if row["shard"] == shard]
    assert list(split_lake.tokens(*IDS, limit=2, snapshots=[SNAPSHOT])) == everything[:2]
    assert str(split_lake.tokens(*IDS).schema.field("input_ids").type) == "list<item: int32>"
    assert split_lake.tokens(*IDS, columns=["id"], decoded=True).schema.names == ["id", "text"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": ["input_id"]}, "there is no column 'input_id'; did you mean 'input_ids'"),
        ({"shards": ["zz"]}, "there is no shard 'zz'"),
        ({"snapshots": ["2023"]}, "the index names no snapshot '2023'; did you mean '2024'"),
        ({"limit": -2}, "limit is -2"),
    ],
)
def test_what_is_not_there_is_told(split_lake: OpenedLake, options: dict[str, Any], words: str) -> None:
    with pytest.raises(RecipeError) as told:
        split_lake.tokens(*IDS, **options)
    assert words in str(told.value)


def test_a_mix_that_was_made_again_and_damaged_objects_are_told(read_mill: Mill, own: OpenedLake) -> None:
    assert len(list(own.tokens(*IDS))) == 8
    [path] = [
        path
        for path in next(iter(read_mill.table(CACHE).values())).extra["objects"]
        if path.endswith("input_ids/data/c/0")
    ]
    flip(read_mill, path)
    with pytest.raises(DataError, match=f"{path}: its sha256 is"):
        list(own.tokens(*IDS))
    rewrite(read_mill, STREAM, "a", read_mill.lines(STREAM.shard("a"))[:2])
    with pytest.raises(DataError, match="shard a was tokenized from another version: mixes/even/documents/pages was"):
        list(own.tokens(*IDS, verified=False))


def test_a_split_that_holds_nothing_out_has_no_rows(tmp_path: Path) -> None:
    mill = make_trace_lake(tmp_path / "lake", even(validation=0.0))
    with pytest.raises(DataError, match="does not exist yet"):
        open_lake(str(mill.root), {}).tokens(*IDS, "validation")
