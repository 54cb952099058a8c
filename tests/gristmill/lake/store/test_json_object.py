import msgspec
import pytest

from gristmill.errors import DataError
from gristmill.lake.store.json_object import Integer, decode_object, read_free_form

DEEP = b'{"a":' * 100_000
ANY = dict[str, object]


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"a":"\xff"}', DEEP])
def test_whatever_the_bytes_are_the_error_names_the_file_and_the_mend(data: bytes) -> None:
    with pytest.raises(DataError, match=r"^a\.json: not a note \(.+\); remove it$"):
        decode_object(data, ANY, "a.json", "a note", "remove it")


@pytest.mark.parametrize("number", [-(1 << 63), (1 << 63) - 1])
def test_an_integer_has_64_bits(number: int) -> None:
    assert msgspec.json.decode(b"%d" % number, type=Integer) == number
    beyond = number - 1 if number < 0 else number + 1
    with pytest.raises(DataError, match="Expected `int`"):
        decode_object(b"%d" % beyond, Integer, "a.json", "a number")


@pytest.mark.parametrize("error", [KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError])
def test_whatever_is_wrong_with_a_value_names_the_record(error: type[Exception]) -> None:
    with pytest.raises(DataError, match=r"^a\.json: what it says of its recipe is damaged"), read_free_form("a.json"):
        raise error
