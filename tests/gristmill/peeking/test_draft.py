import pytest

from gristmill.peeking.draft import Call, python_literal, source_name_from_words, source_text
from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.row_format import Text
from gristmill.recipes.source import Everything, Source

BODY = Call("gristmill.recipes.row_format", "Text", {"text_key": "body"})
READER = Call("gristmill.readers.jsonl", "JsonLines", {"source": "tales", "id_key": None, "format": BODY})


def test_a_call_is_text_and_object() -> None:
    assert READER.text() == 'JsonLines(source="tales", id_key=None, format=Text(text_key="body"))'
    assert READER.made() == JsonLines(source="tales", id_key=None, format=Text(text_key="body"))


@pytest.mark.parametrize(
    "value", ["a", 'say "x"', "it's", "both ' and \"", r"\.gz$", "ends\\", "\n", "é", ("a",), {"a": ()}]
)
def test_a_value_is_written_as_python(value: object) -> None:
    assert eval(python_literal(value)) == value
    if isinstance(value, str):
        assert python_literal(value).lstrip("r").startswith('"')


def test_a_draft_is_a_module_that_declares_the_source() -> None:
    rule = Call("gristmill.recipes.source", "Everything")
    text = source_text(READER, {"name": "my-tales", "partition": rule, "select": r"\.gz$"}, "Tales.")
    module: dict[str, object] = {}
    exec(text, module)
    source = module["MY_TALES"]
    assert isinstance(source, Source)
    assert (source.convert, source.partition, source.select) == (READER.made(), Everything(), r"\.gz$")
    assert module["__doc__"] == "Tales."
    assert source.draft
    assert "    draft=True,  # you may change it and make it again;" in text


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("a_b C.jsonl.gz", "a-b-c"),
        ("2024-22", "source-2024-22"),
        ("index", "source-index"),
        (".x", "source"),
        ("Ж", "source"),
    ],
)
def test_a_name_for_a_source_is_valid(words: str, name: str) -> None:
    assert source_name_from_words(words) == name
