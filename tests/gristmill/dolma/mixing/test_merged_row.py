"""A row as jq gets it: keys in order at all depths, as Dolma 1.2.1 has them."""

import msgspec
import pytest

from gristmill.dolma.mixing.jq_program import JqProgram
from gristmill.dolma.mixing.merged_row import MergedRow

WRITTEN = b'{"text":"t","langs":{"zz":0.5,"en":0.5,"de":0.1},"big":123456789012345678901234567890,"e":1e-7}'


def row(written: bytes = WRITTEN) -> MergedRow:
    return MergedRow(msgspec.json.decode(written, type=dict[str, msgspec.Raw]))


@pytest.mark.parametrize(
    "text",
    [
        '.langs | to_entries | max_by(.value) | .key == "zz"',
        '.langs | to_entries | .[0].key == "de"',
        ".langs | first(.[]) == 0.1",
        '.langs | tojson | startswith("{\\"de\\"")',
        'keys_unsorted == ["big","e","langs","text"]',
    ],
)
def test_the_order_of_keys_is_dolmas(text: str) -> None:
    program = JqProgram(text)
    assert list(program.matches([row().sorted_text(program.fields)])) == [True]


def test_only_the_fields_that_are_wanted() -> None:
    merged = row()
    assert merged.sorted_text(frozenset({"text", "gone"})) == '{"text":"t"}'
    assert merged.sorted_text(frozenset({"e"})) == '{"e":1e-7}'
    assert merged.sorted_text(None).startswith('{"big":1.2345678901234568e+29,"e":1e-7,"langs":{"de"')


def test_a_row_that_is_nested_too_deeply_is_an_error_of_the_row() -> None:
    deep = row(b'{"a":' + b"[" * 300 + b"]" * 300 + b"}")
    with pytest.raises(ValueError, match="jq does not read it"):
        deep.sorted_text(None)
