import re
from dataclasses import dataclass, field
from typing import Any

import pytest

from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.code.options import options_digest


def by_initial(text: str) -> str:
    return text[:1]


@dataclass(frozen=True)
class Reader:
    keys: tuple[str, ...] = ()
    names: dict[str, str] = field(default_factory=dict)
    kinds: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None
    inner: DolmaLines | None = None
    start: Any = None


@dataclass(frozen=True)
class Reader2(Reader):
    later: int = 3


OPTIONS: list[dict[str, Any]] = [
    {},
    {"keys": ("a", "b")},
    {"keys": ("ab",)},
    {"names": {"a": "b"}},
    {"kinds": frozenset("abc")},
    {"pattern": re.compile("a")},
    {"pattern": re.compile("a", re.IGNORECASE)},
    {"inner": DolmaLines("web")},
    {"inner": DolmaLines("blog")},
    {"start": 1},
    {"start": 1.0},
    {"start": "1"},
    {"start": by_initial},
]


def test_each_option_has_its_own_digest_and_the_same_each_time() -> None:
    digests = [options_digest(Reader(**each)) for each in OPTIONS]
    assert len(set(digests)) == len(OPTIONS)
    assert digests == [options_digest(Reader(**each)) for each in OPTIONS]
    assert options_digest(Reader(kinds=frozenset("cba"))) == options_digest(Reader(kinds=frozenset("abc")))


def test_an_option_that_a_new_version_adds_changes_nothing_until_it_is_given() -> None:
    renamed = type("Reader", (Reader2,), {})
    assert options_digest(renamed(keys=("a",))) == options_digest(Reader(keys=("a",)))
    assert options_digest(renamed(keys=("a",), later=4)) != options_digest(Reader(keys=("a",)))


@pytest.mark.parametrize("function", [by_initial, Reader, None])
def test_functions_have_no_options(function: object) -> None:
    assert options_digest(function) == ""
