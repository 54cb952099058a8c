"""Paragraphs and lines: spans and hashes as a plain loop over the text finds them."""

from collections import Counter
from collections.abc import Iterable

import pytest
import xxhash
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.units import unit_hashes
from gristmill.text.units.normalisation import normalise_text
from gristmill.text.units.pieces_between import lines, paragraphs
from gristmill.text.units.unit_hashes import UnitHashes

TEXT = st.text(st.sampled_from("abc A\n\n-\t\x1c\xa0é日\u3000\u2019😀\ud800"), max_size=40)
Row = tuple[int, int, int, int]
NORMALISATION = st.sampled_from(["", "white-space-1", "words-1"])


def rows_of(units: Iterable[UnitHashes]) -> tuple[list[Row], Counter[str]]:
    """(text, start, end, hash) of each span, and what was left out."""
    rows: list[Row] = []
    skipped = Counter[str]()
    for part in units:
        texts = [part.first + place for place, count in enumerate(part.spans.tolist()) for _ in range(count)]
        hashes = [high << 64 | low for high, low in zip(*(half.tolist() for half in part.hashes), strict=True)]
        rows += zip(texts, part.starts.tolist(), part.ends.tolist(), hashes, strict=True)
        skipped.update(part.skipped)
    return rows, skipped


def plain(texts: list[str], separator: str, least: int, words: int, name: str, *, trim: bool = False) -> list[Row]:
    rows: list[Row] = []
    for number, text in enumerate(texts):
        start = 0
        for piece in text.split(separator):
            kept = piece.strip() if trim else piece
            begin = start + (len(piece) - len(piece.lstrip()) if trim else 0)
            start += len(piece) + len(separator)
            told = normalise_text(kept, name)
            if piece.strip() and told and len(kept) >= least and len(kept.split()) >= words:
                digest = xxhash.xxh3_128_intdigest(told.encode("utf-8", "surrogatepass"))
                rows.append((number, begin, begin + len(kept), digest))
    return rows


@pytest.fixture(params=[1 << 19, 3], ids=["together", "parts"], scope="module")
def sized(request: pytest.FixtureRequest) -> Iterable[None]:
    """Once as it is, and once as though each text were huge."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == 3:
            patch.setattr(unit_hashes, "HUGE", 3)
            patch.setattr(unit_hashes, "TOGETHER", 3)
        yield


@pytest.mark.usefixtures("sized")
@settings(max_examples=draws(100))
@given(
    st.lists(TEXT, max_size=5),
    st.sampled_from(["\n", "\n\n", "日"]),
    st.integers(0, 3),
    st.integers(0, 2),
    NORMALISATION,
)
def test_paragraphs(texts: list[str], separator: str, least: int, words: int, name: str) -> None:
    found, skipped = rows_of(paragraphs(texts, separator, least, words, name))
    assert found == plain(texts, separator, least, words, name)
    assert sum(skipped.values()) + len(found) == sum(len(text.split(separator)) for text in texts)


@pytest.mark.usefixtures("sized")
@settings(max_examples=draws(100))
@given(st.lists(TEXT, max_size=5), st.integers(0, 3), NORMALISATION)
def test_lines(texts: list[str], least: int, name: str) -> None:
    assert rows_of(lines(texts, least, name))[0] == plain(texts, "\n", least, 0, name, trim=True)


def test_what_is_left_out_is_counted_by_its_reason() -> None:
    _, skipped = rows_of(
        paragraphs(["ab\n\n \u3000\nabc\nab c", "!"], min_length=3, min_words=2, normalisation="words-1")
    )
    assert skipped == {"empty": 2, "too short": 2, "too few words": 1}
