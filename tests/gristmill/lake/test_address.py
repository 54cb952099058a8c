import pytest

from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import (
    attributes_asset,
    cache_asset,
    check_name,
    check_numbered,
    check_shard,
    check_snapshot,
    documents_asset,
    mix_asset,
    place,
    place_of_ledger,
)

ASSETS = [
    documents_asset("wiki", "v0"),
    attributes_asset("wiki", "v1", "toxicity-1"),
    mix_asset("blend", "wiki"),
    cache_asset("blend", "neox-1", "wiki"),
]


@pytest.mark.parametrize("asset", ASSETS)
@pytest.mark.parametrize("snapshot", ["2024", "2024-22", "CC-MAIN.x_1", "a" * 100])
def test_a_place_is_found_again_from_its_ledger(asset: str, snapshot: str) -> None:
    where = place(asset, snapshot)
    assert place_of_ledger(where.ledger) == where


def test_what_lies_beside_a_ledger_is_no_ledger() -> None:
    where = place(documents_asset("wiki", "v0"), "2024")
    for path in (where.run, where.table, where.claim_path, where.receipt_path("a"), where.shard("a"), where.index("a")):
        assert place_of_ledger(path) is None


def test_paths_are_those_of_the_design() -> None:
    where = place(documents_asset("wiki", "v0"), "2024")
    assert where.shard("a/b") == "sources/wiki/v0/documents/2024/a/b.jsonl.gz"
    assert where.quarantine_path("a/b") == "sources/wiki/v0/quarantine/2024/a/b.jsonl.gz"
    assert where.ledger == "sources/wiki/v0/ledgers/documents/2024.json"
    assert where.table == "sources/wiki/v0/ledgers/documents/2024.shards.jsonl.gz"
    assert where.receipt_path("a/b") == "sources/wiki/v0/ledgers/documents/2024.receipts/a/b.json"
    attributes = place(attributes_asset("wiki", "v0", "toxicity-1"), "2024")
    assert attributes.ledger == "sources/wiki/v0/ledgers/attributes/toxicity-1/2024.json"
    assert attributes.shard("a") == "sources/wiki/v0/attributes/toxicity-1/2024/a.jsonl.gz"
    mixed = place(mix_asset("blend", "wiki"), "2024")
    assert mixed.ledger == "mixes/blend/ledgers/wiki/2024.json"
    assert mixed.shard("a") == "mixes/blend/documents/wiki/2024/a.jsonl.gz"


@pytest.mark.parametrize("key", ["", ".a", "-a", "a/b", "a..b", "a b", "é", "a" * 101, "a.run", "a.ids", "a\n"])
def test_a_key_that_is_no_snapshot_is_refused(key: str) -> None:
    with pytest.raises(DataError, match="rename the folder"):
        check_snapshot(key)


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a-", "a--b", "raw", "index", "ledgers", "a/b", "é", "a\n"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(RecipeError, match="lower-case letters"):
        check_name(name, "source")


def test_a_set_without_its_number_is_refused() -> None:
    assert check_numbered("toxicity-1", "tagger") == "toxicity-1"
    with pytest.raises(RecipeError, match="toxicity-1"):
        check_numbered("toxicity", "tagger")


@pytest.mark.parametrize("name", ["", "/a", "a/", "a//b", "../a", ".a", "a/.b", "a\x00", "a\\b", "a:b", "x" * 201])
def test_a_name_that_is_no_shard_is_refused(name: str) -> None:
    with pytest.raises(DataError, match="rename the raw object"):
        check_shard(name)


def test_an_asset_of_no_kind_has_no_place() -> None:
    with pytest.raises(RecipeError, match="sources/wiki/raw"):
        place("sources/wiki/raw", "2024")
