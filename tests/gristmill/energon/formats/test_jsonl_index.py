import io

import numpy as np
import pytest

from gristmill.energon.formats.jsonl_index import BadLine, jsonl_offsets
from gristmill.errors import DataError


def offsets(data: bytes, *, parse: bool = True) -> list[int]:
    return [int(each) for each in np.concatenate(list(jsonl_offsets(io.BytesIO(data), "a.jsonl", parse=parse)))]


def offsets_by_line(data: bytes) -> list[int]:
    """The same, as the real tool finds them: line by line, with the blank lines given to the sample before."""
    found: list[int] = []
    last = position = 0
    for line in io.BytesIO(data):
        position += len(line)
        if not line.strip():
            last = position if last else 0
            continue
        found.append(last)
        last = position
    return [*found, last]


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": 1}\n{"a": 2}\n',
        b'{"a": 1}\n{"a": 2}',
        b'{"a": 1}\r\n{"a": 2}\r\n',
        b'\n \n{"a": 1}\n\n\t\n{"a": 2}\n\n',
        b'  {"a": 1}  \n\t{}\n',
        '{"a": "\u2028 \x85"}\n{"b": 2}\n'.encode(),
        b'{"a": NaN}\n{"a": 1e999}\n{"a": "\\ud800"}\n',
    ],
)
def test_offsets_are_those_of_the_real_tool(data: bytes) -> None:
    assert offsets(data) == offsets(data, parse=False) == offsets_by_line(data)


def test_lines_may_cross_blocks() -> None:
    lines = [b'{"text": "%s"}\n' % (b"x" * size) for size in (5 << 20, 3, 4 << 20, (4 << 20) - 14, 0, 9 << 20)]
    data = b"\n".join(lines)
    assert offsets(data) == offsets_by_line(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a": 1}\n[1]\n', "line 2 (byte 9): it is not a JSON object on one line: b'[1]'"),
        (b'{\n "a": 1\n}\n', "line 1 (byte 0): it is not a JSON object"),
        (b'\xef\xbb\xbf{"a": 1}\n', "line 1 (byte 0): it begins with a byte order mark"),
        (b'{"a": 1}\n\n{not json}\n', "line 3 (byte 10): its JSON is not valid"),
        (b'{"a": "\x00"}\n', "line 1 (byte 0): its JSON is not valid"),
        (b'{"a": "\xff"}\n', "line 1 (byte 0): its JSON is not valid"),
        (b'{"a": 1}{"b": 2}\n', "line 1 (byte 0): its JSON is not valid"),
        (b"}\n", "line 1 (byte 0): it is not"),
        (b"{", "line 1 (byte 0): it is not"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", "line 1 (byte 0): its JSON is not valid"),
        (b"", "it has no sample"),
        (b"\n \n", "it has no sample"),
    ],
)
def test_lines_that_are_no_sample_are_named(data: bytes, message: str) -> None:
    with pytest.raises(DataError) as caught:
        offsets(data)
    assert str(caught.value).startswith("a.jsonl")
    assert message in str(caught.value)


def test_without_parsing_only_the_braces_count() -> None:
    assert offsets(b"{not json}\n", parse=False) == [0, 11]


def test_bad_lines_may_be_reported_instead() -> None:
    bad: list[BadLine] = []
    data = b'{"a": 1}\nfalse\n{"b" 2}\n{"c": 3}\n'
    batches = jsonl_offsets(io.BytesIO(data), "a.jsonl", report=bad.append)
    assert len(list(batches)) == 2
    assert [(line.line, line.offset) for line in bad] == [(2, 9), (3, 15)]
