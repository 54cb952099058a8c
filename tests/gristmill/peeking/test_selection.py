"""Patterns by the ending of names, or by the names themselves."""

import re

import pytest

from gristmill.peeking.selection import name_ending, name_pattern


@pytest.mark.parametrize(
    ("name", "end"), [("a.b.jsonl.gz", ".jsonl.gz"), ("a", ""), ("a.2024", ""), ("v1.5.txt", ".txt")]
)
def test_the_ending_of_a_name(name: str, end: str) -> None:
    assert name_ending(name) == end


@pytest.mark.parametrize(
    ("names", "shared", "bad", "read", "other"),
    [
        (["a.txt", "b.txt"], set(), set(), "x/c.txt", "c.md"),
        (["a.txt", "b.md"], set(), set(), "c.md", "c.csv"),
        (["a.txt", "b.txt"], {".txt"}, set(), "x/b.txt", "c.txt"),
        (["a.txt", "b.txt"], None, set(), "b.txt", "c.txt"),
        (["a.txt", "b.md"], {".txt"}, {"c.txt"}, "x/cc.txt", "x/c.txt"),
    ],
)
def test_names_that_are_read(names: list[str], shared: set[str] | None, bad: set[str], read: str, other: str) -> None:
    pattern = re.compile(name_pattern(names, shared, bad))
    assert [name for name in (read, other) if pattern.search(name)] == [read]
