import gzip
from itertools import accumulate
from pathlib import Path

import msgspec
import pytest
from steered import collide
from testkit import SNAPSHOT, Mill, make_documents
from wholelake import DOCUMENTS, REVISED, STREAM, WORDS, make_whole, rewrite, table

from gristmill.execution.checks import check_blocklist, check_row_alignment, check_stable_ids, check_unique_ids
from gristmill.lake.rows.blocklists.blocklist import Blocklist


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Mill:
    """A lake that no test changes."""
    return make_whole(tmp_path_factory.mktemp("whole") / "lake")


@pytest.fixture
def spoilt(tmp_path: Path) -> Mill:
    """A lake for a test to spoil."""
    return make_whole(tmp_path / "spoilt")


def test_the_ids_of_a_clean_partition_are_unique(whole: Mill) -> None:
    verdict = check_unique_ids(whole.store, DOCUMENTS, table(whole, DOCUMENTS))
    assert verdict.passed
    assert verdict.metadata == {"shards": 2, "rows": 40}


@pytest.mark.parametrize("bucket", [1, 3, 7, 1 << 24])
def test_an_id_in_two_shards_is_named_with_both_places_however_many_buckets_there_are(mill: Mill, bucket: int) -> None:
    mill.raw("a.jsonl.gz", make_documents(10))
    mill.raw("b.jsonl.gz", make_documents(10, start=9))
    mill.convert_unchecked()
    verdict = check_unique_ids(mill.store, DOCUMENTS, table(mill, DOCUMENTS), bucket)
    assert not verdict.passed
    assert verdict.metadata == {
        "shards": 2,
        "rows": 20,
        "duplicate ids": 1,
        "id": "doc-00009",
        "source": "pages",
        "first shard": "a",
        "first row": 9,
        "second shard": "b",
        "second row": 0,
    }
    assert "'doc-00009'" in verdict.description


