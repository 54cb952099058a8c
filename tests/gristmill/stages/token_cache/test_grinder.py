import os
from pathlib import Path

import pytest
from talklake import BYTES, TEMPLATE, build, mix_of, row, started, talk
from testkit import SHELVES, SNAPSHOT, Mill, make_documents
from wholelake import CACHE, even, make_cache, make_whole, reseal_shard, table

from gristmill.lake.address import cache_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Ledger
from gristmill.recipes.row_format import Chat, Text
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.verification.audit import audit_reencoding


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


def test_a_part_of_an_earlier_version_is_made_again_rather_than_copied_uncounted(tmp_path: Path) -> None:
    rows = [row(number, talk("Hi", "x" * (number + 1))) for number in range(8)]
    mill = started(tmp_path / "lake", *rows)
    mix = mix_of(Chat(chat_template=TEMPLATE), parts=1, validation=0.3)
    build(mill, mix)
    here = place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT)
    [part] = read_ledger(mill.store, here)[1]
    bare = {name: {key: old[key] for key in ("content", "ranges")} for name, old in part.extra["shards"].items()}
    reseal_shard(mill, here, part.name, extra={**part.extra, "shards": bare})
    assert audit_reencoding(mill.store, here.ledger, 1, mill.said.append) == []
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
