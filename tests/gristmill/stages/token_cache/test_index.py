from dataclasses import replace

import pytest
from testkit import SNAPSHOT, Mill
from wholelake import CACHE, TOKENIZER, even

from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, load_ledger
from gristmill.stages.token_cache.index import index_cache, why_cache_open

KNOWN = {"pages": [SNAPSHOT]}


INDEX = "token_caches/even/tiny-1/index"


def why(mill: Mill, *more: str) -> tuple[str, ...]:
    return why_cache_open(mill.store, even(), TOKENIZER, {"pages": mill.source()}, {"pages": [SNAPSHOT, *more]})


def test_the_merged_ledger_names_the_parts_below_it_in_order(whole: Mill) -> None:
    path = f"{CACHE.asset}/train/{LEDGER_NAME}"
    merged = load_ledger(whole.store.read(path), path)
    assert merged["total_num_rows"] == 8
    assert merged["finished_shards"] == sorted(merged["finished_shards"])
    for part, rows in merged["shard_rows"].items():
        below = f"{CACHE.asset}/train/{part}/{LEDGER_NAME}"
        assert load_ledger(whole.store.read(below), below)["total_num_rows"] == rows


@pytest.mark.parametrize(
    ("name", "damage", "reason"),
    [
        ("data.yaml", b"x", "its content is not that in the ledger of its index"),
        ("cache_catalog.json", None, "there is no such object"),
        ("index.json", None, "there is no such object"),
        ("ledger.json", None, "it has no ledger"),
        ("ledger.json", b"{", "not the ledger of an index"),
        ("ledger.json", b'{"a":' * 100_000, "not the ledger of an index"),
        ("../pages/train/shard_ledger.json", None, "there is no such object"),
    ],
)
def test_an_index_is_open_if_one_of_its_files_is_lost_or_changed_and_is_mended(
    whole: Mill, name: str, damage: bytes | None, reason: str
) -> None:
    assert why(whole) == ()
    path = f"{INDEX}/{name}".replace("index/../", "")
    before = whole.tree()
    whole.store.delete([path]) if damage is None else whole.store.put(path, damage)
    [first, *_] = why(whole)
    assert reason in first
    index_cache(whole.store, even(), TOKENIZER, {"pages": whole.source()}, KNOWN)
    assert whole.tree() == before
    assert why(whole) == ()


def test_an_index_is_open_if_its_slices_or_its_recipe_would_give_other_files(whole: Mill) -> None:
    assert why(whole, "2025") == ("token_caches/even/tiny-1/index/index.json should have another content",)
    heavier = replace(even(), block=4096)
    [reason] = why_cache_open(whole.store, heavier, TOKENIZER, {"pages": whole.source()}, KNOWN)
    assert reason == f"{INDEX}/data.yaml should have another content"


def test_an_index_over_the_same_parts_writes_nothing_anew(whole: Mill) -> None:
    before = whole.stamps()
    index_cache(whole.store, even(), TOKENIZER, {"pages": whole.source()}, KNOWN)
    assert whole.stamps() == before
