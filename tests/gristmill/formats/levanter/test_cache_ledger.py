import json
from typing import Any

import pytest

from gristmill.errors import DataError
from gristmill.formats.levanter.cache_ledger import (
    CacheLedger,
    consolidated_ledger,
    dump_ledger,
    load_ledger,
    merged_ledger,
)

PREPROCESSOR = {"tokenizer": "gpt-neox-1", "vocab_size": 50_280, "append_bos": False, "append_eos": True}


def part(rows: int, tokens: int) -> CacheLedger:
    return consolidated_ledger({"": rows}, {"input_ids": tokens})


def merged() -> CacheLedger:
    parts = {
        "2024-12/part-00000-ab12cd": part(2, 9),
        "2024-12/part-00001-00ff00": part(0, 0),
        "2025-01/p": part(1, 0),
    }
    return merged_ledger(parts, PREPROCESSOR)


def test_a_consolidated_ledger_is_written_as_levanter_writes_it() -> None:
    assert dump_ledger(consolidated_ledger({"s": 2}, {"input_ids": 9}, {"tokenizer": "t"})) == (
        b'{"total_num_rows": 2, "shard_rows": {"s": 2}, "is_finished": true, "finished_shards": ["s"], '
        b'"field_counts": {"input_ids": 9}, "field_counts_by_shard": {}, "layout": "consolidated", '
        b'"metadata": {"preprocessor_metadata": {"tokenizer": "t"}}}'
    )


def test_parts_merge_into_a_sharded_ledger_in_their_order() -> None:
    assert merged() == {
        "total_num_rows": 3,
        "shard_rows": {"2024-12/part-00000-ab12cd": 2, "2024-12/part-00001-00ff00": 0, "2025-01/p": 1},
        "is_finished": True,
        "finished_shards": ["2024-12/part-00000-ab12cd", "2024-12/part-00001-00ff00", "2025-01/p"],
        "field_counts": {"input_ids": 9},
        "field_counts_by_shard": {"2024-12/part-00000-ab12cd": {"input_ids": 9}, "2025-01/p": {"input_ids": 0}},
        "layout": "sharded",
        "metadata": {"preprocessor_metadata": PREPROCESSOR},
    }


def test_no_parts_make_an_empty_cache() -> None:
    ledger = merged_ledger({})
    assert (ledger["total_num_rows"], ledger["field_counts"], ledger["is_finished"]) == (0, {}, True)


def test_a_ledger_is_read_as_it_was_written() -> None:
    assert load_ledger(dump_ledger(merged()), "x") == merged()


def test_what_older_levanters_leave_out_is_filled() -> None:
    ledger = load_ledger(b'{"total_num_rows": 1, "shard_rows": {"a": 1}, "finished_shards": ["a"], "new": 1}', "x")
    assert (ledger["layout"], ledger["is_finished"], ledger["field_counts"]) == ("consolidated", False, {})


@pytest.mark.parametrize("name", ["/lake/part", "s3://bucket/part", "../part", "a/../part", "a//b", "./a", ".", "a/"])
def test_a_part_must_have_a_plain_relative_path(name: str) -> None:
    with pytest.raises(DataError, match="not a plain path relative to the ledger"):
        merged_ledger({name: part(1, 1)})


def test_an_unfinished_part_does_not_merge() -> None:
    unfinished: CacheLedger = {**part(1, 1), "is_finished": False}
    with pytest.raises(DataError, match=r"p: a part must be a finished consolidated cache"):
        merged_ledger({"p": unfinished})


def test_a_sharded_cache_is_no_part_of_another() -> None:
    with pytest.raises(DataError, match=r"p: a part must be a finished consolidated cache"):
        merged_ledger({"p": merged()})


def test_parts_with_different_fields_do_not_merge() -> None:
    with pytest.raises(DataError, match="'b' has rows but not the counts of"):
        merged_ledger({"a": consolidated_ledger({"": 1}, {"input_ids": 1, "assistant_masks": 1}), "b": part(1, 1)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"total_num_rows": 4}, "do not sum to 4"),
        ({"field_counts": {"input_ids": 8}}, "counts sum to"),
        ({"field_counts_by_shard": {"other": {"input_ids": 9}}}, "unknown shard"),
        ({"finished_shards": ["2025-01/p", "2025-01/p"]}, "twice"),
        ({"finished_shards": ["missing"]}, "without rows"),
        ({"layout": "flat"}, "not a Levanter ledger .*'flat'"),
        ({"total_num_rows": None}, "not a Levanter ledger"),
        ({"metadata": None}, "not a Levanter ledger"),
        ({"metadata": {"preprocessor_metadata": False}}, "not a Levanter ledger"),
        ({"finished_shards": [[[]]]}, "not a Levanter ledger"),
        ({"shard_rows": {"2025-01/p": "1"}}, "not a Levanter ledger"),
        ({"field_counts": {"input_ids": {}}}, "not a Levanter ledger"),
        ({"field_counts_by_shard": {"2025-01/p": 1}}, "not a Levanter ledger"),
        ({"total_num_rows": 1 << 70}, "not a Levanter ledger"),
    ],
)
def test_a_ledger_that_contradicts_itself_is_an_error(change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=rf"cache/shard_ledger\.json: .*{message}"):
        load_ledger(json.dumps({**merged(), **change}).encode(), "cache/shard_ledger.json")


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"\xff", b'{"a":' * 100_000])
def test_what_is_no_ledger_is_an_error_that_names_the_file(data: bytes) -> None:
    with pytest.raises(DataError, match="x: not a Levanter ledger"):
        load_ledger(data, "x")
