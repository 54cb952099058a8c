import pytest
from testkit import Mill
from wholelake import DOCUMENTS, STREAM, WORDS

from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.lake.asset_kinds import DOCUMENTS as KIND
from gristmill.lake.asset_kinds import MIX
from gristmill.reading.partitions import (
    address_from_fields,
    known_snapshots,
    open_partition,
    partitions_of_asset,
    shards_to_read,
    snapshots_of_asset,
)


def test_an_asset_is_named_in_three_ways() -> None:
    for name in ("pages/v0", "sources/pages/v0", "sources/pages/v0/documents"):
        assert address_from_fields(name, KIND, "wiki/v1") == DOCUMENTS.asset
    for name in ("pages", "pages/raw", "mixes/even/documents/pages", ""):
        with pytest.raises(RecipeError, match="write it as 'wiki/v1'"):
            address_from_fields(name, KIND, "wiki/v1")
    assert address_from_fields(STREAM.asset, MIX, "") == STREAM.asset


def test_partitions_come_in_the_order_of_snapshots_or_as_asked(read_mill: Mill) -> None:
    store = read_mill.store
    assert snapshots_of_asset(store, DOCUMENTS.asset) == ["2024", "2025"]
    asked = partitions_of_asset(store, DOCUMENTS.asset, ["2025", "2024", "2025"])
    assert [each.place.snapshot for each in asked] == ["2025", "2024"]
    assert [sorted(each.shards) for each in partitions_of_asset(store, DOCUMENTS.asset, None)] == [["a", "b"], ["a"]]


def test_the_parent_of_a_mix_is_its_dataset_version(read_mill: Mill) -> None:
    stream, revised = open_partition(read_mill.store, STREAM), read_mill.documents("v1")
    assert stream.parent() == revised
    assert stream.parent_content("a") == open_partition(read_mill.store, revised).parent_content("a") != ""
    assert open_partition(read_mill.store, DOCUMENTS).parent() == DOCUMENTS


def test_shards_have_their_sets_beside_them(read_mill: Mill) -> None:
    partitions = partitions_of_asset(read_mill.store, DOCUMENTS.asset, ["2024"])
    shards = shards_to_read(read_mill.store, partitions, ["words-1", "characters-1"], None)
    assert [(each.shard.name, sorted(each.sets), each.is_whole) for each in shards] == [
        (name, ["characters-1", "words-1"], True) for name in ("a", "b")
    ]
    assert shards[0].sets["words-1"][0] == WORDS
    [mixed] = shards_to_read(read_mill.store, [open_partition(read_mill.store, STREAM)], ["words-1"], ["b"])
    assert (mixed.file(read_mill.store).path, mixed.is_whole) == (STREAM.shard("b"), False)


def test_a_set_that_is_at_work_or_not_finished_is_an_error(read_mill: Mill) -> None:
    partitions = partitions_of_asset(read_mill.store, DOCUMENTS.asset, ["2024"])
    read_mill.store.put(WORDS.claim_path, b"{}")
    with pytest.raises(StoreError, match="words-1, snapshot 2024: is being made"):
        shards_to_read(read_mill.store, partitions, ["words-1"], None)
    read_mill.store.delete([WORDS.claim_path, WORDS.ledger])
    with pytest.raises(DataError, match="words-1, snapshot 2024: is not finished; make it"):
        shards_to_read(read_mill.store, partitions, ["words-1"], None)
    with pytest.raises(RecipeError, match="no attribute set 'length-1' beside it; known: characters-1, words-1"):
        shards_to_read(read_mill.store, partitions, ["length-1"], None)


def test_what_is_not_made_yet_is_told_with_the_command_that_makes_it(mill: Mill) -> None:
    with pytest.raises(
        RecipeError, match=r"known: none; make it first, .*`gristmill make - sources/pages/v0/documents`"
    ):
        known_snapshots(mill.store, DOCUMENTS.asset)
