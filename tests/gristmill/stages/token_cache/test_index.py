from testkit import SNAPSHOT, Mill
from wholelake import CACHE, TOKENIZER, even

from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, load_ledger
from gristmill.stages.mixing.index import index_mix
from gristmill.stages.token_cache.index import index_cache, is_closed

KNOWN = {"pages": [SNAPSHOT]}


def closed(mill: Mill) -> bool:
    return is_closed(mill.store, even(), [TOKENIZER], {"pages": mill.source()}, KNOWN)


def test_the_merged_ledger_names_the_parts_below_it_in_order(whole: Mill) -> None:
    path = f"{CACHE.asset}/train/{LEDGER_NAME}"
    merged = load_ledger(whole.store.read(path), path)
    assert merged["total_num_rows"] == 8
    assert merged["finished_shards"] == sorted(merged["finished_shards"])
    for part, rows in merged["shard_rows"].items():
        below = f"{CACHE.asset}/train/{part}/{LEDGER_NAME}"
        assert load_ledger(whole.store.read(below), below)["total_num_rows"] == rows


def test_a_mix_is_closed_when_its_index_and_those_of_its_caches_are_as_they_would_be_now(whole: Mill) -> None:
    sources = {"pages": whole.source()}
    assert not closed(whole)  # the cache has its index, the mix has none
    index_mix(whole.store, even(), sources, KNOWN)
    assert closed(whole)
    assert not is_closed(whole.store, even(), [TOKENIZER], sources, {"pages": [SNAPSHOT, "2025"]})
    whole.store.delete(["token_caches/even/tiny-1/index/index.json"])
    assert not closed(whole)


def test_an_index_over_the_same_parts_writes_nothing_anew(whole: Mill) -> None:
    before = whole.stamps()
    index_cache(whole.store, even(), TOKENIZER, {"pages": whole.source()}, KNOWN)
    assert whole.stamps() == before
