import hashlib
import json
import os
from pathlib import Path

import pytest
from talklake import BYTES, TEMPLATE, build, mix_of, row, started, talk
from testkit import SHELVES, SNAPSHOT, Meanwhile, Mill, make_documents
from wholelake import CACHE, even, make_cache, make_whole, reseal_shard, table

from gristmill.errors import DataError, StoreError
from gristmill.execution.runner import Inline
from gristmill.execution.step import grind, plan
from gristmill.lake.address import cache_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Ledger
from gristmill.lake.ledger.shard_sample import ShardSample
from gristmill.lake.rows.bitmap import unpack_bits
from gristmill.recipes.row_format import Chat, Text
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.verification.audit import audit_reencoding


@pytest.mark.slow
def test_a_changed_shard_is_tokenized_alone_and_facts_of_the_others_are_copied(tmp_path: Path) -> None:
    rows = [row(number, talk("Hi", "x" * number)) for number in range(8)]
    mill = started(tmp_path / "lake", *rows)
    mix = mix_of(Chat(chat_template=TEMPLATE, on_trouble="drop"), parts=1, validation=0.3)
    build(mill, mix)
    mill.raw("b.jsonl.gz", [row(number, talk("Ho", "y" * number)) for number in range(4, 8)])
    mill.convert()
    made = build(mill, mix)
    fresh = started(tmp_path / "fresh", *rows[:4], *[row(number, talk("Ho", "y" * number)) for number in range(4, 8)])
    assert made.fingerprint == build(fresh, mix).fingerprint
    assert made.totals == build(fresh, mix).totals
    assert made.dropped == {"no assistant turn": 1}
    here = place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT)
    rows_made = read_ledger(mill.store, here)[1]
    assert rows_made == read_ledger(fresh.store, here)[1]  # who was held out too, which no fingerprint says
    assert all(shard["held"] for shard in rows_made[0].extra["shards"].values())


@pytest.mark.slow
def test_a_part_of_an_earlier_version_is_made_again_rather_than_copied_uncounted(tmp_path: Path) -> None:
    rows = [row(number, talk("Hi", "x" * (number + 1))) for number in range(8)]
    mill = started(tmp_path / "lake", *rows)
    mix = mix_of(Chat(chat_template=TEMPLATE), parts=1, validation=0.3)
    build(mill, mix)
    here = place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT)
    [part] = read_ledger(mill.store, here)[1]
    bare = {name: {key: old[key] for key in ("content", "ranges")} for name, old in part.extra["shards"].items()}
    reseal_shard(mill, here, part.name, extra={**part.extra, "shards": bare})
    assert audit_reencoding(mill.store, here.ledger, ShardSample(1), mill.said.append, set()) == []
    assert "shard b was made by version 0.1; not compared" in mill.said[-2]
    mill.raw("b.jsonl.gz", rows[4:7])
    mill.convert()
    build(mill, mix)
    [part] = read_ledger(mill.store, here)[1]
    assert {name: sum(old["facts"]["lengths"]) for name, old in part.extra["shards"].items()} == {"a": 4, "b": 3}
    assert all(old["held"] for old in part.extra["shards"].values())


ARRAY = "input_ids/data/c/0"


def arrays(mill: Mill) -> list[Path]:
    folder = mill.root / "token_caches/even/tiny-1/pages/train/2024"
    return sorted(folder.glob(f"*/{ARRAY}"))


def flip(path: Path, at: int) -> None:
    """One bit, in place: the size, the inode and the clock stay, as with rot on a disk."""
    status = path.stat()
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def remake(mill: Mill) -> None:
    """Shard `b` gets other documents; everything down to the tokens follows."""
    mill.raw("b.jsonl.gz", make_documents(24, start=20))
    mill.convert()
    mill.tag("words-1", "characters-1")
    mill.revise()
    mill.make(stream_step(even(), "pages", "2024", ("gristmill", "testshelf")))
    make_cache(mill)


def contents(mill: Mill) -> dict[str, str]:
    return {row.name: row.content for row in read_ledger(mill.store, CACHE)[1]}


@pytest.mark.slow
def test_rot_in_the_part_as_it_was_is_not_copied_into_the_next(whole: Mill, tmp_path: Path) -> None:
    clean = make_whole(tmp_path / "clean")
    remake(clean)
    for path in arrays(whole):
        flip(path, 40)
    remake(whole)
    changed = {row.name for row in table(whole, CACHE) if any(i.shard == "b" for i in row.inputs)}
    assert {name: contents(whole)[name] for name in changed} == {name: contents(clean)[name] for name in changed}


def test_rot_under_a_shard_that_did_not_change_is_tokenized_anew(tmp_path: Path) -> None:
    rows = [row(number, {}, "x" * (number + 50)) for number in range(6)]
    others = [row(number, {}, "y" * (number + 50)) for number in range(3, 6)]
    mix = mix_of(Text(), parts=1)

    def build(mill: Mill) -> Ledger:
        mill.make(stream_step(mix, "pages", "2024", SHELVES))
        return mill.make(TokenCacheStep(mix, "pages", BYTES, "2024", SHELVES))

    mill = started(tmp_path / "lake", *rows)
    build(mill)
    [path] = (mill.root / "token_caches/talk/bytes-1/pages/train/2024").glob(f"*/{ARRAY}")
    flip(path, 40)
    mill.raw("b.jsonl.gz", others)  # shard `a` stays: its ids would be copied
    mill.convert()
    assert build(mill).fingerprint == build(started(tmp_path / "fresh", *rows[:3], *others)).fingerprint


