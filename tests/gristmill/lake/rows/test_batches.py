import gzip
import hashlib
import weakref

import msgspec
import pytest

from gristmill.errors import MalformedRow, Misaligned, StoreError
from gristmill.lake.identity import Pair
from gristmill.lake.rows.batches import (
    IdPair,
    RowFeed,
    TextRow,
    check_same_ids,
    decode_rows,
    read_rows,
)
from gristmill.lake.rows.document import Document
from gristmill.lake.store.folder import FolderStore

DECODER = msgspec.json.Decoder(Document)
GOOD = b'{"id":"a","text":"","source":"s"}\n'


@pytest.fixture(autouse=True, params=["as they come", "as huge ones"])
def _size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Huge rows are decoded another way, with the same rows and errors."""
    if request.param == "as huge ones":
        monkeypatch.setattr("gristmill.lake.rows.batches.HUGE", 0)


def test_every_row_of_a_block_is_decoded() -> None:
    assert [row.id for row in decode_rows(DECODER, GOOD * 3, "a", 0)] == ["a", "a", "a"]
    assert decode_rows(DECODER, b"", "a", 0) == []


def test_what_one_decoder_alone_takes_is_taken() -> None:
    row = b'{"id":"a","text":"","source":"s","metadata":{"big":123456789012345678901234567890}}\n'
    assert decode_rows(DECODER, GOOD + row, "a", 0)[1].metadata == {"big": 123456789012345678901234567890}


def test_white_space_around_a_row_is_still_json() -> None:
    assert len(decode_rows(DECODER, b" \t" + GOOD.strip() + b" \r\n" + GOOD, "a", 0)) == 2


@pytest.mark.parametrize(
    "row",
    [
        b"",
        b"   ",
        b"{",
        b"[]",
        b"null",
        GOOD.strip() * 2,
        b'{"id":"a","source":"s"}',
        b'{"id":1.5,"text":"","source":"s"}',
        b'{"id":"a","text":null,"source":"s"}',
        b'{"id":"a","text":"\\ud800","source":"s"}',
        b'{"id":"a","text":"\xff","source":"s"}',
        b'{"id":"a","text":"\x00","source":"s"}',
        b'{"id":"a","text":"","source":"s","metadata":7}',
    ],
)
@pytest.mark.parametrize("behind", [GOOD, b""])
def test_a_row_that_is_none_is_named_with_its_file(row: bytes, behind: bytes) -> None:
    with pytest.raises(MalformedRow, match=r"a\.jsonl\.gz: row 102: "):
        decode_rows(DECODER, GOOD * 2 + row + b"\n" + behind, "a.jsonl.gz", 100)


def test_two_rows_on_one_line_do_not_make_up_for_an_empty_line() -> None:
    with pytest.raises(MalformedRow, match="a: row 0"):
        decode_rows(DECODER, GOOD.strip() * 2 + b"\n\n", "a", 0)


def feed(store: FolderStore, count: int) -> RowFeed:
    store.put("set/a.gz", gzip.compress(b"".join(b"%d\n" % n for n in range(count)), mtime=0))
    return RowFeed(store, "set/a.gz", None)


def test_rows_are_taken_a_number_at_a_time(lake: FolderStore) -> None:
    rows = feed(lake, 5)
    assert rows.next_rows(2, "docs") == [b"0", b"1"]
    assert rows.next_rows(0, "docs") == []
    assert rows.next_rows(3, "docs") == [b"2", b"3", b"4"]
    rows.finish("docs")


def test_a_row_too_few_names_both_files_and_the_row(lake: FolderStore) -> None:
    rows = feed(lake, 5)
    rows.next_rows(3, "docs/a.gz")
    with pytest.raises(Misaligned, match=r"set/a\.gz: ends after 5 rows, but docs/a\.gz has more"):
        rows.next_rows(3, "docs/a.gz")


def test_a_row_too_many_names_both_files_and_the_row(lake: FolderStore) -> None:
    rows = feed(lake, 5)
    rows.next_rows(4, "docs/a.gz")
    with pytest.raises(Misaligned, match=r"set/a\.gz: has a row 4 .*, but docs/a\.gz ends before it"):
        rows.finish("docs/a.gz")


def document(id_: str, source: str = "s") -> Pair:
    return source, id_


def test_other_ids_and_other_sources_are_named_with_their_row() -> None:
    here = [document("a"), document("b"), document("c")]
    assert check_same_ids(here, here, "docs", "set", 10) == 0
    assert check_same_ids(here, [document("a", ""), document("b"), document("c", "")], "docs", "set", 10) == 2
    with pytest.raises(Misaligned, match=r"set: row 11: id 'c' .* but docs has 'b'"):
        check_same_ids(here, [here[0], here[2], here[1]], "docs", "set", 10)
    with pytest.raises(Misaligned, match=r"set: row 12: id 'c' \(source 't'\), but docs has 'c' \(source 's'\)"):
        check_same_ids(here, [here[0], here[1], document("c", "t")], "docs", "set", 10)


class Watched(TextRow, weakref=True):
    """A row that says when nobody holds it any more."""


def shard(lake: FolderStore) -> tuple[str, str]:
    """A shard of two blocks: a row of 5 MiB; one of 3 MiB, and a short one."""
    texts = ("x" * (5 << 20), "y" * (3 << 20), "é")
    lines = [b'{"id":"%d","source":"s","text":"%s","more":1}\n' % (n, text.encode()) for n, text in enumerate(texts)]
    data = gzip.compress(b"".join(lines), mtime=0)
    lake.put("docs/a.gz", data)
    return "docs/a.gz", hashlib.sha256(data).hexdigest()


def test_the_rows_of_a_shard_come_block_by_block_with_their_numbers(lake: FolderStore) -> None:
    found = list(read_rows(lake, *shard(lake), TextRow))
    assert [(first, [row.id for row in rows]) for first, rows in found] == [(0, ["0"]), (1, ["1", "2"])]
    assert found[1][1][1].text == "é"
    assert [row.pair for _, rows in read_rows(lake, "docs/a.gz", None, IdPair) for row in rows] == [
        ("s", "0"),
        ("s", "1"),
        ("s", "2"),
    ]


def test_a_shard_that_is_not_the_one_in_its_ledger_is_an_error_at_its_end(lake: FolderStore) -> None:
    path, _ = shard(lake)
    rows = read_rows(lake, path, "0" * 64, IdPair)
    assert next(rows)[0] == 0
    with pytest.raises(StoreError, match=r"docs/a\.gz: not the object that its ledger names"):
        next(rows)


def test_a_bad_row_of_a_later_block_has_its_number_in_the_shard(lake: FolderStore) -> None:
    lake.put(
        "docs/b.gz", gzip.compress(GOOD.replace(b'""', b'"%s"' % (b"x" * (3 << 20))) * 2 + b'{"id":"no"}\n', mtime=0)
    )
    with pytest.raises(MalformedRow, match=r"docs/b\.gz: row 2: .*missing required field `source`"):
        list(read_rows(lake, "docs/b.gz", None, IdPair))


def test_rows_that_the_caller_lets_go_are_held_by_nobody(lake: FolderStore) -> None:
    reader = read_rows(lake, *shard(lake), Watched)
    for _, rows in reader:
        held = weakref.ref(rows[0])
        del rows
        assert held() is None


def test_a_whole_block_too_many_is_noticed(lake: FolderStore) -> None:
    lake.put("set/a.gz", gzip.compress((b"x" * (5 << 20) + b"\n") * 2, mtime=0))
    rows = RowFeed(lake, "set/a.gz", None)
    assert len(rows.next_rows(1, "docs")) == 1
    with pytest.raises(Misaligned, match=r"set/a\.gz: has a row 1 .*, but docs ends before it"):
        rows.finish("docs")


def test_the_digest_is_compared_although_all_rows_are_taken(lake: FolderStore) -> None:
    lake.put("set/a.gz", gzip.compress(b"x" * (5 << 20) + b"\n", mtime=0))
    rows = RowFeed(lake, "set/a.gz", "0" * 64)
    assert len(rows.next_rows(1, "docs")) == 1
    with pytest.raises(StoreError, match="not the object that its ledger names"):
        rows.finish("docs")


def test_a_row_without_a_source_must_have_the_id_all_the_same() -> None:
    with pytest.raises(Misaligned, match=r"set: row 10: id 'b' \(source ''\), but docs has 'a'"):
        check_same_ids([document("a")], [document("b", "")], "docs", "set", 10)
