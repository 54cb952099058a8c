from itertools import pairwise
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import DataError
from gristmill.formats.yaml_text import read_yaml, usual_yaml_bytes, yaml_bytes

VALUES = st.recursive(
    st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("aeny1.", min_size=1, max_size=4), inner),
    max_leaves=8,
)


@pytest.mark.slow
@given(st.dictionaries(st.text("aeny1.", min_size=1, max_size=4), VALUES))
def test_what_is_written_is_read_back(value: dict[str, Any]) -> None:
    assert read_yaml(yaml_bytes(value), "a.yaml") == value


def test_strings_that_look_like_numbers_are_quoted() -> None:
    assert yaml_bytes({"a": ["1e5", "12e4567", "true", "x"], "1e5": 1, "no": 2, "b": 1.5}) == (
        b'a:\n  - "1e5"\n  - "12e4567"\n  - "true"\n  - "x"\n"1e5": 1\n"no": 2\nb: 1.5\n'
    )


def test_long_strings_stay_on_one_line() -> None:
    assert yaml_bytes({"a": "word " * 100}).count(b"\n") == 1


def test_the_usual_form_is_that_of_pyyaml_but_for_numbers() -> None:
    value = {"train": ["a.tar", "{0..1}.tar", "1", "true"], "val": []}
    assert usual_yaml_bytes(value) == yaml.safe_dump(value, sort_keys=False).encode()
    assert usual_yaml_bytes({"a": "1e5"}) == b'a: "1e5"\n' != yaml.safe_dump({"a": "1e5"}).encode()


@pytest.mark.parametrize(
    "data", [b"[1]", b"", b"a: [", b"\xff\xff", b"a: !!python/object:os.system x", b"a: 2001-99-99"]
)
def test_what_is_no_mapping_is_refused(data: bytes) -> None:
    with pytest.raises(DataError, match=r"^a\.yaml: "):
        read_yaml(data, "a.yaml")


_LAUGHS = "\n".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]" for a, b in pairwise("abcdefghi"))


@pytest.mark.parametrize("text", ["blend: &a\n- {blend: *a}\n", f"a: &a [1]\n{_LAUGHS}\n"])
def test_aliases_that_repeat_without_an_end_or_too_often_are_refused(text: str) -> None:
    with pytest.raises(DataError, match=r"m.yaml: its aliases .* write the values out"):
        read_yaml(text.encode(), "m.yaml")
    assert read_yaml(b"a: &a [1]\nb: [*a, *a]\n", "m.yaml") == {"a": [1], "b": [[1], [1]]}
