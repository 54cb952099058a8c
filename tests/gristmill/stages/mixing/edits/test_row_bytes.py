import pytest

from gristmill.errors import DataError
from gristmill.stages.mixing.edits.row_bytes import object_value_bytes, replace_row_values, text_of_line


@pytest.mark.parametrize(
    ("line", "after"),
    [
        (b'{"text":"a"}', b'{"text":"b"}'),
        (b' { "id" : "text" ,"text":\t"a" } ', b' { "id" : "text" ,"text":\t"b" } '),
        (b'{"metadata":{"text":"a"},"te\\u0078t":"a","z":"a"}', b'{"metadata":{"text":"a"},"te\\u0078t":"b","z":"a"}'),
        (b'{"id":"a"}', b'{"id":"a","text":"b"}'),
        (b"{}", b'{"text":"b"}'),
        (b'{"text":"x","text":"a"}', b'{"text":"x","text":"b"}'),  # readers take the last
    ],
)
def test_only_the_bytes_of_the_value_change(line: bytes, after: bytes) -> None:
    assert replace_row_values(line, {"text": b'"b"'}) == after


def test_several_values_change_wherever_they_are() -> None:
    line = b'{"metadata": {"n": 1e0}, "id": "d1", "text": "a"}'
    assert (
        replace_row_values(line, {"text": b'"bb"', "metadata": b"{}"}) == b'{"metadata": {}, "id": "d1", "text": "bb"}'
    )


def test_what_is_no_row_with_a_text_is_refused() -> None:
    for line in (b"[]", b"{", b"1"):
        with pytest.raises(DataError, match="not an object of JSON"):
            object_value_bytes(line)
    for line in (b"{}", b'{"text":null}', b'{"text":"\\ud83d"}'):
        with pytest.raises(DataError, match=r'the row has no string "text"|not an object'):
            text_of_line(line)
