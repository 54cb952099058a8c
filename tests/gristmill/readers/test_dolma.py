import gzip
import json
from pathlib import Path

import pytest
import zstandard
from testkit import Mill, make_documents

from gristmill.errors import DataError
from gristmill.lake.store.folder import FolderStore
from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.raw_object import Copied, RawObject, Refused

GOOD = b'{"id":"a","text":"t","source":"s"}'


def convert(tmp_path: Path, data: bytes, name: str = "a.jsonl") -> list[Copied | Refused]:
    store = FolderStore(str(tmp_path))
    store.put(name, data)
    rows = DolmaLines("mine")(RawObject(store, name, name, len(data)))
    return [row for row in rows if isinstance(row, Copied | Refused)]


@pytest.mark.parametrize(
    "line",
    [
        GOOD,
        b'  { "source" : "s",\t"text":"t" ,"id":"a" , "more": [1, 2.50] }  ',
        GOOD + b"\r",
        b'{"id":"a","text":"\\u00e9 \xc3\xa9","source":"s","metadata":{"b":1,"a":null}}',
        b'{"id":"a","text":"a\\u0000b","source":"s"}',
        b'{"id":"a","text":"","source":"s","added":null,"created":"1999","metadata":null}',
    ],
)
def test_a_valid_row_is_kept_byte_for_byte(tmp_path: Path, line: bytes) -> None:
    assert convert(tmp_path, line + b"\n") == [Copied("a", "s", line)]


def test_a_row_without_a_source_gets_this_one_in_front(tmp_path: Path) -> None:
    (row,) = convert(tmp_path, b' { "id":"a", "text":"t"}\n')
    assert row == Copied("a", "mine", b'{"source":"mine", "id":"a", "text":"t"}')


REFUSED = {
    b'{"text":"t","source":"s"}': "no id",
    b'{"id":"","text":"t","source":"s"}': "no id",
    b'{"id":"a","source":"s"}': "no text",
    b'{"id":7,"text":"t","source":"s"}': "id is no string",
    b'{"id":"a","text":null,"source":"s"}': "text is no string",
    b'{"id":"a","text":["t"],"source":"s"}': "text is no string",
    b'{"id":"a","text":"t","source":7}': "source is no string",
    b'{"id":"a","text":"t","source":null}': "source is null or empty",
    b'{"id":"a","text":"t","source":"s","created":7}': "created is no string",
    b'{"id":"a","text":"t","source":"s","metadata":[]}': "metadata is no object",
    b'{"id":"a","text":"\\ud800","source":"s"}': "lone surrogate",
    b'{"id":"a","text":"t","source":"s","metadata":{"x":"\\udc00"}}': "lone surrogate",
    b'{"id":"a\\u0000b","text":"a","source":"s"}': "NUL in id",
    b'{"id":"a","text":"a\x00b","source":"s"}': "invalid JSON",
    b'{"id":"a","text":"\xff","source":"s"}': "not UTF-8",
    b'{"id":"a","text":"t","source":"s","other":"\xff"}': "not UTF-8",
    b'{"id":"a","text":"t","source":"s"': "invalid JSON",
    GOOD + GOOD: "invalid JSON",
    b"\xef\xbb\xbf" + GOOD: "invalid JSON",
    b"": "empty line",
    b" \t": "empty line",
    b"[]": "not an object",
    b"7": "not an object",
}


LACKING = (b'{"text":"t","source":"s"}', b'{"id":"a","source":"s"}')
"""These lack a field, so the message names those that are there."""


@pytest.mark.parametrize("line", REFUSED)
def test_a_row_that_is_no_document_is_refused_with_reason_and_place(tmp_path: Path, line: bytes) -> None:
    first, row, last = convert(tmp_path, GOOD + b"\n" + line + b"\n" + GOOD + b"\n")
    there = f"; the row has: {', '.join(json.loads(line))}" if line in LACKING else ""
    if REFUSED[line] == "not UTF-8":
        byte = f"its byte {line.index(0xFF)} (0xff)"
        mend = "if the file is Latin-1: iconv -f latin1 -t utf-8 OLD > NEW"
        there = f"; {byte} is not UTF-8, which JSON must be; {mend}"
    assert row == Refused(REFUSED[line], f"a.jsonl row 1 (bytes 35-{35 + len(line)} unpacked{there})", line)
    assert (first, last) == (Copied("a", "s", GOOD), Copied("a", "s", GOOD))


def test_every_packing_gives_the_same_rows(tmp_path: Path) -> None:
    data = b"".join(json.dumps(row).encode() + b"\n" for row in make_documents(20))
    plain = convert(tmp_path, data)
    assert len(plain) == 20
    assert convert(tmp_path, gzip.compress(data, mtime=0), "a.json.gz") == plain
    assert convert(tmp_path, zstandard.compress(data), "a.jsonl.zst") == plain


def test_a_last_row_without_line_feed_is_kept(tmp_path: Path) -> None:
    assert convert(tmp_path, GOOD) == [Copied("a", "s", GOOD)]


def test_an_empty_file_has_no_rows_and_an_empty_gzip_file_is_truncated(tmp_path: Path) -> None:
    assert convert(tmp_path, b"") == []
    assert convert(tmp_path, gzip.compress(b"", mtime=0), "a.gz") == []
    with pytest.raises(DataError, match=r"a\.gz: .*truncated"):
        convert(tmp_path, b"", "a.gz")


def test_odd_white_space_and_order_of_keys_reach_the_lake(mill: Mill) -> None:
    line = b'{ "metadata": {"language":"en" ,"number": 1e0},"source":"pages", "text":"a  b", "id":"x" }'
    mill.raw("a.jsonl.gz", [line])
    mill.convert()
    assert mill.lines(mill.documents().shard("a")) == [line]


def test_a_byte_order_mark_is_no_part_of_the_first_row(tmp_path: Path) -> None:
    assert convert(tmp_path, b"\xef\xbb\xbf" + GOOD + b"\n" + GOOD + b"\n") == [Copied("a", "s", GOOD)] * 2


def test_a_row_nested_too_deeply_is_refused_and_the_others_stay(tmp_path: Path) -> None:
    deep = b'{"id":"d","text":"t","source":"s","metadata":{"k":' + b"[" * 3000 + b"]" * 3000 + b"}}"
    found = convert(tmp_path, deep + b"\n" + GOOD + b"\n")
    assert [type(row) for row in found] == [Refused, Copied]
    assert isinstance(found[0], Refused)
    assert found[0].reason == "nested too deeply"


def test_a_row_that_has_a_key_twice_is_refused(tmp_path: Path) -> None:
    good = b'{"id": "a", "text": "t", "metadata": {"k": {"id": 1}}, "n": 1 }'
    rows = [b'{"id":"1","text":"SMUGGLED","text":"clean"}', b'{"te\\u0078t": "x", "id": "2", "text": "t"}', good]
    made = convert(tmp_path, b"\n".join(rows))
    assert [row.reason if isinstance(row, Refused) else "" for row in made] == ["a key twice", "a key twice", ""]
