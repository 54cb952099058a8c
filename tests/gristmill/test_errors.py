import pytest
from panics import panic

from gristmill.errors import is_failure, shorten


@pytest.mark.parametrize(
    ("text", "shown"), [("", ""), ("12345678", "12345678"), ("123456789", "12345..."), ("é" * 9, "ééééé...")]
)
def test_a_text_is_cut_only_where_it_is_too_long(text: str, shown: str) -> None:
    assert shorten(text, 8) == shown


def test_a_panic_of_native_code_is_a_failure_and_a_request_to_stop_is_none() -> None:
    with pytest.raises(BaseException, match="retry-limit-in-match") as panicked:
        panic()
    assert not isinstance(panicked.value, Exception)
    assert is_failure(panicked.value)
    assert is_failure(LookupError())
    assert not any(map(is_failure, (KeyboardInterrupt(), SystemExit(3), GeneratorExit())))
