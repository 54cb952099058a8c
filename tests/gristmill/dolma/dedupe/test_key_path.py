import pytest

from gristmill.dolma.dedupe.key_path import KeyPath
from gristmill.errors import RecipeError

ROW = {"text": "t", "n": 3, "urls": ["u", {"v": "w"}], "metadata": {"a-b": "x", "c d": "y"}}


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("$.text", "t"),
        ("$['text']", "t"),
        ('$["metadata"]["c d"]', "y"),
        ("$.metadata.a-b", "x"),
        ("$.urls[0]", "u"),
        ("$.urls[1].v", "w"),
        ("$.urls[2]", None),
        ("$.n", None),
        ("$.metadata", None),
        ("$.text[0]", None),
        ("$.urls.v", None),
        ("$.none.text", None),
    ],
)
def test_names_and_indices_lead_to_a_string(path: str, key: str | None) -> None:
    assert KeyPath.parse(path).find(ROW) == key


@pytest.mark.parametrize("path", ["", "$", "text", "$..text", "$.urls[*]", "$.urls[?(@.v)]", "$.a.", "$text", "@.text"])
def test_other_paths_are_refused(path: str) -> None:
    with pytest.raises(RecipeError, match="names and indices"):
        KeyPath.parse(path)
