import functools
import inspect
import json
import re
from collections.abc import Callable

import dagster as dg
import msgspec
import pytest
from dagster._core.errors import DagsterExecutionInterruptedError
from panics import panic

from gristmill.errors import (
    DataError,
    defined_at,
    error_in_words,
    failed_at,
    is_failure,
    is_panic,
    package_of,
    raised_at,
    shorten,
    undone_at_failure,
)
from gristmill.taggers.length import tag


@pytest.mark.parametrize(
    ("text", "shown"), [("", ""), ("12345678", "12345678"), ("123456789", "12345..."), ("é" * 9, "ééééé...")]
)
def test_a_text_is_cut_only_where_it_is_too_long(text: str, shown: str) -> None:
    assert shorten(text, 8) == shown


def test_a_panic_of_native_code_is_a_failure() -> None:
    with pytest.raises(BaseException, match="retry-limit-in-match") as panicked:
        panic()
    assert not isinstance(panicked.value, Exception)
    assert is_panic(panicked.value)
    assert is_failure(panicked.value)
    assert not is_panic(LookupError())


class Silent(BaseException):
    def __str__(self) -> str:
        raise SystemExit(3)


class Stopping:
    """Ctrl-C comes while Python makes a class, as in the import of any Enum."""

    def __set_name__(self, owner: type, name: str) -> None:
        raise KeyboardInterrupt


def test_what_a_recipe_raises_is_a_failure_and_a_request_to_stop_is_none() -> None:
    group = BaseExceptionGroup("g", [Silent()])
    assert all(map(is_failure, (LookupError(), SystemExit(0), GeneratorExit(), Silent(), group)))
    assert is_failure(dg.Failure("a step fails"))
    assert not any(map(is_failure, (KeyboardInterrupt(), DagsterExecutionInterruptedError())))


def test_what_python_makes_of_a_request_to_stop_is_none_either() -> None:
    with pytest.raises(RuntimeError, match="__set_name__") as raised:
        type("Pages", (), {"each": Stopping()})
    assert not is_failure(raised.value)
    turned = ValueError("its cause is itself")
    turned.__cause__ = turned
    assert is_failure(turned)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (LookupError("d1"), "LookupError: d1"),
        (SystemExit(0), "SystemExit: 0 (it called sys.exit)"),
        (ValueError("\ud800 alone"), r"ValueError: \ud800 alone"),
        (Silent(), "Silent (its message raises SystemExit)"),
    ],
)
def test_the_words_of_any_exception_can_be_written(error: BaseException, words: str) -> None:
    assert error_in_words(error) == words


class Convert:
    def __call__(self) -> None:
        json.loads("{")


@pytest.mark.parametrize("function", [Convert(), Convert().__call__, functools.partial(Convert().__call__)])
def test_an_error_is_placed_at_the_last_line_of_the_recipes_own_package(function: Callable[[], None]) -> None:
    assert package_of(function) == __name__.partition(".")[0]
    with pytest.raises(ValueError, match="Expecting property name") as told:
        function()
    line = inspect.getsourcelines(Convert)[1] + 2
    assert raised_at(told.value, function) == f"{__file__}, line {line}"
    assert failed_at(told.value, function).endswith(f"column 2 (char 1), at {__file__}, line {line}")
    assert "json/decoder.py, line " in raised_at(told.value, json.loads)
    assert failed_at(told.value, msgspec.json.decode).startswith("JSONDecodeError: ")
    assert raised_at(told.value, msgspec.json.decode) == ""


def test_the_package_of_a_recipe_of_ours_is_its_shelf() -> None:
    assert package_of(tag) == "gristmill.taggers"
    assert re.fullmatch(r"/.*/gristmill/taggers/length\.py, line \d+", defined_at(functools.partial(tag)))
    assert defined_at(Convert()) == f"package {__name__.partition('.')[0]}"


@pytest.mark.parametrize("error", [DataError("d"), KeyboardInterrupt()])
def test_what_was_begun_is_undone_in_order_after_a_failure_or_a_stop_and_stays_after_success(
    error: BaseException,
) -> None:
    undone: list[str] = []
    with undone_at_failure(lambda: undone.append("never")):
        undone.append("done")
    with (
        pytest.raises(type(error)) as raised,
        undone_at_failure(lambda: undone.append("first"), lambda: undone.append("second")),
    ):
        raise error
    assert raised.value is error
    assert undone == ["done", "first", "second"]
