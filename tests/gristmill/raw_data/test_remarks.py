"""What is told of raw data with which nothing is wrong."""

from dataclasses import replace

import pytest
from testkit import Mill, make_documents

from gristmill.lake.store.protocol import Entry
from gristmill.raw_data.remarks import raw_remarks
from gristmill.raw_data.scan import RawScan, Seen, scan_raw
from gristmill.raw_data.snapshots import Stray, raw_snapshots
from gristmill.recipes.source import Everything, Hashed, OneToOne, Source

RAW = "sources/pages/raw/"


def told(mill: Mill, source: Source | None = None) -> list[str]:
    found: list[str] = []
    wrong: list[Stray] = []
    raw_snapshots(mill.lake, source or mill.source(), wrong.append, lambda note: found.append(str(note)))
    assert wrong == []
    return found


def put(mill: Mill, *names: str) -> None:
    for name in names:
        mill.store.put(RAW + name, b"")


def test_hidden_files_are_counted_once_and_nothing_else_is_said(mill: Mill) -> None:
    mill.raw_shards(2)
    assert told(mill) == []
    put(mill, "2024/.DS_Store", "2024/._a.jsonl", "2024/sub/Thumbs.db", "__MACOSX/2024/a.jsonl", ".git/config")
    assert told(mill) == [f"{RAW}: 5 hidden files, such as '.git/config': not read, as files of a desktop or an editor"]
    assert mill.convert().totals["rows"] == 20


def test_files_beside_the_snapshots_are_told_with_the_mend(mill: Mill) -> None:
    mill.raw_shards(1)
    put(mill, "a.md", "b.md", ".DS_Store")
    hidden, loose = told(mill)
    assert hidden.startswith(f"{RAW}: 1 hidden file, '.DS_Store': not read")
    assert loose == (
        f"{RAW}: 2 files, such as 'a.md': not read, because in no snapshot; move them into a snapshot's folder,"
        f" {RAW}2024/ say, or give the recipe of 'pages' partition=Everything(), which makes all files one snapshot"
    )
    assert [words.split(":")[1] for words in told(mill, replace(mill.source(), partition=Everything()))] == [
        " 1 hidden file, '.DS_Store'"
    ]


def test_files_that_select_does_not_match_are_counted_by_ending(mill: Mill) -> None:
    mill.raw_shards(1)
    put(mill, "2024/a.rst", "2024/sub/b.rst", "2024/.c.rst")
    _, unread = told(mill, replace(mill.source(), select="jsonl"))
    assert unread == (
        f"{RAW}: 2 files that select does not match (.rst: 2): not read; if they are to be read, change"
        " select='jsonl' in the recipe of 'pages'"
    )
    _, unread = told(mill, replace(mill.source(), select="jsonl|" + "x" * 300))
    assert f"change select='jsonl|{'x' * 70}... in the recipe" in unread


def test_names_with_control_characters_are_read_by_hash_and_told(mill: Mill) -> None:
    mill.raw("a\nb.jsonl", make_documents(1))
    source = replace(mill.source(), shards=Hashed(2))
    assert told(mill, source) == [
        f"{RAW}: 1 name, '2024/a\\nb.jsonl': read, but with a control character in the name; rename what is yours"
    ]


def test_all_names_that_no_shard_can_have_are_counted_and_the_first_is_shown(mill: Mill) -> None:
    for name in ("a%.jsonl", "b%.jsonl", "c%.jsonl", "d.jsonl"):
        mill.raw(name, make_documents(1))
    (held,) = scan_raw(mill.source(), mill.store).held.values()
    assert held.startswith("2024/a%.jsonl: shard 'a%': each part")
    assert held.endswith("rename the raw object; likewise 2 more names in this snapshot")


def scanned(objects: int, size: int) -> RawScan:
    seen = Seen()
    for number in range(objects):
        seen.add(f"2024/{number}.md", Entry(f"{number}.md", size, "etag"))
    return RawScan(seen={"2024": seen}, whole=True)


@pytest.mark.parametrize(
    ("objects", "size", "rule", "words"),
    [
        (2000, 5_000, OneToOne(), ""),
        (2001, 5_000, Hashed(4), ""),
        (2001, 256 << 10, OneToOne(), ""),
        (
            2001,
            5_000,
            OneToOne(),
            "2,001 objects of 5,000 bytes on average would become as many shards; shards=Hashed(16)",
        ),
        (40_000, 200_000, OneToOne(), "40,000 objects of 200,000 bytes on average would become as many shards;"),
    ],
)
def test_many_small_objects_ask_for_few_shards(
    mill: Mill, objects: int, size: int, rule: OneToOne | Hashed, words: str
) -> None:
    source = replace(mill.source(), shards=rule)
    found = list(raw_remarks(source, scanned(objects, size), mill.store, RAW))
    assert [words in each for each in found] == ([True] if words else [])
    if objects == 40_000:
        assert "shards=Hashed(30)" in found[0]  # 8 GB in shards of 256 MiB


def test_what_was_made_is_not_asked_to_be_made_otherwise(mill: Mill) -> None:
    assert len(list(raw_remarks(mill.source(), scanned(2001, 9), mill.store, RAW))) == 1
    mill.raw_shards(1)
    mill.convert()
    assert list(raw_remarks(mill.source(), scanned(2001, 9), mill.store, RAW)) == []
