"""The front matter and the title of Markdown."""

from typing import Any

import pytest

from gristmill.readers.mapping.front_matter import first_markdown_heading, split_front_matter
from gristmill.readers.text import Unfit


@pytest.mark.parametrize(
    ("text", "matter", "rest"),
    [
        (
            "---\ndate: 2024-05-06\nold: no\nn: 1.50\n---\n\nOnce",
            {"date": "2024-05-06", "old": "no", "n": "1.50"},
            "\nOnce",
        ),
        (
            "---\r\ntags: [a, b]\r\nby: {name: X}\r\n...\r\nOnce\r\n",
            {"tags": ["a", "b"], "by": {"name": "X"}},
            "Once\r\n",
        ),
        ("---\ntags:\n- a\n- b: c\n---   \nOnce", {"tags": ["a", {"b": "c"}]}, "Once"),
        ("Once\n---\na: b\n---\n", {}, None),
        ("--- \nno end", {}, None),
        ("----\na: b\n----\n", {}, None),
        ("---\n---\nOnce", {}, None),
        ("---\njust a sentence between two rules\n---\nOnce", {}, None),
        ("---\n- a\n- list\n---\nOnce", {}, None),
    ],
)
def test_front_matter_is_read_as_strings_and_taken_off(text: str, matter: Any, rest: str | None) -> None:
    assert split_front_matter(text) == (matter, text if rest is None else rest)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("yaml", "why"),
    [
        ("a: [", "expected the node content"),
        ("a: &x [1, 2]\nb: *x", "it has an alias"),
        ("a: 1\na: 2", "it has a key twice"),
        ("? [a, b]\n: c", "unhashable"),
        ("a: " + "[" * 5000, "recursion"),
        ("a: " + "x" * 70_000, "longer than 65536"),
    ],
)
def test_yaml_that_is_not_valid_or_unbounded_is_refused(yaml: str, why: str) -> None:
    with pytest.raises(Unfit, match=f"^invalid front matter: .*{why}"):
        split_front_matter(f"---\n{yaml}\n---\nOnce\n")


def test_front_matter_without_a_text_is_no_document() -> None:
    with pytest.raises(Unfit, match="empty text"):
        split_front_matter("---\ntitle: Tales\n---\n\n")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# tar\n\n> Archives.", "tar"),
        ("intro\n\n   ### A *b* ###   \n", "A *b*"),
        ("Tales\n=====\n", "Tales"),
        ("Tales\r\n---\r\n", "Tales"),
        ("\n---\n", ""),
        ("~~~sh\n# no\n```\n# no\n~~~\n#yes\n# yes\n", "yes"),
        ("#" * 7 + " seven\n", ""),
        ("x\n" * 300 + "# too far\n", ""),
        ("", ""),
    ],
)
def test_the_first_heading_is_found_outside_of_code(text: str, title: str) -> None:
    assert first_markdown_heading(text) == title
