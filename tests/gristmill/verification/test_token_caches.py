import pytest
from lies import Lie, audit, check_found, edit, part_object
from testkit import SHELVES, SNAPSHOT, Mill
from wholelake import CACHE, even, flip, make_cache, reseal_shard, table

from gristmill.stages.mixing.step import stream_step

LIES: dict[str, Lie] = {
    "a token object flipped": (
        lambda m: flip(m, part_object(m, "data/c/0"), 40),
        "input_ids/data/c/0",
        None,
        "its sha256 is",
    ),
    "a token object that is gone": (
        lambda m: m.store.delete([part_object(m, "offsets/zarr.json")]),
        "offsets/zarr.json",
        None,
        "there is no such object",
    ),
    "a stray in a part": (
        lambda m: m.store.put(part_object(m, "data/c/0") + "x", b"x"),
        "data/c/0x",
        None,
        "no ledger names this object",
    ),
    "a merged ledger that tells of another part": (
        lambda m: edit(m, f"{CACHE.asset}/train/shard_ledger.json", b"2024/part-", b"2024/port-"),
        f"{CACHE.asset}/train/shard_ledger.json",
        None,
        "",
    ),
    "a tokenizer that changed": (
        lambda m: edit(m, "tokenizers/tiny-1/tokenizer.json", b"true", b"false"),
        "tokenizers/tiny-1/tokenizer.json",
        None,
        "its sha256 is",
    ),
    "a tokenizer that lost a file": (
        lambda m: m.store.delete(["tokenizers/tiny-1/tokenizer_config.json"]),
        "tokenizers/tiny-1/tokenizer_config.json",
        None,
        "no such object",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found_and_named(whole: Mill, lie: str) -> None:
    check_found(whole, *LIES[lie])


def test_tokens_that_are_others_than_the_ledger_says_are_found_after_everything_else_agrees(whole: Mill) -> None:
    reseal_shard(whole, CACHE, table(whole, CACHE)[0].name, content="0")
    found, _ = audit(whole)
    assert found[0].path == CACHE.table
    assert "its content digest is" in found[0].what


def test_a_part_that_was_copied_when_one_shard_changed_is_proven(whole: Mill) -> None:
    whole.raw(
        "b.jsonl.gz",
        [
            {"id": f"doc-{n}", "text": "two words", "source": "pages", "metadata": {"number": n, "language": "en"}}
            for n in (40, 44)
        ],
    )
    whole.convert()
    whole.tag("words-1", "characters-1")
    whole.revise()
    whole.make(stream_step(even(), "pages", SNAPSHOT, SHELVES))
    make_cache(whole)
    assert audit(whole)[0] == []
