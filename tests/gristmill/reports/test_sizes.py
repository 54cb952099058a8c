import pytest

from gristmill.reports.sizes import number_and_noun, size_in_words


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1_000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (31_488_381, "31.5 MB"),
        (2_500 * 10**15, "2,500.0 PB"),
    ],
)
def test_a_size_is_told_in_the_largest_unit_of_which_there_is_one(size: int, words: str) -> None:
    assert size_in_words(size) == words


def test_one_is_not_many() -> None:
    assert [number_and_noun(n, "row") for n in (0, 1, 2, 1_000)] == ["0 rows", "1 row", "2 rows", "1,000 rows"]
