"""Arguments of a wrong type are errors in words at the call, and none is dropped in silence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gristmill.api import open_lake
from gristmill.errors import RecipeError
from gristmill.reading.arguments import check_count, check_name, check_names
from gristmill.reading.opened_lake import OpenedLake

Call = Callable[[Any], Any]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda lake: lake.documents(5), "name is 5; give a string, such as 'wiki/v1'"),
        (lambda lake: lake.documents("pages/v0", columns="id"), r"columns is 'id'; give a list: columns=\['id'\]"),
        (lambda lake: lake.documents("pages/v0", sets="t-1"), r"sets is 't-1'; give a list: sets=\['t-1'\]"),
        (lambda lake: lake.documents("pages/v0", snapshots=5), "snapshots is 5; give a list"),
        (lambda lake: lake.documents("pages/v0", shards=b"a"), "shards is b'a'; give a list"),
        (lambda lake: lake.documents("pages/v0", columns=["id", 5]), "columns has the element 5"),
        (lambda lake: lake.documents("pages/v0", limit="2"), "limit is '2'; give a whole number"),
        (lambda lake: lake.documents("pages/v0", limit=-1), "limit is -1; give a number of rows, 0 or more"),
        (lambda lake: lake.documents("pages/v0").sample("3"), r"n of sample\(\) is '3'; give a whole number"),
        (lambda lake: lake.documents("pages/v0").sample(3, seed="x"), r"seed of sample\(\) is 'x'; give a whole"),
        (lambda lake: lake.documents("pages/v0", limit=2).sample(3), "so limit=2 would not hold; leave limit out"),
        (lambda lake: lake.mix(None), "the mix's name is None; give a string, such as 'starter'"),
        (lambda lake: lake.mix("even", streams="pages"), r"streams is 'pages'; give a list"),
        (lambda lake: lake.tokens("even", 5, "pages"), "tokenizer is 5; give a string"),
    ],
)
def test_an_argument_of_another_type_is_told(opened: OpenedLake, call: Call, words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        call(opened)


def test_a_sample_may_have_any_seed(opened: OpenedLake) -> None:
    assert len(list(opened.documents("pages/v0", snapshots=("2024",)).sample(3, seed=-7))) == 3


@pytest.mark.parametrize("lake", [None, 5, b"lake"])
def test_a_lake_that_is_no_path_is_told(lake: Any) -> None:
    with pytest.raises(RecipeError, match=r"the lake's address is .*; give a string, such as 'lake'"):
        open_lake(lake, {}, shelves=())


def test_the_home_of_nobody_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecipeError, match=r"the lake's address is '~nouser/x': .*write the folder's path"):
        open_lake("~nouser/x", {}, shelves=())
    for variable in ("GRISTMILL_LAKE", "DAGSTER_HOME"):
        with monkeypatch.context() as patch:
            patch.setenv(variable, "~nouser/x")
            with pytest.raises(RecipeError, match=f"{variable} is '~nouser/x': "):
                open_lake("", {}, shelves=())


def test_a_path_opens_a_lake(read_once: Path) -> None:
    assert len(open_lake(read_once, {}, shelves=()).documents("pages/v1")) > 0


def test_what_is_right_passes() -> None:
    check_name("version", "wiki/v1", "wiki/v1")
    check_names(sets=(), shards=None, columns=["id"], snapshots={"2024": 1}.keys())
    check_count("limit is", 0)
    check_count("seed is", -1, signed=True)
