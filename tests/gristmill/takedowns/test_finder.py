"""What a takedown finds in slices that hold out documents by a key, and how it tells of shards that have changed."""

from pathlib import Path

from exported import export
from hostlake import mix_of, rows, start
from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.recipes.tokenizer import Tokenizer, Training
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.stages.tokenization.training import make_tokenizer
from gristmill.takedowns.finder import Finder
from gristmill.takedowns.places import Search
from gristmill.takedowns.wanted import Wanted
from gristmill.tracing.raw import Shelves

TOKENIZER = Tokenizer(name="bytes-1", training=Training(mix="blend", snapshots={"pages": (SNAPSHOT,)}, vocabulary=258))
EVERY = ("d3", "d4", "d25")


def trained(root: Path) -> Mill:
    """A lake with a token cache and an export of a mix that is held out by hosts."""
    mill = start(root, mix_of())
    make_tokenizer(mill.store, TOKENIZER, mill.said.append)
    mill.make(TokenCacheStep(mix_of(), "pages", TOKENIZER, SNAPSHOT, SHELVES))
    export(mill, mix_of())
    return mill


def searched(mill: Mill) -> Search:
    return Finder(mill.store, Wanted({("pages", each): "" for each in EVERY}), Shelves(("testshelf",), {})).run()


def test_token_caches_and_exports_of_a_mix_with_a_held_out_key_are_searched(tmp_path: Path) -> None:
    search = searched(trained(tmp_path))
    assert search.unsearched == []
    for area in ("mixes", "token caches", "exports"):
        assert sorted(each.id for each in search.found if each.area == area) == sorted(EVERY)


def test_all_changed_shards_of_a_partition_are_one_line(tmp_path: Path) -> None:
    mill = trained(tmp_path)
    mill.raw("a.jsonl.gz", [{**row, "text": "another"} for row in rows(0, 20)])
    mill.raw("b.jsonl.gz", [{**row, "text": "another"} for row in rows(20, 10)])
    mill.convert()
    mill.make(stream_step(mix_of(), "pages", SNAPSHOT, SHELVES))
    cache = f"token_caches/blend/bytes-1/pages ({SNAPSHOT})"
    lines = [each.what for each in searched(mill).unsearched if each.area == "token caches"]
    assert lines == [
        f"{cache}: made from another version of 2 shards, such as a, so its documents are not known; make it again"
    ]
