"""Keys of documents, decoded out of rows."""

from collections import Counter

import msgspec
import pytest

from gristmill.errors import MalformedRow
from gristmill.lake.rows.batches import decode_rows
from gristmill.stages.fingerprints.key_rows import MEND, keyed_row_type, row_keys


def keys(key: str, *rest: str) -> tuple[list[str | None], Counter[str]]:
    block = "".join(f'{{"id":"{n}","source":"s","text":"t{n}"{each}}}\n' for n, each in enumerate(rest)).encode()
    rows = decode_rows(msgspec.json.Decoder(keyed_row_type(key)), block, "a.gz", 0, MEND)
    counts = Counter[str]()
    return row_keys(rows, key, counts), counts


def test_text_and_id_are_keys() -> None:
    assert keys("text", "", "") == (["t0", "t1"], {})
    assert keys("id", "", "") == (["0", "1"], {})


def test_a_path_that_ends_early_is_no_key_and_is_counted() -> None:
    found = keys(
        "metadata.page.url",
        "",
        ',"metadata":null',
        ',"metadata":{}',
        ',"metadata":{"page":null}',
        ',"metadata":{"page":{"url":null}}',
        ',"metadata":{"page":{"other":[1],"url":"u"},"n":{}}',
        ',"metadata":{"page":{"url":""}}',
    )
    assert found == ([None] * 5 + ["u", ""], {"key absent": 2, "key null": 3})


def test_a_number_is_its_digits() -> None:
    numbers = ("1", "1.0", '"1"', "0.5", "-3", "123456789012345678901234567890")
    values, _ = keys("metadata.n", *(f',"metadata":{{"n":{each}}}' for each in numbers))
    assert values == ["1", "1", "1", "0.5", "-3", "123456789012345678901234567890"]


@pytest.mark.parametrize("value", ["true", "[1]", "{}"])
def test_another_type_names_the_row_and_the_mend(value: str) -> None:
    with pytest.raises(MalformedRow, match=r"a\.gz: row 1.*take another key"):
        keys("metadata.n", ',"metadata":{"n":1}', f',"metadata":{{"n":{value}}}')
