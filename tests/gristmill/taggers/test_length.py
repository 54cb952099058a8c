from hypothesis import given
from hypothesis import strategies as st

from gristmill.lake.rows.document import Document
from gristmill.taggers.length import LENGTH, tag


def documents(*texts: str) -> list[Document]:
    return [Document(id=str(n), text=text, source="t") for n, text in enumerate(texts)]


def test_each_unit_is_counted_by_its_own_rule() -> None:
    assert LENGTH.look(documents("two words\n", "é€😀", "")) == {
        "chars": [10.0, 3.0, 0.0],
        "words": [2.0, 1.0, 0.0],
        "bytes": [10.0, 9.0, 0.0],
        "lines": [2.0, 1.0, 1.0],
    }


@given(st.lists(st.text(), min_size=1, max_size=8))
def test_words_are_those_of_str_split(texts: list[str]) -> None:
    assert LENGTH.look(documents(*texts))["words"] == [float(len(text.split())) for text in texts]


def test_the_tagger_is_declared_in_batch_form() -> None:
    assert LENGTH.name == "length-1"
    assert LENGTH.batch is tag
