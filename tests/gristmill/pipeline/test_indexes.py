import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from testkit import SNAPSHOT, Mill
from wholelake import TOKENIZER, even, make_whole

from gristmill.errors import DataError
from gristmill.pipeline.indexes import MixIndexes

MIX, CACHE = "mixes/even/index", "token_caches/even/tiny-1/index"
NEVER = "it has no ledger: an earlier Gristmill made it, or the ledger was lost"


@pytest.fixture
def whole(tmp_path: Path) -> Mill:
    """The cache has its index, the mix has none."""
    return make_whole(tmp_path / "lake")


def indexes(mill: Mill, **options: Any) -> MixIndexes:
    return MixIndexes(replace(even(), **options), [TOKENIZER], {"pages": mill.source()}, {"pages": [SNAPSHOT]})


def test_only_the_indexes_that_the_lake_lacks_are_written(whole: Mill) -> None:
    every = indexes(whole)
    assert every.addresses == [MIX, CACHE]
    assert every.why_open(whole.store, MIX) == ("never made",)
    assert every.why_open(whole.store, CACHE) == ()
    assert every.close(whole.store) == {MIX: ("never made",)}
    before = whole.stamps()
    assert every.close(whole.store) == {}
    assert whole.stamps() == before


def test_an_index_without_its_ledger_is_written_again_with_the_same_bytes(whole: Mill) -> None:
    every = indexes(whole)
    every.close(whole.store)
    before = whole.tree()
    whole.store.delete([f"{CACHE}/ledger.json"])
    assert every.close(whole.store) == {CACHE: (NEVER,)}
    assert whole.tree() == before


def test_the_index_of_a_cache_records_how_training_reads_its_streams(whole: Mill) -> None:
    tokens = json.loads(whole.store.read(f"{CACHE}/mixture.json"))["total"]
    every = indexes(whole, token_budget=5 * tokens, temperature=0.3)
    [why] = every.why_open(whole.store, CACHE)
    assert "mixture.json" in why
    every.close(whole.store)
    assert json.loads(whole.store.read(f"{CACHE}/mixture.json")) == {
        "total": 5 * tokens,
        "streams": [
            {
                "stream": "pages",
                "tokens": tokens,
                "share": 1.0,
                "read": 5 * tokens,
                "rate": 1.0,
                "epochs": 5.0,
                "short": 0,
            }
        ],
    }
    assert json.loads(whole.store.read(f"{CACHE}/data.yaml"))["train_weights"] == {"pages": 1.0}
    assert every.why_open(whole.store, CACHE) == ()
    assert every.warnings(whole.store, MIX) == ()
    assert every.warnings(whole.store, CACHE) == ("stream 'pages' is read 5 times; more than 4 times teaches little",)


def test_the_index_of_a_cache_has_tokens_by_licence_and_language_once_a_source_declares_them(whole: Mill) -> None:
    every = indexes(whole)
    declared = replace(every.sources["pages"], licence="CC-BY-4.0", language="en")
    every = replace(every, sources={"pages": declared})
    [why] = every.why_open(whole.store, CACHE)
    assert "mixture.json" in why
    every.close(whole.store)
    found = json.loads(whole.store.read(f"{CACHE}/mixture.json"))
    assert (found["licences"], found["languages"]) == ({"CC-BY-4.0": found["total"]}, {"en": found["total"]})


def test_a_mix_whose_index_fails_has_no_mixture(whole: Mill) -> None:
    every = indexes(whole)
    every.close(whole.store)
    whole.store.delete([f"{MIX}/ledger.json", f"{CACHE}/ledger.json", f"{CACHE}/mixture.json"])
    head = f"mixes/even/ledgers/pages/{SNAPSHOT}.json"
    none = json.loads(whole.store.read(head))
    none["totals"]["rows"] = 0
    whole.store.put(head, json.dumps(none).encode())
    with pytest.raises(DataError, match="stream 'pages': keeps no row"):
        every.write(whole.store, CACHE)
    assert whole.store.head(f"{CACHE}/mixture.json") is None


def test_a_budget_that_cannot_be_met_writes_no_index_unless_a_slice_is_missing(whole: Mill) -> None:
    streams = tuple(replace(stream, most_epochs=2.0) for stream in even().streams)
    every = indexes(whole, streams=streams, token_budget=1_000_000)
    with pytest.raises(DataError, match=r"the budget cannot be met: stream 'pages' is short of .* larger most_epochs"):
        every.why_open(whole.store, CACHE)
    waiting = replace(every, known={"pages": [SNAPSHOT, "2025"]})
    waiting.write(whole.store, CACHE)
    assert "is short of" in waiting.warnings(whole.store, CACHE)[0]
