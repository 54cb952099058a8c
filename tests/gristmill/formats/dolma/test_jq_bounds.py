"""Which jq expressions run without limits."""

import pytest

from gristmill.formats.dolma.jq_bounds import is_bounded_jq


@pytest.mark.parametrize(
    "text",
    [
        ".attributes.words[0][2] > 5",
        '.metadata["a b"] == "x" or (.text | length) >= 10',
        "(.attributes.mail | map(.[2]) | max) - 1 > 0.5",
        ".attributes.mail | map(select(.[2] > 0.5))",
        ".a | any(.[2] > 1) | not",
    ],
)
def test_bounded(text: str) -> None:
    assert is_bounded_jq(text)


@pytest.mark.parametrize(
    "text",
    [
        "[range(1e12)]",
        "repeat(.)",
        "def f: f; f",
        ".text * 1e9",
        '.text | test("(a+)+$")',
        ".text | . + . | . + .",
        ".a - .b",
        ".a | map(tojson)",
        ".a |",
        "(.a + 1) + [range(1e12)]",
        ".a | map(repeat(.))",
        "(.a | until(false; .)).b",
    ],
)
def test_not_bounded(text: str) -> None:
    assert not is_bounded_jq(text)
