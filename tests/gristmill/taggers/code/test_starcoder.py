"""The statistics of StarCoder against their definition in plain Python."""

from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.lake.rows.document import Document
from gristmill.taggers.code.starcoder import STARCODER


def plain(text: str) -> dict[str, float]:
    lines = [len(line) for line in text.splitlines()]
    return {
        "max_line_length": max(lines),
        "avg_line_length": sum(lines) / len(lines),
        "alphanum_fraction": sum(map(str.isalnum, text)) / len(text),
        "alpha_fraction": sum(map(str.isalpha, text)) / len(text),
        "xml": float("<?xml version=" in text[:100]),
    }


@settings(max_examples=draws(60))
@given(st.text("ab1_é字²½ \t\n\r\x0b\x85\u2028{};😀", min_size=1, max_size=60))
def test_the_statistics_are_those_of_the_definition(text: str) -> None:
    labels = STARCODER.look([Document(id="a", text=text, source="code")])
    assert {name: values[0] for name, values in labels.items()} == plain(text)


def test_xml_is_looked_for_in_the_first_hundred_characters() -> None:
    texts = ["<?xml version='1.0'?>", " " * 86 + "<?xml version=", " " * 87 + "<?xml version=", ""]
    labels = STARCODER.look([Document(id=str(n), text=text, source="code") for n, text in enumerate(texts)])
    assert labels["xml"] == [1.0, 1.0, 0.0, 0.0]
    assert labels["max_line_length"] == [21.0, 100.0, 101.0, None]