def test_an_id_twice_in_one_shard_is_named(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", [*make_documents(3), *make_documents(1, start=1)])
    mill.convert_unchecked()
    verdict = check_unique_ids(mill.store, DOCUMENTS, table(mill, DOCUMENTS))
    assert (verdict.metadata["first row"], verdict.metadata["second row"]) == (1, 3)
    lines = gzip.decompress(mill.store.read(f"sources/pages/raw/{SNAPSHOT}/a.jsonl.gz")).splitlines(keepends=True)
    ends = list(accumulate(map(len, lines)))
    for row in (1, 3):  # a person finds both lines in the raw data
        start, end = ends[row - 1], ends[row] - 1
        assert f"row {row} (a.jsonl.gz, bytes {start}-{end})" in verdict.description


def test_a_set_stands_beside_its_documents(whole: Mill) -> None:
    verdict = check_row_alignment(table(whole, DOCUMENTS), table(whole, WORDS))
    assert verdict.passed
    assert verdict.metadata == {"shards": 2, "rows": 40}


def test_a_set_with_a_shard_too_few_too_many_or_of_other_ids_is_misaligned(whole: Mill) -> None:
    a, b = table(whole, DOCUMENTS)
    other = msgspec.structs.replace(b, ids="0" * 32)
    assert check_row_alignment([a, b], [a]).metadata["found"] == "no such shard"
    assert check_row_alignment([a], [a, b]).metadata["documents"] == "no such shard"
    verdict = check_row_alignment([a, b], [a, other])
    assert not verdict.passed
    assert verdict.metadata["first shard"] == "b"
    assert verdict.metadata["found"] == "20 rows of ids 00000000"
    assert not check_row_alignment([a, b], [a, msgspec.structs.replace(b, rows=19)]).passed


def test_the_ids_of_a_version_stand_in_the_one_before(whole: Mill) -> None:
    verdict = check_stable_ids(whole.store, DOCUMENTS, table(whole, DOCUMENTS), REVISED, table(whole, REVISED))
    assert verdict.passed
    assert verdict.metadata["rows"] == 16


def test_a_new_id_in_a_version_is_named(spoilt: Mill) -> None:
    rows = spoilt.lines(REVISED.shard("b"))
    rewrite(spoilt, REVISED, "b", [*rows[:2], b'{"id":"new","text":"x","source":"pages"}', *rows[2:]])
    verdict = check_stable_ids(spoilt.store, DOCUMENTS, table(spoilt, DOCUMENTS), REVISED, table(spoilt, REVISED))
    assert not verdict.passed
    assert (verdict.metadata["first shard"], verdict.metadata["first row"], verdict.metadata["id"]) == ("b", 2, "new")
    nameless = [msgspec.structs.replace(shard, index="") for shard in table(spoilt, REVISED)]
    documents = [msgspec.structs.replace(shard, index="") for shard in table(spoilt, DOCUMENTS)]
    assert not check_stable_ids(spoilt.store, DOCUMENTS, documents, REVISED, nameless).passed


def test_an_id_that_moved_to_another_shard_is_not_stable(whole: Mill) -> None:
    a, b = table(whole, DOCUMENTS)
    crossed = [msgspec.structs.replace(a, name="b"), msgspec.structs.replace(b, name="a")]
    found = [msgspec.structs.replace(shard, index="") for shard in table(whole, REVISED)]
    assert check_stable_ids(whole.store, DOCUMENTS, [a, b], REVISED, found).passed
    verdict = check_stable_ids(whole.store, DOCUMENTS, [crossed[0]], REVISED, found)
    assert not verdict.passed
    assert verdict.metadata["first shard"] == "a"


def test_a_blocked_id_is_named_with_its_list_and_reason(whole: Mill) -> None:
    lists = [
        Blocklist("evals", {("pages", "doc-00007"): "x"}),
        Blocklist("takedowns", {("pages", "doc-00028"): "asked"}),
    ]
    verdict = check_blocklist(whole.store, STREAM, table(whole, STREAM), lists)
    assert not verdict.passed
    assert (verdict.metadata["first shard"], verdict.metadata["first row"]) == ("b", 1)
    assert verdict.metadata["blocklist"] == "takedowns"
    assert "asked" in verdict.description


def test_a_list_of_strangers_is_respected_and_says_what_was_compared(whole: Mill) -> None:
    strangers = [Blocklist("takedowns", {("else", "doc-00028"): "x", ("pages", "doc-00007"): "y"})]
    verdict = check_blocklist(whole.store, STREAM, table(whole, STREAM), strangers)
    assert verdict.passed
    assert verdict.metadata == {"shards": 2, "rows": 8, "blocked ids": 2}
    assert check_blocklist(whole.store, STREAM, table(whole, STREAM), []).passed


def test_ids_that_only_share_half_a_hash_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collide(monkeypatch)
    mill = make_whole(tmp_path / "lake")
    stream, revised = table(mill, STREAM), table(mill, REVISED)
    assert check_unique_ids(mill.store, STREAM, stream).passed
    assert check_stable_ids(mill.store, REVISED, revised, STREAM, stream).passed
    assert not check_stable_ids(mill.store, STREAM, stream, REVISED, revised).passed
    stranger, known = ("pages", "doc-00005"), ("pages", "doc-00028")
    assert check_blocklist(mill.store, STREAM, stream, [Blocklist("evals", {stranger: "x"})]).passed
    verdict = check_blocklist(mill.store, STREAM, stream, [Blocklist("evals", {stranger: "x", known: "y"})])
    assert (verdict.passed, verdict.metadata["id"], verdict.metadata["first row"]) == (False, "doc-00028", 1)


def test_an_id_that_occurs_twice_among_half_alike_hashes_is_named(mill: Mill, monkeypatch: pytest.MonkeyPatch) -> None:
    collide(monkeypatch)
    mill.raw("a.jsonl.gz", [*make_documents(5), *make_documents(1, start=3)])
    mill.convert_unchecked()
    verdict = check_unique_ids(mill.store, DOCUMENTS, table(mill, DOCUMENTS))
    assert (verdict.metadata["id"], verdict.metadata["first row"], verdict.metadata["second row"]) == (
        "doc-00003",
        3,
        5,
    )
