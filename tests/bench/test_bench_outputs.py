import gzip
import json
from pathlib import Path
from typing import Any

from bench.inputs.corpus import texts, write_raw
from bench.stages.memory import write_shard
from bench.stages.one_changed import ASSETS, CACHE, DOCUMENTS, beyond, change
from bench.taggers.compare import compare
from gristmill.lake.ledger.model import Shard


def attributes(folder: Path, *rows: dict[str, Any], prefix: str = "ours__") -> Path:
    folder.mkdir()
    with gzip.open(folder / "a.jsonl.gz", "wt") as sink:
        for number, row in enumerate(rows):
            named = {f"{prefix}{label}": spans for label, spans in row.items()}
            sink.write(json.dumps({"id": f"doc-{number}", "attributes": named}) + "\n")
    return folder


def shard(name: str, content: str, extra: dict[str, Any] | None = None) -> Shard:
    return Shard(
        name=name,
        rows=1,
        bytes=1,
        length=1,
        sha256="",
        content=content,
        ids="",
        recipe="",
        inputs=(),
        extra=extra or {},
    )


def test_the_corpus_is_the_same_every_time(tmp_path: Path) -> None:
    size = write_raw(tmp_path / "one", 2, 3_000)
    write_raw(tmp_path / "two", 2, 3_000)
    files = ["shard-0000.jsonl", "shard-0001.jsonl"]
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == files
    contents = [(tmp_path / "one" / name).read_bytes() for name in files]
    assert contents == [(tmp_path / "two" / name).read_bytes() for name in files]
    assert contents[0] != contents[1]
    assert size >= 6_000


def test_the_large_shard_has_different_ids_and_texts_throughout(tmp_path: Path) -> None:
    written = write_shard(tmp_path / "raw" / "large.jsonl.gz", 30_000, stock=3_000)
    with gzip.open(tmp_path / "raw" / "large.jsonl.gz", "rb") as lines:
        rows = [json.loads(line) for line in lines]
    assert written >= 30_000
    assert len({row["id"] for row in rows}) == len({row["text"] for row in rows}) == len(rows)
    assert len(rows) > len(list(texts(31, 3_000)))


def test_attributes_are_equal_under_other_prefixes_and_without_empty_labels(tmp_path: Path) -> None:
    ours = attributes(tmp_path / "ours", {"words": [[0, 4, 1.0]]}, {})
    theirs = attributes(tmp_path / "theirs", {"words": [[0, 4, 1.0]]}, {"words": []}, prefix="peer__gopher__")
    assert compare([ours], theirs) == (2, "")


def test_a_different_score_is_found_and_named(tmp_path: Path) -> None:
    ours = attributes(tmp_path / "ours", {"words": [[0, 4, 1.0]]}, {"words": [[0, 4, 2.0]]})
    theirs = attributes(tmp_path / "theirs", {"words": [[0, 4, 1.0]]}, {"words": [[0, 4, 3.0]]})
    compared, different = compare([ours], theirs)
    assert compared == 1
    assert different.startswith("a.jsonl.gz: ('doc-1'")


def test_scores_may_differ_by_what_a_comparison_allows(tmp_path: Path) -> None:
    ours = attributes(tmp_path / "ours", {"words": [[0, 4, 1.0]]})
    theirs = attributes(tmp_path / "theirs", {"words": [[0, 4, 1.001]]})
    assert compare([ours], theirs, close=0.01) == (1, "")
    assert compare([ours], theirs, close=0.0001)[1].startswith("a.jsonl.gz: ('doc-0'")


def test_a_missing_row_is_a_difference(tmp_path: Path) -> None:
    ours = attributes(tmp_path / "ours", {}, {})
    theirs = attributes(tmp_path / "theirs", {})
    assert compare([ours], theirs) == (1, "a.jsonl.gz: more rows than the peer has")


def test_a_change_touches_the_first_document_alone(tmp_path: Path) -> None:
    path = tmp_path / "raw.jsonl"
    path.write_bytes(b'{"id":"1","text":"one"}\n{"id":"2","text":"two"}\n')
    change(path)
    assert path.read_bytes() == b'{"id":"1","text":"One sentence more. one"}\n{"id":"2","text":"two"}\n'


def table(asset: str, content_of_b: str) -> dict[str, Shard]:
    if asset == CACHE:
        return {"part-0": shard("part-0", "p", {"shards": {"a": 0}}), "part-1": part(content_of_b)}
    return {"a": shard("a", "same"), "b": shard("b", content_of_b)}


def part(content: str) -> Shard:
    return shard("part-1", content, {"shards": {"b": 0}})


def test_a_change_that_reaches_its_descendants_alone_is_right() -> None:
    before = {asset: table(asset, "old") for asset in ASSETS}
    after = {asset: table(asset, "new") for asset in ASSETS}
    assert beyond(before, after, "b") == []


def test_a_change_that_reaches_another_shard_or_stops_half_way_is_named() -> None:
    before = {asset: table(asset, "old") for asset in ASSETS}
    after = {asset: table(asset, "new") for asset in ASSETS}
    after[DOCUMENTS[0]]["a"] = shard("a", "other")
    after[DOCUMENTS[1]]["b"] = before[DOCUMENTS[1]]["b"]
    assert beyond(before, after, "b") == [
        f"{DOCUMENTS[0]}: a, b changed, not b alone",
        f"{DOCUMENTS[1]}: no shard changed, not b alone",
    ]
