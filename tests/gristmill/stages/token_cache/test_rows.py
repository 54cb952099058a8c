from pathlib import Path

import numpy as np
import pytest
from talklake import TEMPLATE, TROUBLED, build, mix_of, started
from testkit import SNAPSHOT

from gristmill.errors import DataError
from gristmill.lake.address import cache_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.rows.bitmap import unpack_bits
from gristmill.recipes.row_format import Chat, OnTrouble
from gristmill.stages.token_cache.rows import CacheRows, RowError, apply_error_policy


@pytest.mark.slow
def test_rows_in_trouble_are_dropped_and_counted_where_the_recipe_says_so(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", *TROUBLED)
    made = build(mill, mix_of(Chat(chat_template=TEMPLATE, on_trouble="drop"), parts=1, validation=0.5))
    assert made.dropped == {"no assistant turn": 1, "no messages": 2, "undefined template variable": 1}
    assert made.totals["rows"] == 2
    [part] = read_ledger(mill.store, place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT))[1]
    shards = part.extra["shards"]
    assert {name: shard["dropped"] for name, shard in shards.items()} == {"a": [1, 2], "b": [0, 2]}
    held = {name: unpack_bits(shard["held"], 3).tolist() for name, shard in shards.items()}
    counts = {name: shard["ranges"]["validation"][1] for name, shard in shards.items()}
    assert {name: sum(flags) for name, flags in held.items()} == counts
    assert not held["a"][1]
    assert not held["b"][0]


def test_a_row_in_trouble_stops_its_shard_and_is_named(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", *TROUBLED)
    with pytest.raises(DataError, match=r"a\.jsonl\.gz: row 1: no assistant turn: .*on_trouble='drop'"):
        build(mill, mix_of(Chat(chat_template=TEMPLATE), parts=1))


@pytest.mark.parametrize(
    ("policy", "stays"), [("keep", [True, True, False, False]), ("drop", [True, False, False, False])]
)
def test_a_row_stays_only_if_none_of_its_errors_drops_it(policy: OnTrouble, stays: list[bool]) -> None:
    troubles = [
        RowError(1, "usable", ""),
        RowError(2, "not usable", "", keepable=False),
        RowError(3, "a: not usable", "", keepable=False),
        RowError(3, "b: usable", ""),
    ]
    lengths = np.ones(4, np.int64)
    rows = CacheRows({"input_ids": (np.arange(4), lengths)}, troubles, lengths)
    settled = apply_error_policy(rows, 4, policy, "a", 0)
    assert settled.stays.tolist() == stays
    assert settled.fields["input_ids"][0].tolist() == [n for n in range(4) if stays[n]]
