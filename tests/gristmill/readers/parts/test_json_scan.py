"""The begins and ends of JSON values, wherever the bytes are cut."""

import json
import tracemalloc
from collections.abc import Iterator

import pytest

from gristmill.readers.parts.json_scan import DEEPEST, JsonScan, NotJson

VALUES = [
    b'{"a": "]\\\\\\"}", "b\\\\": [1, {}]}',
    b'"x\\"\\\\"',
    b"-1.5e3",
    b"null",
    b"[[], {}]",
    b'{"\xc3\xa9": "\n"}',
]


def cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_values_are_found_wherever_the_bytes_are_cut(size: int) -> None:
    data = b" \n".join(VALUES) + b"\n"
    scan = JsonScan(cut(data, size), limit=100)
    entries = [scan.value() for _ in VALUES]
    assert [entry.data for entry in entries] == VALUES == [data[entry.start : entry.end] for entry in entries]
    assert scan.next_byte() == -1


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("value", [b"9" * 500, b'"' + b"\\n" * 250 + b'"', b"[" + b"1," * 250 + b"1]"])
def test_a_value_that_is_too_long_is_passed_and_measured(value: bytes, size: int) -> None:
    scan = JsonScan(cut(value + b" 7", size), limit=100)
    long = scan.value()
    assert (long.size, value.startswith(long.data), len(long.data) > 100) == (len(value), True, True)
    assert scan.value().data == b"7"


def test_deep_values_are_told_and_cost_no_memory() -> None:
    for depth, deep in ((DEEPEST, False), (DEEPEST + 1, True)):
        assert JsonScan(iter([b"[" * depth + b"]" * depth]), limit=10_000).value().deep is deep
    data = b"[" * 50_000
    tracemalloc.start()
    with pytest.raises(NotJson, match="the file ends within a value"):
        JsonScan(cut(data, 1000), limit=100).value()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000


@pytest.mark.parametrize("data", [b"", b"[1}", b'{"a', b"[", b",", b"x"])
def test_what_is_no_value_is_an_error(data: bytes) -> None:
    with pytest.raises(NotJson):
        JsonScan(iter([data]), limit=100).value()


def test_random_values_agree_with_json() -> None:
    made = [{"k\\": [n, '"]}', {"x": None}], str(n) * n: n / 7} for n in range(40)]
    scan = JsonScan(cut(json.dumps(made)[1:-1].replace("}, {", "} {").encode(), 11), limit=10_000)
    assert [json.loads(scan.value().data) for _ in made] == made
