import dataclasses
import hashlib
import re
from pathlib import Path

import msgspec
import pytest
from lies import Lie, audit, check_found, edit, part_object
from talklake import BYTES, build, mix_of, row, started
from testkit import SHELVES, SNAPSHOT, Mill
from wholelake import CACHE, even, flip, make_cache, reseal_shard, table

from gristmill.formats.levanter.cache_ledger import LEDGER_NAME
from gristmill.lake.address import cache_asset, place
from gristmill.lake.ledger.files import as_json, compose_ledger, pack_table, read_ledger
from gristmill.lake.store.protocol import Store
from gristmill.recipes.row_format import Text
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.part import part_records
from gristmill.stages.token_cache.step import TokenCachePlan, TokenCacheStep
from gristmill.stages.tokenization.files import ledger_path, read_tokenizer_ledger
from gristmill.verification.token_caches import cache_findings


def shrink_vocabulary(mill: Mill) -> None:
    """The part says of itself that its tokenizer has ten tokens; every digest is made to fit."""
    rewrite(mill, LEDGER_NAME, rb'"vocab_size": \d+', b'"vocab_size": 10')


def other_numbers(mill: Mill) -> None:
    """The part's ids are said to be floating-point numbers; every digest is made to fit."""
    rewrite(mill, "data/zarr.json", rb'"int32"', b'"float32"')


def rewrite(mill: Mill, name: str, old: bytes, new: bytes) -> None:
    part = table(mill, CACHE)[0]
    path = part_object(mill, name)
    data = re.sub(old, new, mill.store.read(path))
    mill.store.put(path, data)
    objects = {**part.extra["objects"], path: [hashlib.sha256(data).hexdigest(), len(data)]}
    changed = msgspec.structs.replace(part, extra={**part.extra, "objects": objects})
    record = part_records([changed])[part.name]
    reseal_shard(mill, CACHE, part.name, extra=changed.extra, sha256=record.sha256, bytes=record.bytes)


def other_chunk_names(mill: Mill) -> None:
    """By its description the chunks have other names: Levanter would read zeros."""
    separator = b'{"name":"default","configuration":{"separator":"."}}'
    rewrite(mill, "data/zarr.json", rb'{"name":"default"}', separator)


def another_object(mill: Mill) -> None:
    """An object that no array of the part has; every digest is made to fit."""
    part = table(mill, CACHE)[0]
    path = part_object(mill, "data/c/0").removesuffix("/0") + ".0"
    mill.store.put(path, b"tokens")
    objects = {**part.extra["objects"], path: [hashlib.sha256(b"tokens").hexdigest(), 6]}
    changed = msgspec.structs.replace(part, extra={**part.extra, "objects": objects})
    record = part_records([changed])[part.name]
    reseal_shard(mill, CACHE, part.name, extra=changed.extra, sha256=record.sha256, bytes=record.bytes)


def another_fingerprint(mill: Mill) -> None:
    """As an attacker would write it: the ledger's own digest fits."""
    ledger = read_tokenizer_ledger(mill.store, "tiny-1")
    assert ledger is not None
    mill.store.put(ledger_path("tiny-1"), as_json(msgspec.structs.replace(ledger, fingerprint="0" * 64).with_digest()))


LIES: dict[str, Lie] = {
    "an id outside of the vocabulary": (shrink_vocabulary, "", None, "an id is not below 10"),
    "ids of another type": (other_numbers, "", None, "its fields are"),
    "chunks under other names": (other_chunk_names, "", None, "no array as Levanter writes it, by chunk_key_encoding"),
    "an object that no array has": (another_object, CACHE.table, None, "another set of objects than its arrays have"),
    "another digest of a part's objects": (
        lambda m: reseal_shard(m, CACHE, table(m, CACHE)[0].name, sha256="0"),
        CACHE.table,
        None,
        ": its sha256 is",
    ),
    "another digest of a part's ids": (
        lambda m: reseal_shard(m, CACHE, table(m, CACHE)[0].name, ids="0"),
        CACHE.table,
        None,
        ": its ids digest is",
    ),
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
    "a tokenizer of another fingerprint": (
        another_fingerprint,
        "tokenizers/tiny-1/ledger.json",
        None,
        "its fingerprint is not the sha256",
    ),
    "a file beside a tokenizer": (
        lambda m: m.store.put("tokenizers/tiny-1/stray.json", b"{}"),
        "tokenizers/tiny-1/stray.json",
        None,
        "no ledger names this object",
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


def test_a_boundary_between_two_shards_of_a_part_is_proven_by_the_tokens(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", *[row(number, {}, "x" * 9) for number in range(4)])
    build(mill, mix_of(Text(), parts=1))
    here = place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT)
    [part] = read_ledger(mill.store, here)[1]
    shards = part.extra["shards"]
    (_, _, _, tokens), (_, _, start, rest) = (shards[name]["ranges"]["train"] for name in "ab")
    moved = {"a": [0, 2, 0, tokens + 1], "b": [2, 2, start + 1, rest - 1]}
    lied = {name: {**shards[name], "ranges": {"train": moved[name]}} for name in "ab"}
    reseal_shard(mill, here, part.name, extra={**part.extra, "shards": lied})
    [found] = cache_findings(mill.store, here, mill.said.append)
    assert f"shard a, rows 0 to 2, has the tokens 0 to {tokens}, in its ledger 0 to {tokens + 1}" in found.what


class Backwards(TokenCacheStep):
    """Tokenizes the shards of each part from the last to the first."""

    def plan(self, store: Store) -> TokenCachePlan:
        plan = super().plan(store)
        bodies = {n: msgspec.structs.replace(body, shards=body.shards[::-1]) for n, body in plan.bodies.items()}
        return dataclasses.replace(plan, bodies=bodies)


def test_shards_in_another_order_than_the_mix_has_are_found(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", *[row(number, {}, f"text {number}") for number in range(4)])
    mix = mix_of(Text(), parts=1)
    mill.make(stream_step(mix, "pages", SNAPSHOT, SHELVES))
    mill.make(Backwards(mix, "pages", BYTES, SNAPSHOT, SHELVES))
    here = place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT)
    told, _ = [found.what for found in cache_findings(mill.store, here, mill.said.append)]
    assert told == "part part-00000, train: shard b is before shard a"


def test_shards_in_other_parts_than_the_recipe_says_are_found(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", *[row(number, {}, f"text {number}") for number in range(4)])
    build(mill, mix_of(Text(), parts=1))
    here = place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT)
    head, [part] = read_ledger(mill.store, here)

    def declare(parts: object) -> list[str]:
        recipe = msgspec.structs.replace(head.recipe, parameters={**head.recipe.parameters, "parts": parts})
        rows = [msgspec.structs.replace(part, recipe=recipe.digest)]
        mill.store.put(here.table, pack_table(rows))
        mill.store.put(here.ledger, as_json(compose_ledger(here, recipe, head.inputs, rows)))
        return [found.what for found in cache_findings(mill.store, here, mill.said.append)]

    assert declare(1) == []
    first, second, folder = declare(3)
    assert [first, second] == [
        "shard a is in part-00000, but of 3 parts it belongs to part-00001",
        "shard b is in part-00000, but of 3 parts it belongs to part-00002",
    ]
    assert folder.startswith("part part-00000: the folder of its train is ")  # its name has the digest of the recipe
    assert declare("4")[0] == "its recipe's number of parts is '4'"
