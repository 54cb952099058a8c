from pathlib import Path

import msgspec
import pytest
from talklake import talk_file

from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import SpannedRows
from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.raw_object import Refused


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{\n", "invalid JSON"),
        (b"\n", "empty line"),
        (b'{"id": "a", "text": "t"} // a comment\n', "invalid JSON"),
        (b'// {"id": "a", "text": "t"}\n', "invalid JSON"),
        (b'{"id": "a", /* b */ "text": "t"}\n', "invalid JSON"),
        (b'{"id": "a", "text": "t",}\n', "invalid JSON"),
        (b"{'id': 'a', 'text': 't'}\n", "invalid JSON"),
        (b'{"id": "a", "text": "caf\xe9"}\n', "not UTF-8"),
        (b"[1]\n", "not an object"),
        (b'{"id": true, "text": "t"}\n', "id is no string or number"),
        (b'{"id": "a\\u0000", "text": "t"}\n', "NUL in id"),
        (b'{"id": "a", "text": "t", "n": 1e400}\n', "number out of range"),
        (b'{"id": "a", "text": "t", "n": ' + b"9" * 5000 + b"}\n", "number out of range"),
    ],
)
def test_a_line_that_is_no_row_is_refused_with_its_place(tmp_path: Path, line: bytes, reason: str) -> None:
    good, bad = JsonLines(source="talks")(talk_file(tmp_path, "a.jsonl", b'{"id":"g","text":"t"}\n' + line))
    assert isinstance(good, Document)
    assert isinstance(bad, Refused)
    assert bad.reason == reason
    assert bad.where.startswith("a.jsonl row 1")


def test_the_mend_of_a_row_in_latin1_is_told_with_its_byte(tmp_path: Path) -> None:
    line = b'{"id":"a","text":"caf\xe9"}'
    mend = "is not UTF-8, which JSON must be; if the file is Latin-1: iconv -f latin1 -t utf-8 OLD > NEW"
    (bad,) = JsonLines(source="talks")(talk_file(tmp_path, "a.jsonl", line))
    assert bad == Refused("not UTF-8", f"a.jsonl row 0: its byte 21 (0xe9) {mend}", line)


def test_integers_beyond_64_bits_keep_their_digits(tmp_path: Path) -> None:
    digits = (b"18446744073709551616", b"-9223372036854775809", b"123456789012345678901234567890")
    rows = b"".join(b'{"id":%b,"text":"t","deep":[{"n":%b}]}\n' % (each, each) for each in digits)
    made = list(JsonLines(source="talks")(talk_file(tmp_path, "a.jsonl", rows)))
    assert made == [
        Document(id=each.decode(), text="t", source="talks", metadata={"deep": [{"n": int(each)}]}) for each in digits
    ]


def test_a_row_with_a_key_twice_is_refused_and_those_around_it_stay(tmp_path: Path) -> None:
    rows = [b'{"id":"a","text":": \\": t"}', b'{"id":"b","text":"t","m":[{"n":1,"n":2}]}', b'{"id":"c","text":"\\":"}']
    good = [Document(id="a", text=': ": t', source="talks"), Document(id="c", text='":', source="talks")]
    raw = talk_file(tmp_path, "a.jsonl", b"\n".join(rows))
    found = list(JsonLines(source="talks").blocks(raw))
    assert found == [good[0], Refused("a key twice", "a.jsonl row 1: m[0].n", rows[1]), good[1]]
    (many,) = JsonLines(source="talks").blocks(talk_file(tmp_path, "b.jsonl", rows[0] + b"\n" + rows[2]))
    assert isinstance(many, SpannedRows)
    assert many.rows.splitlines() == list(map(msgspec.json.encode, good))
