import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.lake.rows.document import Document
from gristmill.taggers.code import redpajama
from gristmill.taggers.code.redpajama import REDPAJAMA_CODE, tag
from gristmill.text.characters import stretches

tag(Document(id="a", text="é", source="s"))  # makes its table, which the first example should not wait for
MIXED = st.text(st.sampled_from("ab1_ +(\n\r\v\x1c\x85\u2028é字\u0301²½Ⓐ\u0661\u200d😀\ud800"), max_size=30)


def look(text: str) -> dict[str, float]:
    labels = REDPAJAMA_CODE.look([Document(id="a", text=text, source="s")])
    return {name: values[0] for name, values in labels.items() if isinstance(values[0], float)}


def by_definition(text: str) -> dict[str, float]:
    """Token by token. Python's `re` counts other digits and no marks among `\\w`, so the class is written out."""
    word = r"[^\W\u00b2\u00bd]|[\u0301\u24b6\u200d]"
    tokens = re.findall(rf"(?:{word})+|(?:(?!{word})(?:\S|[\x1c-\x1f]))+", text)
    lengths = [len(line) for line in text.splitlines()]
    return {
        "max_line_length_doc": float(max(lengths, default=0)),
        "avg_line_length_doc": sum(lengths) / len(lengths) if lengths else 0.0,
        "alnum_prop_doc": sum(map(str.isalnum, text)) / len(text) if text else 0.0,
        "alpha_token_prop_doc": sum(map(str.isalpha, text)) / (len(tokens) + 1),
    }


@given(MIXED)
@settings(max_examples=60)
def test_the_statistics_are_those_of_their_definitions(text: str) -> None:
    assert look(text) == by_definition(text)


def test_statistics_of_a_huge_text_are_those_of_its_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["ab\r\nc \n\nd", "abcdef", "a\r\r\n\r\nb", "\n\n\n", "a+b c1\u2028字字"]
    whole = [by_definition(text) for text in texts]
    for size in range(1, 9):
        monkeypatch.setattr(
            redpajama, "split_into_stretches", lambda text, size=size: stretches.split_into_stretches(text, size)
        )
        assert [tag(Document(id="a", text=text, source="s")) for text in texts] == whole
