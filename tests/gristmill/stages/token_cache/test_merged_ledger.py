from testkit import Mill
from wholelake import CACHE

from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, load_ledger


def test_the_merged_ledger_names_the_parts_below_it_in_order(whole: Mill) -> None:
    path = f"{CACHE.asset}/train/{LEDGER_NAME}"
    merged = load_ledger(whole.store.read(path), path)
    assert merged["total_num_rows"] == 8
    assert merged["finished_shards"] == sorted(merged["finished_shards"])
    for part, rows in merged["shard_rows"].items():
        below = f"{CACHE.asset}/train/{part}/{LEDGER_NAME}"
        assert load_ledger(whole.store.read(below), below)["total_num_rows"] == rows
