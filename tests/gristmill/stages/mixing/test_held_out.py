"""Rows that are held out by a key, from the mix to the token cache and the export."""

from pathlib import Path

import pytest
from exported import export, step_of
from hostlake import is_held, mix_of, rows, start
from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.errors import DataError
from gristmill.formats.levanter.cache import CacheReader, range_reader_of_store
from gristmill.lake.address import Place, cache_asset, place
from gristmill.lake.ledger.files import read_head, read_ledger
from gristmill.recipes.mix import Mix
from gristmill.recipes.tokenizer import Tokenizer, Training
from gristmill.stages.mixing.held_out import HELD_OUT, check_divided, check_one_key, held_out_row_flags
from gristmill.stages.mixing.index import current_mix_index, write_mix_index
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.stages.tokenization.training import make_tokenizer
from gristmill.verification.audit import audit_ledger

TOKENIZER = Tokenizer(name="bytes-1", training=Training(mix="blend", snapshots={"pages": (SNAPSHOT,)}, vocabulary=258))
CACHE = place(cache_asset("blend", "bytes-1", "pages"), SNAPSHOT)


@pytest.fixture
def keyed(tmp_path: Path) -> Mill:
    return start(tmp_path, mix_of())


def cached(mill: Mill, mix: Mix) -> None:
    mill.make(TokenCacheStep(mix, "pages", TOKENIZER, SNAPSHOT, SHELVES))


def audited(mill: Mill, *places: Place) -> list[str]:
    return [str(each) for at in places for each in audit_ledger(mill.store, at.ledger, mill.said.append)]


def held_ids(mill: Mill) -> set[str]:
    found = set()
    for name, shard in mill.table(mill.stream()).items():
        flags = held_out_row_flags(shard)
        assert flags is not None
        found |= {id_ for id_, flag in zip(mill.ids(mill.stream(), name), flags, strict=True) if flag}
    return found


def test_all_documents_of_a_host_are_on_one_side_and_others_are_drawn_one_by_one(keyed: Mill) -> None:
    every = [*rows(0, 20), *rows(20, 10)]
    expected = {row["id"] for row in every if is_held(row)}
    sides = {row["metadata"]["host"]: is_held(row) for row in every if row["metadata"]}
    assert set(sides.values()) == {True, False}
    assert held_ids(keyed) == expected
    head = read_head(keyed.store, keyed.stream())
    assert head is not None
    assert (head.totals["held out"], head.totals["held-out key is null"]) == (len(expected), 5)


def test_the_cache_and_the_export_divide_as_the_mix_says(keyed: Mill) -> None:
    make_tokenizer(keyed.store, TOKENIZER, keyed.said.append)
    cached(keyed, mix_of())
    expected = held_ids(keyed)
    head, parts = read_ledger(keyed.store, CACHE)
    assert head.totals["validation rows"] == len(expected)
    assert head.recipe.parameters["validation_key"] == ["metadata.host", "VARCHAR"]
    folders = [part.extra["folders"]["validation"].rstrip("/") for part in parts]
    assert sum(CacheReader(range_reader_of_store(keyed.store), folder).rows for folder in folders) == len(expected)
    export(keyed, mix_of())
    _, exported = read_ledger(keyed.store, place(step_of().asset, SNAPSHOT))
    assert {part.name for part in exported} == {"a", "b"}
    assert audited(keyed, keyed.stream(), CACHE, place(step_of().asset, SNAPSHOT)) == []


def test_another_share_makes_the_caches_of_the_changed_shards_due_though_no_byte_changed(keyed: Mill) -> None:
    make_tokenizer(keyed.store, TOKENIZER, keyed.said.append)
    cached(keyed, mix_of())
    before, more = read_head(keyed.store, keyed.stream()), mix_of(validation=0.95)
    with pytest.raises(DataError, match=r"held out by metadata.host, a share of 0.5; make this slice again"):
        cached(keyed, more)
    keyed.make(stream_step(more, "pages", SNAPSHOT, SHELVES))
    after = read_head(keyed.store, keyed.stream())
    assert before is not None
    assert after is not None
    assert before.fingerprint != after.fingerprint
    cached(keyed, more)
    assert read_ledger(keyed.store, CACHE)[0].totals["validation rows"] == len(held_ids(keyed))
    assert audited(keyed, keyed.stream(), CACHE) == []


def test_slices_that_are_held_out_by_different_keys_close_no_index(keyed: Mill) -> None:
    keyed.raw("a.jsonl.gz", rows(30, 5), snapshot="2025")
    keyed.convert(snapshot="2025")
    keyed.make(stream_step(mix_of(validation_key=None), "pages", "2025", SHELVES))
    with pytest.raises(DataError, match=r"by metadata.host, .* by no key: a key could be on both sides"):
        current_mix_index(keyed.store, mix_of(), {"pages": keyed.source()}, {"pages": ["2025", SNAPSHOT]})
    keyed.make(stream_step(mix_of(), "pages", "2025", SHELVES))
    places = [place(keyed.stream().asset, snapshot) for snapshot in ("2025", "2024")]
    check_one_key({"pages": [read_ledger(keyed.store, each)[0] for each in places]})


def test_a_damaged_bitmap_names_the_shard(keyed: Mill) -> None:
    shard = keyed.table(keyed.stream())["a"]
    shard.extra["held"] = "AAAA"
    with pytest.raises(DataError, match="shard a of a mix: a bitmap of rows cannot be read"):
        held_out_row_flags(shard)


def test_a_key_with_one_value_for_all_documents_closes_no_index(tmp_path: Path) -> None:
    mill = Mill(tmp_path)
    mill.raw("a.jsonl.gz", [{**row, "metadata": {"host": "alpha"}} for row in rows(0, 60)])
    mill.convert()
    for share in (0.4, 0.45):  # 24 and 27 documents would be expected
        mix = mix_of(validation=share)
        mill.make(stream_step(mix, "pages", SNAPSHOT, SHELVES))
        with pytest.raises(
            DataError, match=r"mix 'blend': (0|60) of 60 documents are held out .*another validation_key"
        ):
            write_mix_index(mill.store, mix, {"pages": mill.source()}, {"pages": (SNAPSHOT,)})
    assert mill.store.head("mixes/blend/index/index.json") is None


@pytest.mark.parametrize(
    ("share", "totals", "passes"),
    [
        (0.01, {"rows": 2000, HELD_OUT: 0}, False),
        (0.01, {"rows": 1999, HELD_OUT: 0}, True),  # 20 documents are not expected yet
        (0.01, {"rows": 2000, HELD_OUT: 1}, True),
        (0.01, {"rows": 2000, HELD_OUT: 1000}, True),
        (0.01, {"rows": 2000, HELD_OUT: 1001}, False),
        (0.4, {"rows": 2000, HELD_OUT: 1600}, True),
        (0.4, {"rows": 2000, HELD_OUT: 1601}, False),
        (0.9, {"rows": 2000, HELD_OUT: 1999}, True),
        (0.9, {"rows": 2000, HELD_OUT: 2000}, False),
        (0.01, {"rows": 2000}, True),  # drawn one by one: mixing does not count them
    ],
)
def test_a_mix_with_many_documents_has_some_on_both_sides(
    share: float, totals: dict[str, int], *, passes: bool
) -> None:
    if passes:
        check_divided("blend", share, totals)
    else:
        with pytest.raises(DataError, match="documents are held out"):
            check_divided("blend", share, totals)
