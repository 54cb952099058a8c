import dagster as dg
import pytest
from dagster._core.errors import DagsterExecutionInterruptedError
from panics import panic

from gristmill.errors import is_failure, is_panic, shorten, words_of


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


def test_what_a_recipe_raises_is_a_failure_and_a_request_to_stop_is_none() -> None:
    group = BaseExceptionGroup("g", [Silent()])
    assert all(map(is_failure, (LookupError(), SystemExit(0), GeneratorExit(), Silent(), group)))
    assert is_failure(dg.Failure("a step fails"))
    assert not any(map(is_failure, (KeyboardInterrupt(), DagsterExecutionInterruptedError())))


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
    assert words_of(error) == words
