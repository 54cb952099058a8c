"""YAML that every parser reads alike. Energon's own parser reads the same texts in tests/real_energon."""

import math

import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as some

from gristmill.formats.energon.yaml_text import compose_yaml, quoted

TEXTS = some.text(some.characters(exclude_categories=["Cs"]))
SCALARS = some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = some.recursive(
    SCALARS, lambda inner: some.lists(inner, max_size=3) | some.dictionaries(TEXTS, inner, max_size=3), max_leaves=8
)


@given(TEXTS)
def test_a_string_comes_back(text: str) -> None:
    assert yaml.safe_load(quoted(text)) == text


@given(some.dictionaries(TEXTS, VALUES, max_size=4))
def test_a_file_comes_back(value: dict[str, object]) -> None:
    assert yaml.safe_load(compose_yaml(value)) == value


@pytest.mark.parametrize("word", ["1e5", "12e4567", "yes", "null", "0x1f", "2024-01-01", "~", "1_000", " a ", "a: b"])
def test_a_string_that_looks_like_another_value_stays_a_string(word: str) -> None:
    assert compose_yaml({"version": word}) == f'version: "{word}"\n'
    assert yaml.safe_load(compose_yaml({word: 1})) == {word: 1}


def test_keys_that_are_words_of_yaml_are_quoted() -> None:
    assert compose_yaml({"path": 1, "no": 2, "null": 3, "Path": 4}) == 'path: 1\n"no": 2\n"null": 3\n"Path": 4\n'


@pytest.mark.parametrize("value", [math.inf, math.nan, b"bytes", {1: "a"}, {"a": {2}}])
def test_values_without_a_form_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"cannot be written as YAML|is not a string"):
        compose_yaml({"value": value})


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(ValueError, match="half a surrogate pair"):
        compose_yaml({"value": "\ud83d"})