@pytest.mark.parametrize("harm", ["gone", "flipped", "header"])
def test_a_damaged_part_is_made_again_with_the_same_bytes(whole: Mill, harm: str) -> None:
    before = whole.tree()
    path = arrays(whole)[0]
    if harm == "gone":
        path.unlink()
    else:
        data = bytearray(path.read_bytes())
        data[40 if harm == "flipped" else 0] ^= 1
        path.write_bytes(data)
    make_cache(whole)
    assert whole.tree() == before


HERE = place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT)


def test_a_part_whose_objects_are_gone_is_not_copied_and_stops_no_run(tmp_path: Path) -> None:
    rows = [row(number, {}, "x" * (number + 50)) for number in range(4)]
    mill, mix = started(tmp_path / "lake", *rows), mix_of(Text(), parts=1)
    build(mill, mix)
    [part] = read_ledger(mill.store, HERE)[1]
    mill.store.delete([path for path in part.extra["objects"] if path.endswith(ARRAY)])
    mill.raw("b.jsonl.gz", rows[3:])
    mill.convert()
    assert build(mill, mix).totals["rows"] == 3


def test_the_part_that_was_stays_until_nobody_names_it(tmp_path: Path) -> None:
    rows = [row(number, {}, "x" * (number + 50)) for number in range(4)]
    mill, mix = started(tmp_path / "lake", *rows), mix_of(Text(), parts=1)
    build(mill, mix)
    [before] = read_ledger(mill.store, HERE)[1]
    mill.raw("b.jsonl.gz", rows[3:])
    mill.convert()
    build(mill, mix)
    assert [path for path in before.extra["objects"] if mill.store.head(path) is None] == []


def test_a_tokenizer_that_changed_since_the_plan_is_a_store_error(tmp_path: Path) -> None:
    mill, mix = started(tmp_path / "lake", row(0, {}), row(1, {})), mix_of(Text())

    def retrain() -> None:
        data = mill.store.read("tokenizers/bytes-1/tokenizer.json") + b"\n"
        ledger = json.loads(mill.store.read("tokenizers/bytes-1/ledger.json"))
        ledger["fingerprint"] = ledger["files"]["tokenizer.json"] = hashlib.sha256(data).hexdigest()
        mill.store.put("tokenizers/bytes-1/tokenizer.json", data)
        mill.store.put("tokenizers/bytes-1/ledger.json", json.dumps(ledger).encode())

    with pytest.raises(StoreError, match="tokenizer bytes-1: changed since this run was planned"):
        mill.make(TokenCacheStep(mix, "pages", BYTES, SNAPSHOT, SHELVES), Meanwhile(retrain))


@pytest.mark.slow
def test_rows_that_are_dropped_in_a_later_block_have_their_numbers_in_the_shard(tmp_path: Path) -> None:
    said = [talk("Hi", "Hello"), talk("Hi", "Ho"), {"messages": None}, talk("Hi", "Hu")]
    rows = [row(number, turns, "x" * (3 << 20)) for number, turns in enumerate(said)]
    mill = started(tmp_path / "lake", *rows[:1])
    mill.raw("a.jsonl.gz", rows)
    mill.raw("b.jsonl.gz", [])
    mill.convert()
    build(mill, mix_of(Chat(chat_template=TEMPLATE, on_trouble="drop"), parts=1, validation=0.999))
    [part] = read_ledger(mill.store, HERE)[1]
    assert part.extra["shards"]["a"]["dropped"] == [2]
    held = unpack_bits(part.extra["shards"]["a"]["held"], 4).tolist()
    assert held == [True, True, False, True]  # a row that was dropped is in no split


def test_a_forced_rebuild_tokenizes_what_it_could_copy(tmp_path: Path) -> None:
    mill, mix = started(tmp_path / "lake", row(0, {}), row(1, {})), mix_of(Text(), parts=1)
    build(mill, mix)
    planned = plan(TokenCacheStep(mix, "pages", BYTES, SNAPSHOT, SHELVES), mill.lake, "forced", force=True)
    facts = grind(planned, Inline(), mill.said.append).facts
    assert (facts["shards tokenized"], facts["shards copied"]) == (2, 0)


@pytest.mark.slow
def test_another_recipe_makes_parts_of_other_names_and_copies_nothing(tmp_path: Path) -> None:
    rows = [row(number, {}, "x" * (number + 1)) for number in range(20)]
    mill = started(tmp_path / "lake", *rows)
    build(mill, mix_of(Text(), parts=1))
    [before] = read_ledger(mill.store, HERE)[1]
    mill.raw("b.jsonl.gz", rows[15:])  # shard `a` stays: its ids would be copied
    mill.convert()
    made = build(mill, mix_of(Text(), parts=1, validation=0.999))
    [after] = read_ledger(mill.store, HERE)[1]
    assert (made.totals["validation rows"], made.totals["train rows"]) == (15, 0)
    assert set(before.extra["objects"]) & set(after.extra["objects"]) == set()
    assert [each.asset for each in after.inputs] == ["mixes/talk/documents/pages"] * 2 + ["tokenizers/bytes-1"]


@pytest.mark.slow
def test_a_shard_whose_rows_are_all_in_trouble_fails_by_name(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", *(row(number, talk("So?", "So.")) for number in range(4)))
    typo = TEMPLATE.replace("m.content", "m.contnet | upper")
    chat = Chat(chat_template=typo, on_trouble="drop", undefined="levanter")
    words = (
        r"a\.jsonl\.gz: all 2 rows have an error and would be dropped \(2 for '[a-z ]+'\);"
        r" mend the stream's format, such as its chat template"
    )
    with pytest.raises(DataError, match=words):
        build(mill, mix_of(chat, parts=1))
    good = Chat(chat_template=TEMPLATE, on_trouble="drop")
    assert build(mill, mix_of(good, parts=1)).totals["train rows"] == 4
