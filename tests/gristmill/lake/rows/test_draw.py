import pytest
import xxhash

from gristmill.lake.rows.draw import draw_fraction

PAIRS = [("wiki", f"page-{n}") for n in range(1000)]


def test_fractions_are_even_and_another_seed_draws_anew() -> None:
    drawn = [draw_fraction(pair) for pair in PAIRS]
    assert all(0 <= x < 1 for x in drawn)
    assert 70 < sum(x < 0.1 for x in drawn) < 130
    assert draw_fraction(PAIRS[0]) == pytest.approx(xxhash.xxh3_64_intdigest(b'["wiki","page-0"]') / 2**64)
    assert [draw_fraction(pair, 1) for pair in PAIRS] != drawn
